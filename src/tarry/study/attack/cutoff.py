"""Attacks that claim two events which appear at most so far apart.

The cutoff attack looks at all pairs. The other two are the same-recipient attacks of the paper's
Bitcoin study: the target is the spending address, and the receiving address stands for the actor.
Whoever watches the chain sees both, and claims that two payments to one address come from one owner
when they appear close together. Close is the same for all (recipient) or relative to how often the
address is paid (informed).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.exact import parse_number
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attack import (
    Attack,
    AttackKind,
    Claiming,
    Learned,
    Lessons,
    Observed,
    PairTally,
    Totals,
    Truth,
    middle_two,
    no_parameter,
)
from tarry.study.pairs import LONGEST, Spaced, pairs_within_own_limits, side_by_side
from tarry.study.person import People, people_behind
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.score import Score
from tarry.study.table import EventTable

__all__ = [
    "CUTOFF",
    "INFORMED",
    "RECIPIENT",
    "cutoff_attack",
    "informed_attack",
    "recipient_attack",
    "recipient_gaps",
]

_DAY = 86_400 * MICROSECONDS
_DEFAULT_GAP = 600 * MICROSECONDS  # the paper's, for addresses with too few payments


def cutoff_attack(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> list[Score]:
    """Score the attack on the moments an observer saw, one in the table's order for each event.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61])
    >>> cutoff_attack(Truth(table=table, window=60), table.time, [1, 60])[1].counts
    Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=1)
    """
    return _cutoff_scores(truth.totals, cutoffs, _close(truth, seen, cutoffs))


def _close(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> PairTally:
    """Pairs seen at most each cutoff apart: of all, on one target, of one person, of both, and linked."""
    table, spaced = truth.table, Spaced.of(seen, cutoffs)
    counted = side_by_side(
        lambda: spaced.inside(table.target_group),
        lambda: spaced.inside(table.actor_rank),
        spaced.everywhere,
        lambda: truth.near.shown_within(spaced.times, spaced.limits.tolist()),
        lambda: spaced.inside(_pseudonyms(table, spaced)),
    )
    return dict(zip(("on_one", "own", "every", "linked", "twice"), counted, strict=True))


def _pseudonyms(table: EventTable, spaced: Spaced) -> IntArray:
    """A number for each pseudonym: its two numbers side by side where they fit, which spares a sort."""
    targets = int(table.target_group.max(initial=0)) + 1
    if spaced.has_room(table.actors * targets):
        return table.actor_rank * targets + table.target_group
    return table.pseudonym_rank


def _cutoff_scores(totals: Totals, cutoffs: Sequence[int], counts: PairTally) -> list[Score]:
    columns = (counts[name] for name in ("every", "on_one", "own", "twice", "linked"))
    return [
        Score(cutoff=cutoff, counts=totals.counts(linked, every - on_one), persons=own - twice)
        for cutoff, every, on_one, own, twice, linked in zip(cutoffs, *columns, strict=True)
    ]


def recipient_attack(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> list[Score]:
    """Claim pairs with one recipient, seen at most a cutoff apart.

    Candidates are the pairs with one recipient and different spenders.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["shop"] * 3, target=["x", "y", "z"], time=[0, 5, 60])
    >>> recipient_attack(Truth(table=table, window=10), table.time, [60])[0].counts
    Counts(true_positives=1, false_positives=2, false_negatives=0, true_negatives=0)
    """
    return _recipient_scores(truth.totals, cutoffs, _paid(truth, seen, cutoffs))


def _paid(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> PairTally:
    """Pairs with one recipient seen at most each cutoff apart: all, of one spender, and linked."""
    spaced = Spaced.of(seen, cutoffs)
    return {
        "own": spaced.inside(truth.table.actor_rank),
        "twice": spaced.inside(_pseudonyms(truth.table, spaced)),
        "linked": truth.near.shown_within(spaced.times, spaced.limits.tolist()),
    }


def _recipient_scores(totals: Totals, cutoffs: Sequence[int], counts: PairTally) -> list[Score]:
    columns = (counts[name] for name in ("own", "twice", "linked"))
    return [
        Score(cutoff=cutoff, counts=totals.counts(linked, own - twice, totals.persons))
        for cutoff, own, twice, linked in zip(cutoffs, *columns, strict=True)
    ]


def informed_attack(
    truth: Truth, seen: IntArray, multiples: Sequence[Fraction], gaps: IntArray
) -> list[Score]:
    """The same with a cutoff for each recipient: a multiple of its own gap (`gaps`, one a row).

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["shop"] * 3, target=["x", "y", "z"], time=[0, 5, 60])
    >>> gaps = np.full(3, 10)
    >>> informed_attack(Truth(table=table, window=10), table.time, [Fraction(1, 2)], gaps)[0].counts
    Counts(true_positives=1, false_positives=0, false_negatives=0, true_negatives=2)
    """
    middle, counts = middle_two(gaps), _within_own(truth, seen, multiples, gaps)
    cutoffs = [_middle_limit(multiple, middle) for multiple in multiples]
    return _informed_scores(truth.totals, multiples, cutoffs, counts)


def _within_own(truth: Truth, seen: IntArray, multiples: Sequence[Fraction], gaps: IntArray) -> PairTally:
    """Pairs with one recipient seen within each multiple of its gap: all, of one spender, and linked."""
    distinct, place = np.unique(gaps, return_inverse=True)
    limits = [_limits(multiple, distinct)[place] for multiple in multiples]
    return {
        "own": pairs_within_own_limits(truth.table.actor_rank, seen, limits),
        "twice": pairs_within_own_limits(truth.table.pseudonym_rank, seen, limits),
        "linked": [truth.near.shown_within_own(seen, limit) for limit in limits],
    }


def _informed_scores(
    totals: Totals, multiples: Sequence[Fraction], cutoffs: Sequence[int], counts: PairTally
) -> list[Score]:
    columns = (counts[name] for name in ("own", "twice", "linked"))
    return [
        Score(
            cutoff=cutoff,
            multiple=float(multiple),
            counts=totals.counts(linked, own - twice, totals.persons),
        )
        for multiple, cutoff, own, twice, linked in zip(multiples, cutoffs, *columns, strict=True)
    ]


def _middle_limit(multiple: Fraction, middle: tuple[int, int] | None) -> int:
    """The median of the limits, which grow with the gaps: so that of the middle ones."""
    return 0 if middle is None else int(np.median(_limits(multiple, np.array(middle))))


def recipient_gaps(table: EventTable, window: int, default: int) -> IntArray:
    """For each row, the median gap between its recipient's payments, those within the window left out.

    Microseconds; `default` where a recipient has no such gap.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[7, 7, 7, 8], target=[1, 2, 3, 1], time=[0, 1, 9, 0])
    >>> recipient_gaps(table, window=2, default=5).tolist()
    [8, 8, 8, 5]
    """
    gap, rank = np.diff(table.time), table.actor_rank
    counts = (rank[1:] == rank[:-1]) & (gap > window)
    order = np.lexsort((gap[counts], rank[1:][counts]))
    owner, ordered = rank[1:][counts][order], gap[counts][order]
    starts = np.searchsorted(owner, np.arange(table.actors))
    ends = np.searchsorted(owner, np.arange(table.actors), side="right")
    middle = np.minimum((starts + ends) // 2, max(len(ordered) - 1, 0))
    return np.where(ends > starts, ordered[middle] if len(ordered) else default, default)[rank]


def _limits(multiple: Fraction, gaps: IntArray) -> IntArray:
    if multiple < 0:
        raise BadInput(f"a multiple of the gap must be at least 0, not {float(multiple):g}")
    # Python's own integers: a fine multiple of a long gap does not fit into 64 bits on its way.
    exact = [int(gap) * multiple.numerator // multiple.denominator for gap in gaps]
    return np.array([min(limit, LONGEST) for limit in exact], dtype=np.int64)


@dataclass(frozen=True)
class _OneCutoff(Attack):
    """One cutoff for all, among all pairs or those of one recipient."""

    by_parts = "pairs"
    name: str
    counting: Callable[[Truth, IntArray, Sequence[int]], PairTally]
    scoring: Callable[[Totals, Sequence[int], PairTally], list[Score]]
    about_people: bool

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        return self.scoring(observed.truth.totals, cutoffs, self.tally(observed, cutoffs))

    def tally(self, observed: Observed, cutoffs: Sequence[int]) -> PairTally:
        return self.counting(observed.truth, observed.seen, cutoffs)

    def scores_of(self, claimed: Claiming) -> list[Score]:
        return self.scoring(claimed.totals, claimed.cutoffs, claimed.counts)

    def farthest(self, window: int, spread: int) -> int | None:
        return max(window + 2 * spread, _DAY) if self.about_people else None

    def people(self, observed: Observed, scores: Sequence[Score], *, thorough: bool) -> People:  # noqa: ARG002 - it looks again
        """Among all cutoffs, where claims are about people at all: those of one recipient are not."""
        moved = observed.seen - observed.truth.table.time
        farthest = self.farthest(observed.truth.window, int(np.ptp(moved)) if len(moved) else 0)
        if farthest is None:
            return People(best=None)
        return people_behind(
            observed.truth.table,
            observed.seen,
            lambda cutoffs: self.score(observed, cutoffs),
            farthest,
            thorough=thorough,
        )


@dataclass(frozen=True)
class _Informed(Attack):
    """Without multiples the median recipient is judged by the cutoff itself, others in proportion."""

    by_parts = "people"
    learns = True
    name: str
    multiples: tuple[Fraction, ...]
    middles: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)  # once it has learned

    def score(self, observed: Observed, cutoffs: Sequence[int]) -> list[Score]:
        everything = np.ones(len(observed.seen), dtype=np.bool_)
        learned = self.lessons(observed, everything).learned({})
        taught, totals = self.taught(observed.practice, learned), observed.truth.totals
        return taught.scores_of(
            Claiming(observed.practice, totals, cutoffs, taught.tally(observed, cutoffs))
        )

    def lessons(self, observed: Observed, new: BoolArray) -> Lessons:  # noqa: ARG002 - all of a recipient are
        """The gaps, one a payment and one a recipient."""
        table = observed.truth.table
        gaps = recipient_gaps(table, observed.truth.window, _DEFAULT_GAP)
        first = np.flatnonzero(np.diff(table.actor_rank, prepend=-1))
        return Lessons(middles={"payments": gaps, "recipients": gaps[first]})

    def taught(self, practice: Practice, learned: Learned) -> "_Informed":  # noqa: ARG002 - claims know no policy
        return replace(self, middles=learned.middles)

    def tally(self, observed: Observed, cutoffs: Sequence[int]) -> PairTally:
        truth = observed.truth
        gaps = recipient_gaps(truth.table, truth.window, _DEFAULT_GAP)
        return _within_own(truth, observed.seen, self._multiples(cutoffs), gaps)

    def scores_of(self, claimed: Claiming) -> list[Score]:
        multiples, middle = self._multiples(claimed.cutoffs), self.middles["payments"]
        shown = [_middle_limit(each, middle) for each in multiples] if self.multiples else claimed.cutoffs
        return _informed_scores(claimed.totals, multiples, shown, claimed.counts)

    def _multiples(self, cutoffs: Sequence[int]) -> Sequence[Fraction]:
        if self.multiples:
            return self.multiples
        both = self.middles["recipients"]
        middle = 1 if both is None else max(1, int(np.median(both)))
        return [Fraction(cutoff, middle) for cutoff in cutoffs]


def _make_cutoff(parameter: str) -> Attack:
    no_parameter("cutoff", parameter)
    return _OneCutoff("cutoff", _close, _cutoff_scores, about_people=True)


def _make_recipient(parameter: str) -> Attack:
    no_parameter("recipient", parameter)
    return _OneCutoff("recipient", _paid, _recipient_scores, about_people=False)


def _make_informed(parameter: str) -> Attack:
    multiples = tuple(parse_number(part, "a multiple") for part in parameter.split(",") if part)
    return _Informed(f"informed:{parameter}" if parameter else "informed", multiples)


CUTOFF = AttackKind(
    name="cutoff",
    what="claims pairs that appear at most a cutoff apart",
    make=_make_cutoff,
    examples=("cutoff",),
)
RECIPIENT = AttackKind(
    name="recipient",
    what="claims payments to one address (the actor) that appear at most a cutoff apart",
    make=_make_recipient,
    examples=("recipient",),
)
INFORMED = AttackKind(
    name="informed",
    what="the same with a cutoff relative to each address's own gap (informed:0.5,1,2)",
    make=_make_informed,
    examples=("informed", "informed:0.5,1,2"),
)
