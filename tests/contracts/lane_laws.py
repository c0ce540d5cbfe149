"""Laws on which vectors are compared with single draws: all of ours, and some that redraw a lot."""

from decimal import Decimal
from fractions import Fraction

import pytest

from tarry.core.law import Law, Run
from tarry.core.laws import LAWS as OURS
from tarry.core.mechanism import Ask
from tarry.core.plugins import load

LAWS = {
    f"{name}, {label}": getattr(
        load("law", name)(
            Ask(
                share=Fraction(1, 2),
                start=start,
                weight=Fraction(1, 4),
                delta=Fraction(1, 20),
                blocks=9,
                order=Decimal(3),
            )
        ),
        label,
    )
    for name, start in zip(OURS, (25, 40, 31, 60, 12, 17), strict=True)
    for label in ("batched", "unbatched")
}
LAWS |= {
    # Of these lengths nearly every second digit, or number, is redrawn.
    "half redrawn": Law((Run((1 << 31) + 1, Fraction(1, (1 << 31) + 1)),)),
    "half redrawn, wide": Law((Run((1 << 40) + 1, Fraction(1, (1 << 40) + 1)),)),
    "runs that redraw differently": Law(
        (
            Run((1 << 31) + 1, Fraction(1, 3 * ((1 << 31) + 1))),
            Run(3 << 30, Fraction(1, 9 << 30)),
            Run(1, Fraction(1, 6)),
            Run((1 << 33) + 1, Fraction(1, 6 * ((1 << 33) + 1))),
        )
    ),
    "an endless one that redraws": Law(
        (Run(1, Fraction(1, 4)), Run(2, Fraction(1, 8))),
        (Run((1 << 31) + 1, Fraction(1, 8 * ((1 << 31) + 1))), Run(1, Fraction(1, 8))),
        Fraction(2),
    ),
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
