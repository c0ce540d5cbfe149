"""Payments of the Bitcoin experiment: two made-up weeks, the gaps that two rules learn, and a trial.

Most payments go to an address that nobody else pays. Some addresses are paid often, a few very often.
Now and then one owner pays a single address from several of their own within a minute: a batch.
Nothing here is anybody's payment; the statistics are those that the paper prints of its week. How often
regular addresses are paid is not printed: it was chosen so that delays and attacks come near what is, and
proves nothing by itself.

The paper's rule takes the gap from the recipient's last seven days. A gap that follows the very payments
it protects gives them away: had one of them come earlier, the next would draw from another law. A gap from
a week that is closed by then cannot.

In a trial the receiving address stands for the actor and the spending one for the target, as in the paper:
nobody knows who owns what, so payments from different addresses to one within a minute count as one
owner's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist

import numpy as np

from tarry.core.calibrate import gap_at_percentile
from tarry.core.entropy import Seeded
from tarry.core.lanes import BoolArray, IntArray
from tarry.core.plan_release import plan_release
from tarry.core.policy import Policy
from tarry.paper.laws import FloatArray
from tarry.readers.columns import Columns
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import informed_attack, recipient_attack
from tarry.study.practice import MICROSECONDS
from tarry.study.score import Counts, Score
from tarry.study.table import EventTable, event_table

__all__ = [
    "CLOSED",
    "DAY",
    "DEFAULT",
    "PAST",
    "WEEK",
    "WINDOW",
    "Gaps",
    "PaymentTrial",
    "Payments",
    "closed_gaps",
    "make_weeks",
    "past_gaps",
    "payments_of",
    "run_trial",
    "usable",
    "with_history",
]

DAY = 86_400 * MICROSECONDS
WEEK = 7 * DAY
#: Section on Bitcoin: a batch is within one minute; without history the gap is ten minutes.
WINDOW, DEFAULT = 60 * MICROSECONDS, 600 * MICROSECONDS

_STARTS_AT = 1_658_707_200 * MICROSECONDS  # the Monday a week before that of the paper, 00:00 UTC
_BATCHED = 0.0104  # of all payments are made in batches; the rest of the published 1.2 % is chance
_KNOWN_BATCHED = 0.78  # of batches go to addresses that are paid often
_KNOWN_LONE = 0.025  # and so do these of the lone payments
_MORE = 0.2  # chance of each further member of a batch, after two
_A_WEEK, _SPREAD, _MOST = 5.0, 2.0, 500.0  # lone payments of a regular address: median, log sd, most


def make_weeks(per_day: int, seed: int) -> EventTable:
    """Two weeks of payments: the actor is the receiving address, the target the spending one.

    >>> table = make_weeks(per_day=500, seed=1)
    >>> len(table), table.targets == len(table)
    (7000, True)
    """
    rng = np.random.default_rng(seed)
    total = 14 * per_day
    rates = _rates(total * _KNOWN_LONE / 2)
    recipient, paid_at = _batches(round(total * _BATCHED), rates, rng)
    lone = total - len(recipient)
    known = rng.choice(len(rates), size=round(lone * _KNOWN_LONE), p=rates / rates.sum())
    fresh = len(rates) + total + np.arange(lone - len(known))
    time = np.concatenate((paid_at, rng.integers(2 * WEEK, size=lone)))
    return event_table(
        actor=np.concatenate((recipient, known, fresh)),
        target=rng.permutation(total),
        time=_STARTS_AT + time // MICROSECONDS * MICROSECONDS,
    )


def _rates(a_week: float) -> FloatArray:
    """How often regular addresses are paid in a week, in sum about `a_week`: a long tail, cut.

    The quantiles of the law, not draws from it: so few addresses would make every seed another world.
    """
    return _quantiles(max(1, round(a_week / float(np.mean(_quantiles(1000))))))


def _quantiles(many: int) -> FloatArray:
    scores = [NormalDist().inv_cdf((i + 0.5) / many) for i in range(many)]
    return np.minimum(_A_WEEK * np.exp(_SPREAD * np.array(scores)), _MOST)


def _batches(payments: int, rates: FloatArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Batches of two or more, to addresses that are paid often or to ones of their own.

    The recipient of each payment, and its time after the start.
    """
    ends = np.cumsum(1 + rng.geometric(1 - _MORE, size=payments))
    sizes = np.diff(ends[: int(np.searchsorted(ends, payments)) + 1], prepend=0)
    owner = rng.choice(len(rates), size=len(sizes), p=rates / rates.sum())
    alone = rng.random(len(sizes)) >= _KNOWN_BATCHED
    owner[alone] = len(rates) + np.arange(int(alone.sum()))
    start = rng.integers(2 * WEEK - WINDOW, size=len(sizes))
    within = rng.integers(WINDOW - 5 * MICROSECONDS, size=int(sizes.sum()))
    return np.repeat(owner, sizes), np.repeat(start, sizes) + within


