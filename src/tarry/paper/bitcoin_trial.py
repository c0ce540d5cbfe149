"""One history of payments under a rule for the gaps: replayed, attacked, and its delays taken.

The receiving address stands for the actor and the spending one for the target, as in the paper: nobody
knows who owns what, so payments from different addresses to one within a minute count as one owner's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from tarry.core.entropy import Seeded
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.paper.bitcoin_payments import (
    DAY,
    WEEK,
    WINDOW,
    Gaps,
    closed_gaps,
    past_gaps,
    usable,
    with_history,
)
from tarry.readers.columns import Columns
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import informed_attack, recipient_attack
from tarry.study.practice import MICROSECONDS
from tarry.study.score import Counts, Score
from tarry.study.table import EventTable, event_table

__all__ = ["CLOSED", "PAST", "PaymentTrial", "Payments", "payments_of", "run_trial"]

PAST, CLOSED = "the seven days before each payment", "the closed week before"

_MINUTES = (5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 480, 720, 960, 1440, 2880, 5760)
_CUTOFFS_S = (10, 30, 60, *(60 * minutes for minutes in _MINUTES))
CUTOFFS = [seconds * MICROSECONDS for seconds in _CUTOFFS_S]
_MULTIPLES = (
    "1/100",
    "1/20",
    "1/10",
    "1/5",
    "2/5",
    "3/5",
    "4/5",
    "1",
    "5/4",
    "3/2",
    "2",
    "3",
    "5",
    "10",
    "20",
)
MULTIPLES = [Fraction(text) for text in _MULTIPLES]


@dataclass(frozen=True, kw_only=True, eq=False)
class Payments:
    """What is replayed: the payments after the first week, and the gaps that each rule learned for them.

    >>> from tarry.paper.bitcoin_payments import make_weeks
    >>> payments_of(make_weeks(500, seed=1), [50]).days
    7.0
    """

    table: EventTable
    gaps: Mapping[str, Gaps]  # by rule: seconds, one for each row
    history: BoolArray  # whether the recipient was paid in the seven days before

    @cached_property
    def truth(self) -> Truth:
        """Which pairs are linked."""
        return Truth(table=self.table, window=WINDOW)

    @property
    def days(self) -> float:
        """How long they last."""
        return round(float(np.ptp(self.table.time)) / DAY, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class PaymentTrial:
    """What came of one rule, percentile and epsilon, all draws together.

    >>> PaymentTrial(basic=(), informed=(), delays=np.array([1800, 9000])).within(hours=1)
    0.5
    """

    basic: Sequence[Score]
    informed: Sequence[Score]
    delays: IntArray  # of batched payments, seconds, sorted
    draws: int = 1  # that were counted together

    def within(self, hours: float) -> float:
        """The share of batched payments with at most this delay."""
        return float(np.searchsorted(self.delays, hours * 3600, side="right")) / max(len(self.delays), 1)


def payments_of(history: EventTable | Columns, percentiles: Sequence[int]) -> Payments:
    """Learn the gaps of a history, and keep what comes after its first week.

    Of a table of acts, what is acted on receives and who acts spends.

    >>> from tarry.paper.bitcoin_payments import make_weeks
    >>> sorted(payments_of(make_weeks(500, seed=1), [50]).gaps) == sorted([PAST, CLOSED])
    True
    """
    table = history if isinstance(history, EventTable) else _paid(history)
    since = int(table.time.min()) + WEEK
    later = table.time >= since
    learned = {PAST: past_gaps(table, percentiles, since), CLOSED: closed_gaps(table, percentiles)}
    gaps = {rule: {p: usable(gap[later]) for p, gap in by.items()} for rule, by in learned.items()}
    return Payments(table=table.keep(later), gaps=gaps, history=with_history(table)[later])


def _paid(columns: Columns) -> EventTable:
    spender, receiver = (columns.frame[name].to_numpy() for name in (columns.actor, columns.target))
    return event_table(actor=receiver, target=spender, time=columns.arrival)


def run_trial(
    payments: Payments, gaps: IntArray | None, epsilon: str, draws: Sequence[Seeded]
) -> PaymentTrial:
    """Replay with a gap for each row (None: nothing is done) and attack what is seen.

    >>> from tarry.paper.bitcoin_payments import make_weeks
    >>> payments = payments_of(make_weeks(500, seed=1), [50])
    >>> trial = run_trial(payments, None, "1", [Seeded(0)])
    >>> trial.basic[2].counts.precision, trial.basic[2].counts.recall  # a minute, and nothing hidden
    (1.0, 1.0)
    """
    table, truth = payments.table, payments.truth
    gap_of_recipient = _one_each(table, payments.gaps[CLOSED][50] if gaps is None else gaps) * MICROSECONDS
    basic: list[list[Score]] = []
    informed: list[list[Score]] = []
    delays: list[IntArray] = []
    for draw in draws:
        seen = table.time
        if gaps is not None:
            plan = plan_release(_policy(gaps, epsilon), replace(table, track=gaps).history, draw)
            seen = plan.release * MICROSECONDS
            delays.append((plan.release - plan.arrival)[plan.batched])
        basic.append(recipient_attack(truth, seen, CUTOFFS))
        informed.append(informed_attack(truth, seen, MULTIPLES, gap_of_recipient))
    together = np.sort(np.concatenate(delays)) if delays else np.zeros(0, dtype=np.int64)
    return PaymentTrial(basic=_summed(basic), informed=_summed(informed), delays=together, draws=len(draws))


def _policy(gaps: IntArray, epsilon: str) -> Policy:
    """Uniform delays (eta = 1, as in the paper's experiments), a gap for each class of payments."""
    by_track = {str(gap): Fraction(gap) for gap in np.unique(gaps).tolist()}
    return Policy(epsilon=epsilon, gap="10m", window="1m", law="uniform", track_gaps=by_track)


def _one_each(table: EventTable, gaps: IntArray) -> IntArray:
    """For each row, one gap that stands for its recipient: the middle one of those used."""
    order = np.lexsort((gaps, table.actor_rank))
    ends = np.cumsum(np.bincount(table.actor_rank))
    starts = np.concatenate(([0], ends[:-1]))
    middle: IntArray = gaps[order][(starts + ends) // 2]
    return middle[table.actor_rank]


def _summed(draws: Sequence[Sequence[Score]]) -> list[Score]:
    """The counts of all draws together, setting by setting."""
    return [
        replace(scores[0], counts=_added([score.counts for score in scores]))
        for scores in zip(*draws, strict=True)
    ]


def _added(counts: Sequence[Counts]) -> Counts:
    return Counts(
        true_positives=sum(c.true_positives for c in counts),
        false_positives=sum(c.false_positives for c in counts),
        false_negatives=sum(c.false_negatives for c in counts),
        true_negatives=sum(c.true_negatives for c in counts),
    )
