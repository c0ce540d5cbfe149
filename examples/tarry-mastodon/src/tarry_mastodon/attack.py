"""An attack on times as a server shows them: whole seconds, or coarser.

Mastodon writes down when a status was made to the millisecond, snac to the second, and a page says "5 min".
Whoever has only these claims pairs whose shown times are at most a cutoff apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tarry.core.errors import BadInput
from tarry.study.attack import Attack, AttackKind, Observed
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.score import Score

__all__ = ["SHOWN_SECONDS"]

_SECOND = 1_000_000  # microseconds


@dataclass(frozen=True)
class _ShownSeconds(Attack):
    name: str
    step: int  # seconds

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        step = self.step * _SECOND
        return cutoff_attack(observed.truth, observed.seen // step * step, cutoffs)


def _make(parameter: str) -> Attack:
    """From the text after the colon: how many seconds a shown time stands for."""
    if not parameter:
        return _ShownSeconds("shown-seconds", 1)
    if not re.fullmatch(r"[1-9][0-9]{0,4}", parameter, re.ASCII):
        problem = f"the attack shown-seconds takes whole seconds from 1 to 99999, not {parameter!r:.60}"
        raise BadInput(problem, "write shown-seconds:60")
    return _ShownSeconds(f"shown-seconds:{parameter}", int(parameter))


SHOWN_SECONDS = AttackKind(
    name="shown-seconds",
    what="claims pairs whose times, in whole seconds (or shown-seconds:60), are at most a cutoff apart",
    make=_make,
    examples=("shown-seconds", "shown-seconds:60"),
)
