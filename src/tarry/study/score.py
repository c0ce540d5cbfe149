"""Scores: how often an attack's claims are right, in counts and in curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

__all__ = ["RECALL", "Counts", "Score", "average_precision", "crossover", "precision_at", "recall_at"]

#: Claims are compared where they find at least this share of the linked pairs.
RECALL = 0.1


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of every candidate pair. Exact integers.

    >>> Counts(true_positives=3, false_positives=1, false_negatives=3, true_negatives=13).precision
    0.75
    """

    true_positives: int  # linked, and claimed to be
    false_positives: int  # claimed, but not linked
    false_negatives: int  # linked, but not claimed
    true_negatives: int  # neither

    @property
    def claims(self) -> int:
        """How many pairs are claimed, rightly or not."""
        return self.true_positives + self.false_positives

    @property
    def precision(self) -> float | None:
        """The share of claims that are right; None where nothing is claimed."""
        return _share(self.true_positives, self.claims)

    @property
    def recall(self) -> float | None:
        """The share of linked pairs that are claimed; None where nothing is linked."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def false_positive_rate(self) -> float | None:
        """The share of pairs not linked that are claimed all the same."""
        return _share(self.false_positives, self.false_positives + self.true_negatives)


@dataclass(frozen=True, kw_only=True)
class Score:
    """The counts of one attack at one setting.

    >>> counts = Counts(true_positives=1, false_positives=0, false_negatives=0, true_negatives=0)
    >>> Score(cutoff=60_000_000, counts=counts).cutoff_s
    60.0
    """

    cutoff: int  # microseconds
    counts: Counts
    persons: int | None = None  # claims about one person's acts, batched or not; None: not asked
    multiple: float | None = None  # where the cutoff is a multiple of each recipient's gap
    power_bound: float | None = None  # where the promise bounds the recall, at this false positive rate

    @property
    def right_person(self) -> float | None:
        """The share of claims that are right about the person; None where nothing is claimed.

        >>> counts = Counts(true_positives=1, false_positives=3, false_negatives=0, true_negatives=0)
        >>> Score(cutoff=60_000_000, counts=counts, persons=2).right_person
        0.5
        """
        return None if self.persons is None else _share(self.persons, self.counts.claims)

    @property
    def cutoff_s(self) -> float:
        """The cutoff in seconds."""
        return self.cutoff / 1_000_000

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        counts = self.counts
        figures = {
            "cutoff_s": self.cutoff_s,
            **vars(counts),
            "precision": counts.precision,
            "right_person": self.right_person,
            "recall": counts.recall,
            "false_positive_rate": counts.false_positive_rate,
        }
        extra = {"persons": self.persons, "multiple": self.multiple, "power_bound": self.power_bound}
        return {**figures, **{name: value for name, value in extra.items() if value is not None}}


def average_precision(scores: Sequence[Counts]) -> float | None:
    """The area under precision over recall: each step of recall at the precision it is reached with.

    Precision is taken as it was measured; recall that is never reached counts as nothing.

    >>> half = Counts(true_positives=1, false_positives=1, false_negatives=1, true_negatives=7)
    >>> full = Counts(true_positives=2, false_positives=6, false_negatives=0, true_negatives=2)
    >>> average_precision([half, full])
    0.375
    """
    area, reached = 0.0, 0.0
    for counts in _by_recall(scores):
        if counts.recall is None or counts.precision is None:
            continue
        area += (counts.recall - reached) * counts.precision
        reached = counts.recall
    return area if any(counts.recall is not None for counts in scores) else None


def crossover(scores: Sequence[Counts]) -> float | None:
    """The error crossover rate: where misses and false alarms are equally frequent.

    Between two cutoffs the rates are joined by a straight line, from nothing claimed on. None where
    that lies beyond the last cutoff: nobody looked so far.

    >>> even = Counts(true_positives=3, false_positives=1, false_negatives=1, true_negatives=3)
    >>> crossover([even])
    0.25
    """
    points = [
        (counts.false_positive_rate, 1 - counts.recall)
        for counts in _by_recall(scores)
        if counts.recall is not None and counts.false_positive_rate is not None
    ]
    if not points:
        return None
    for (alarm, miss), (later_alarm, later_miss) in pairwise([(0.0, 1.0), *points]):
        if later_alarm >= later_miss:
            before, after = miss - alarm, later_alarm - later_miss
            part = before / (before + after) if before + after else 0.0
            return alarm + part * (later_alarm - alarm)
    return None


def recall_at(scores: Sequence[Counts], precision: float) -> float | None:
    """The most recall that some cutoff reaches with at least this precision; 0 where none does.

    >>> half = Counts(true_positives=1, false_positives=1, false_negatives=1, true_negatives=7)
    >>> recall_at([half], 0.5), recall_at([half], 0.9)
    (0.5, 0.0)
    """
    if all(counts.recall is None for counts in scores):
        return None
    good = [counts for counts in scores if counts.precision is not None and counts.precision >= precision]
    return max((counts.recall or 0.0 for counts in good), default=0.0)


def precision_at(scores: Sequence[Counts], recall: float = RECALL) -> float | None:
    """The highest precision of a cutoff that finds at least this share of the linked pairs.

    None where no cutoff does: nobody looked so far.

    >>> half = Counts(true_positives=1, false_positives=1, false_negatives=1, true_negatives=7)
    >>> precision_at([half], 0.5), precision_at([half], 0.9)
    (0.5, None)
    """
    far = [counts for counts in scores if counts.recall is not None and counts.recall >= recall]
    return max((counts.precision or 0.0 for counts in far), default=None)


def _by_recall(scores: Sequence[Counts]) -> list[Counts]:
    """From few claims to many."""
    return sorted(scores, key=lambda counts: counts.claims)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
