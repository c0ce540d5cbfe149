"""The cosine law against its formulas, and its integers against a pinned table."""

from decimal import Decimal
from fractions import Fraction
from math import cos, pi, sin, tan

import pytest

from contracts.law_contract import Formula, LawCase, LawContract
from tarry.core.errors import BadInput
from tarry.core.laws.cosine import MASS, block_law, cosine, cosine_masses
from tarry.core.mechanism import Ask

#: (blocks, order), the first masses of unbatched and batched blocks. No machine may have others.
PINNED = {
    (3, "0.01"): ((727245829, 2840475638, 727245829), (2147483648, 2147483648)),
    (7, "6"): ((490329438, 609371113, 689167765), (608394503, 735011449, 804077696)),
    (22, "6"): ((80081632, 104959914, 131051973), (90418590, 117214849, 144849269)),
    (58, "2.75"): ((3440741, 5862324, 8889893), (4244410, 6980272, 10314751)),
    (179, "3"): ((163612, 270342, 403541), (198039, 317771, 464065)),
}


def asked(blocks, order, start=4):
    """The cosine law takes no share: 1 is what verify is asked about."""
    share = Fraction(1)
    return Ask(share=share, start=start, weight=Fraction(1), blocks=blocks, order=Decimal(order))


def shape(blocks, order):
    """Unbatched and batched masses by floats, straight from the formulas."""
    a = float(order)
    low, high = 0.0, pi / 2
    for _ in range(200):
        x = (low + high) / 2
        low, high = (low, x) if 2 * x / blocks * tan(x) > 1 / a else (x, high)
    angle = 2 * low / blocks
    u = [cos(angle * (i + 0.5 - blocks / 2)) ** 2 for i in range(blocks)]
    u = [each / sum(u) for each in u]
    p = 1 - a
    if p:
        b = [((u[i] ** p + u[i - 1] ** p) / 2) ** (1 / p) for i in range(1, blocks)]
    else:
        b = [(u[i] * u[i - 1]) ** 0.5 for i in range(1, blocks)]
    return u, [each / sum(b) for each in b]


def formulas(ask, pair):
    """Blocks of `start` ticks; the masses are the law's own integers, which another test checks."""
    unbatched, batched = cosine_masses(ask.blocks, ask.order)
    G, n = ask.start, ask.blocks

    def of(masses, first):
        def mass(tick):
            block = tick // G
            return (
                Fraction(masses[block - first], MASS * G)
                if first <= block < n and tick >= 0
                else Fraction(0)
            )

        mean = sum(m * ((first + i) * G + Fraction(G - 1, 2)) for i, m in enumerate(masses)) / MASS
        return Formula(mass=mass, mean=mean, support=(first * G, n * G - 1), looks=n * G + 3)

    return of(batched, 1), of(unbatched, 0)


class TestCosine(LawContract):
    """The cosine law meets the contract of laws."""

    case = LawCase(
        family=cosine,
        formulas=formulas,
        asks=[
            asked(n, order, start)
            for n, order, start in ((3, "1", 1), (7, "6", 4), (12, "0.5", 7), (22, "3", 5))
        ],
        small=[asked(3, "2", 2), asked(4, "1", 1)],
        coupled=False,
    )


@pytest.mark.parametrize(
    ("blocks", "order"), [(3, "0.01"), (7, "6"), (22, "1"), (59, "3"), (179, "20"), (40, "0.5")]
)
def test_the_integers_are_the_formulas_rounded(blocks, order):
    unbatched, batched = cosine_masses(blocks, Decimal(order))
    u, b = shape(blocks, order)

    for masses, formula in ((unbatched, u), (batched, b)):
        assert sum(masses) == MASS
        assert masses == masses[::-1]
        # All but the middle, which takes what is left.
        edges = [i for i in range(len(masses)) if i not in {(len(masses) - 1) // 2, len(masses) // 2}]
        assert all(abs(masses[i] - formula[i] * MASS) <= 1.01 for i in edges)
        assert max(abs(m - f * MASS) for m, f in zip(masses, formula, strict=True)) <= len(masses) + 1


@pytest.mark.parametrize(("asked_for", "first"), PINNED.items(), ids=str)
def test_the_integers_are_the_same_on_every_machine(asked_for, first):
    blocks, order = asked_for
    unbatched, batched = cosine_masses(blocks, Decimal(order))

    assert (unbatched[:3], batched[:3]) == first


@pytest.mark.parametrize("blocks", [6, 7, 30])
def test_a_small_order_is_a_sine_and_a_large_one_flat(blocks):
    hill, plain = (cosine_masses(blocks, Decimal(order))[0] for order in ("0.01", "1000"))
    sine = [sin(pi * (i + 0.5) / blocks) ** 2 for i in range(blocks)]

    assert all(abs(m / MASS - s / sum(sine)) < 0.01 / blocks for m, s in zip(hill, sine, strict=True))
    assert max(plain) / min(plain) < 1.02


def test_the_caller_s_decimals_decide_nothing():
    """The context of the law is its own."""
    from decimal import localcontext

    cosine_masses.cache_clear()
    with localcontext() as context:
        context.prec = 3
        rough = cosine_masses(9, Decimal(3))
    cosine_masses.cache_clear()

    assert rough == cosine_masses(9, Decimal(3))


@pytest.mark.parametrize(
    ("blocks", "order", "sentence"),
    [
        (2, "3", "blocks must be between 3 and 10000, not 2"),
        (10_001, "3", "blocks must be between 3 and 10000, not 10001"),
        (9, "0", "order must be between 0.01 and 1000 in steps of 0.01, not 0: 2 to 6 is usual"),
        (9, "2.505", "order must be between 0.01 and 1000 in steps of 0.01, not 2.505: 2 to 6 is usual"),
        (5000, "0.5", "5000 blocks are too many for order 0.5: choose fewer, or a larger order"),
    ],
)
def test_what_cannot_be_is_refused(blocks, order, sentence):
    with pytest.raises(BadInput) as refused:
        cosine_masses(blocks, Decimal(order))

    assert str(refused.value) == sentence


def test_without_blocks_there_is_no_law():
    with pytest.raises(BadInput, match="the cosine law has no blocks or no order: give both"):
        cosine(Ask(share=Fraction(1), start=3, weight=Fraction(1)))


def test_the_ends_are_alike():
    """Seen from a release, no shift and the longest shift tell the same: the law is symmetric."""
    unbatched, batched = cosine_masses(9, Decimal(2))
    now = sorted(Fraction(b, u) for b, u in zip(batched, unbatched[1:], strict=True))
    later = sorted(Fraction(b, u) for b, u in zip(batched, unbatched[:-1], strict=True))

    assert now == later


def test_a_block_is_flat_inside():
    law = block_law([1, 3], 5)

    assert {law.mass(tick) for tick in range(5)} == {Fraction(1, 20)}
    assert law.maximum == 9
