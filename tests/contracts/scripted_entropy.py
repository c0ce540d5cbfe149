"""Sources whose answers are written down beforehand, so that rare branches are reached on purpose."""

from collections.abc import Iterable, Sequence

import numpy as np

from tarry.core.entropy import DIGIT, Entropy

__all__ = ["Script", "ScriptedLanes"]


class Script:
    """Answers `randbelow` from a list, and remembers what it was asked."""

    def __init__(self, answers: Iterable[int]) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []

    def randbelow(self, n: int, /) -> int:
        """The next answer, which must be possible."""
        answer = self.answers[len(self.asked)]
        self.asked.append(n)
        assert 0 <= answer < n
        return answer

    @property
    def used_up(self) -> bool:
        """Whether every answer was asked for."""
        return len(self.asked) == len(self.answers)


class ScriptedLanes:
    """Lanes over scalar sources, one each: whatever the vector code asks, its own lane answers."""

    def __init__(self, sources: Sequence[Entropy]) -> None:
        self.sources = sources

    def __len__(self) -> int:
        return len(self.sources)

    def randbelow(self, n: int, lanes=None):
        """The next answer of each of the lanes."""
        which = range(len(self)) if lanes is None else lanes
        return np.array([self.sources[i].randbelow(n) for i in which], dtype=np.int64)

    def above(self, digit: int, lanes=None):
        """Whether each next digit is above this one, and the places of the equal ones."""
        digits = self.randbelow(DIGIT, lanes)
        return digits > digit, np.flatnonzero(digits == digit)

    def lane(self, index: int) -> Entropy:
        """The source of one lane."""
        return self.sources[index]
