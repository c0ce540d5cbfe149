"""The best cutoff of an attack, among all cutoffs there are."""

from collections.abc import Callable, Generator, Sequence
from itertools import pairwise

from tarry.core.lanes import IntArray
from tarry.study.pairs import common_unit
from tarry.study.score import RECALL, Score

__all__ = ["Scoring", "Seeking", "best_score", "longest_score", "remembering", "seek_best", "seek_longest"]

#: A best cutoff is found to within this part of all claims.
_CLOSE = 0.001
_ROUNDS = 64
#: The longest cutoff is looked for among the last ones that are open.
_LAST = 8
Scoring = Callable[[Sequence[int]], list[Score]]
#: A search that asks for the scores at some cutoffs, is given them, and in the end has an answer.
Seeking = Generator[Sequence[int], Sequence[Score], Score | None]


def remembering(score: Scoring) -> Scoring:
    """The same scores; those of a cutoff are counted once, whoever asks how often.

    >>> counted = []
    >>> score = remembering(lambda cutoffs: counted.extend(cutoffs) or list(cutoffs))
    >>> score([1, 2]), score([2, 3]), counted
    ([1, 2], [2, 3], [1, 2, 3])
    """
    known: dict[int, Score] = {}

    def remembered(cutoffs: Sequence[int]) -> list[Score]:
        new = [cutoff for cutoff in dict.fromkeys(cutoffs) if cutoff not in known]
        known.update(zip(new, score(new) if new else [], strict=True))
        return [known[cutoff] for cutoff in cutoffs]

    return remembered


def best_score(score: Scoring, seen: IntArray, farthest: int, recall: float = RECALL) -> Score | None:
    """The cutoff whose claims are most often right about the person, of those that find enough.

    It is searched among all cutoffs, not some: more claims can only be right if there are more right ones,
    so between two cutoffs no precision is above right(longer) / claims(shorter). What cannot be
    better by a tenth of a point is not looked at.

    >>> from tarry.study.attack import Truth
    >>> from tarry.study.attack.cutoff import cutoff_attack
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 90])
    >>> truth = Truth(table=table, window=60)
    >>> best = best_score(lambda cutoffs: cutoff_attack(truth, table.time, cutoffs), table.time, 100)
    >>> best.persons, best.counts.claims
    (1, 2)
    """
    return _answered(seek_best(_unit(seen), farthest, recall), score)


def seek_best(unit: int, farthest: int, recall: float = RECALL) -> Seeking:
    """The search of `best_score` by itself, over cutoffs of whole units.

    >>> next(seek_best(1, 5))
    [0, 1, 2, 4, 8]
    """
    search = _Search(unit)
    search.add((yield search.begin(farthest)))
    best: Score | None = None
    for _ in range(_ROUNDS):
        best = max(
            (each for each in search.scores if (each.counts.recall or 0) >= recall and each.counts.claims),
            key=lambda each: (_right(each), -each.cutoff),
            default=None,
        )
        least = -1.0 if best is None else _right(best) + _CLOSE
        open_ones = [
            (low, high)
            for low, high in pairwise(search.scores)
            if (high.counts.recall or 0) >= recall and _bound(low, high) > least
        ]
        if not (new := search.split(open_ones)):
            break
        search.add((yield new))
    return best


def longest_score(score: Scoring, seen: IntArray, farthest: int, right: float) -> Score | None:
    """The longest cutoff whose claims are right about the person at least so often; None where none is.

    >>> from tarry.study.attack import Truth
    >>> from tarry.study.attack.cutoff import cutoff_attack
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 50, 120])
    >>> truth = Truth(table=table, window=60)
    >>> longest_score(
    ...     lambda cutoffs: cutoff_attack(truth, table.time, cutoffs), table.time, 128, 0.5
    ... ).cutoff
    119
    """
    return _answered(seek_longest(_unit(seen), farthest, right), score)


def seek_longest(unit: int, farthest: int, right: float) -> Seeking:
    """The search of `longest_score` by itself, over cutoffs of whole units.

    >>> next(seek_longest(60, 100, 0.5))
    [0, 60, 120]
    """
    search = _Search(unit)
    search.add((yield search.begin(farthest)))
    for _ in range(_ROUNDS):
        good = [each for each in search.scores if each.counts.claims and _right(each) >= right]
        beyond = -1 if not good else good[-1].cutoff
        open_ones = [
            (low, high)
            for low, high in pairwise(search.scores)
            if high.cutoff > beyond and _bound(low, high) >= right
        ]
        if not (new := search.split(open_ones)):
            return good[-1] if good else None
        search.add((yield new[-_LAST:]))
    return good[-1] if good else None


class _Search:
    """Scores at some cutoffs, in rising order; more are asked for where they could matter."""

    def __init__(self, unit: int) -> None:
        self._unit = unit
        self.scores: list[Score] = []

    def begin(self, farthest: int) -> list[int]:
        """The first cutoffs: doublings."""
        cutoffs = [0]
        while cutoffs[-1] < farthest:
            cutoffs.append(max(self._unit, 2 * cutoffs[-1]))
        return cutoffs

    def add(self, scores: Sequence[Score]) -> None:
        """What was asked for."""
        self.scores = sorted([*self.scores, *scores], key=lambda each: each.cutoff)

    def split(self, between: Sequence[tuple[Score, Score]]) -> list[int]:
        """The middles of these, where anything is left to look at."""
        middles = [(low.cutoff + high.cutoff) // (2 * self._unit) * self._unit for low, high in between]
        return [
            middle
            for middle, (low, high) in zip(middles, between, strict=True)
            if low.cutoff < middle < high.cutoff and low.counts.claims < high.counts.claims
        ]


def _answered(search: Seeking, score: Scoring) -> Score | None:
    """Give a search all that it asks for."""
    cutoffs = next(search)
    while True:
        try:
            cutoffs = search.send(score(cutoffs))
        except StopIteration as end:
            answer: Score | None = end.value
            return answer


def _unit(seen: IntArray) -> int:
    return max(1, common_unit(seen)) if len(seen) else 1


def _right(score: Score) -> float:
    return score.right_person or 0.0


def _bound(low: Score, high: Score) -> float:
    """No cutoff between the two is right more often."""
    return min(1.0, (high.persons or 0) / low.counts.claims) if low.counts.claims else 1.0
