"""The cutoff attack: two events that appear at most so far apart are claimed to be one person's."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.study.pairs import Near, near, pairs_within, pairs_within_groups, side_by_side
from tarry.study.score import Counts, Score
from tarry.study.table import EventTable

__all__ = ["Truth", "cutoff_attack"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """What is true of a table, and so the same for every practice and attack.

    Linked pairs are candidates (different targets) of one actor whose arrivals are at most the window
    apart.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61])
    >>> truth = Truth(table=table, window=60)
    >>> truth.linked_pairs, truth.candidate_pairs
    (1, 3)
    """

    table: EventTable
    window: int  # microseconds

    def __post_init__(self) -> None:
        if self.window < 0:
            raise BadInput("the window", "is not negative", found=self.window)

    @cached_property
    def near(self) -> Near:
        """The linked pairs, as ranges of rows."""
        return near(self.table.actor, self.table.target, self.table.time, self.window)

    @property
    def linked_pairs(self) -> int:
        """How many candidates are linked."""
        return self.near.total

    @cached_property
    def candidate_pairs(self) -> int:
        """How many pairs of events are on different targets."""
        return self.table.candidate_pairs

    def counts(self, found: int, flagged: int, candidates: int | None = None) -> Counts:
        """The four counts, from the linked pairs found and all the pairs flagged."""
        candidates = self.candidate_pairs if candidates is None else candidates
        missed = self.linked_pairs - found
        return Counts(
            true_positives=found,
            false_positives=flagged - found,
            false_negatives=missed,
            true_negatives=candidates - flagged - missed,
        )


def cutoff_attack(truth: Truth, seen: IntArray, cutoffs: Sequence[int]) -> list[Score]:
    """Score the attack on the moments an observer saw, one in the table's order for each event.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60, 61])
    >>> cutoff_attack(Truth(table=table, window=60), table.time, [1, 60])[1].counts
    Counts(true_positives=1, false_positives=1, false_negatives=0, true_negatives=1)
    """
    everywhere, on_one_target, found = side_by_side(
        lambda: pairs_within(seen, cutoffs),
        lambda: pairs_within_groups(truth.table.target_rank, seen, cutoffs),
        lambda: truth.near.shown_within(seen, cutoffs),
    )
    return [
        Score(cutoff=cutoff, counts=truth.counts(linked, total - on_one))
        for cutoff, linked, total, on_one in zip(cutoffs, found, everywhere, on_one_target, strict=True)
    ]