def with_history(table: EventTable) -> BoolArray:
    """Which payments go to a recipient that was paid in the seven days before, batches not counted.

    >>> with_history(event_table(actor=[7, 7, 7], target=[1, 2, 3], time=[0, 10, WEEK])).tolist()
    [False, False, True]
    """
    same = table.actor_rank[1:] == table.actor_rank[:-1]
    near = same & (np.diff(table.time) <= WINDOW)
    # The start of each run of payments within a minute of each other decides for all of them.
    runs = np.flatnonzero(np.concatenate(([True], ~near)))
    before = np.concatenate(([False], same & (np.diff(table.time) <= WEEK)))[runs]
    return np.repeat(before, np.diff(np.append(runs, len(table))))


# --- the gap of a payment: the paper's rule, and the safe one -------------------------------------

Gaps = dict[int, IntArray]  # by percentile: microseconds, one for each row


def past_gaps(table: EventTable, percentiles: Sequence[int], since: int) -> Gaps:
    """The paper's rule: for each payment, percentiles of its recipient's gaps in the seven days before.

    Gaps within the window are batches and left out; without any gap it is ten minutes. Rows before
    `since` get that too: they are history alone.

    >>> at = [0, 10, 20, 24, 40, 50]
    >>> table = event_table(actor=[7] * 6, target=range(6), time=[t * WINDOW * 2 for t in at])
    >>> [int(gap) // (2 * WINDOW) for gap in past_gaps(table, [50], 0)[50]][-1]
    10
    """
    gaps = {percentile: np.full(len(table), DEFAULT) for percentile in percentiles}
    for start, end in _stretches(table.actor_rank):
        times = table.time[start:end]
        apart = np.diff(times)
        first = np.searchsorted(times, times - WEEK)
        for i in range(2, end - start):  # a gap before a payment takes three
            past = apart[first[i] : i - 1]
            past = past[past > WINDOW]
            if times[i] >= since and len(past):
                for percentile, gap in zip(percentiles, np.percentile(past, percentiles), strict=True):
                    gaps[percentile][start + i] = round(gap)
    return gaps


def _stretches(*kinds: IntArray) -> Iterator[tuple[int, int]]:
    """Where each stretch of rows of one kind begins, and where it ends."""
    changes = [np.diff(kind, prepend=-1) != 0 for kind in kinds]
    starts = np.flatnonzero(np.any(changes, axis=0)).tolist()
    return zip(starts, [*starts[1:], len(kinds[0])], strict=True)


def closed_gaps(table: EventTable, percentiles: Sequence[int]) -> Gaps:
    """The safe rule: the recipient's gaps in the week before the payment's own, which is closed by then.

    >>> at = [0, 10, 30, 7 * 720 + 5]
    >>> table = event_table(actor=[7] * 4, target=range(4), time=[t * WINDOW * 2 for t in at])
    >>> [int(gap) // (2 * WINDOW) for gap in closed_gaps(table, [50])[50]]
    [5, 5, 5, 10]
    """
    week = (table.time - table.time.min()) // WEEK
    known: dict[tuple[int, int], list[int]] = {}
    gaps = {percentile: np.full(len(table), DEFAULT) for percentile in percentiles}
    # Rows are sorted by recipient and time: what a week teaches is known when the next one comes.
    for start, end in _stretches(table.actor_rank, week):
        recipient, number = int(table.actor_rank[start]), int(week[start])
        apart = np.diff(table.time[start:end])
        if len(apart := apart[apart > WINDOW]):
            known[recipient, number + 1] = [int(gap_at_percentile(apart.tolist(), p)) for p in percentiles]
        for percentile, gap in zip(percentiles, known.get((recipient, number), []), strict=False):
            gaps[percentile][start:end] = gap
    return gaps


def usable(gaps: IntArray) -> IntArray:
    """Gaps in whole seconds, rounded up to two digits: fewer laws, and never a shorter gap.

    >>> usable(np.array([60_000_001, 600_000_000, 4_712_400_000])).tolist()
    [61, 600, 4800]
    """
    seconds = -(-gaps // MICROSECONDS)
    step = 10 ** np.maximum(np.floor(np.log10(seconds)).astype(np.int64) - 1, 0)
    rounded: IntArray = -(-seconds // step) * step
    return rounded


# --- a trial: one history under a rule for the gaps, replayed and attacked ------------------------

PAST, CLOSED = "the seven days before each payment", "the closed week before"

_MINUTES = (5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 240, 300, 360, 480, 720, 960, 1440, 2880, 5760)
CUTOFFS = [seconds * MICROSECONDS for seconds in (10, 30, 60, *(60 * minutes for minutes in _MINUTES))]
MULTIPLES = [  # of a gap
    *(Fraction(part, 100) for part in (1, 5, 10, 20, 40, 60, 80, 100, 125, 150)),
    *map(Fraction, (2, 3, 5, 10, 20)),
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Payments:
    """What is replayed: the payments after the first week, and the gaps that each rule learned for them.

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
    names = [field.name for field in fields(Counts)]
    return [
        replace(
            scores[0],
            counts=Counts(**{name: sum(getattr(one.counts, name) for one in scores) for name in names}),
        )
        for scores in zip(*draws, strict=True)
    ]
