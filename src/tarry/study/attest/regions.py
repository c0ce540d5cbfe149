"""The region of releases that speaks most clearly for one of two stories: a histogram sorted by its ratio.

Releases are looked at in several ways: one at a time, by the difference of two, two at once, and added up
over all as a product of ratios. In each, cells are sorted by how much likelier they are in the true
story, on one half of the samples; how many of the first ones to take is decided on the other half.
Nothing here needs to be right for an attestation to be right: its bounds count fresh samples.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tarry.core.lanes import BoolArray, IntArray
from tarry.study.attest.interfaces import Region, StoryPair, ordinal

__all__ = ["Cells", "Lens", "RatioTester", "Scores", "Together", "Values", "in_words"]

FloatArray = npt.NDArray[np.float64]
_WIDE = 1 << 20  # a longer span of times is searched for, a shorter one looked up
_SIZES = (16, 64, 256, 4096)  # cells of a histogram, at most
_SHARES = (8, 24)  # cells of each of two releases that are looked at together
_FEW = 6  # releases that are looked at two by two
_SCORES = 256
_TOLD = 3  # ranges that are told in words


class Lens(Protocol):
    """A way of looking at releases: each row of them lies in one of `count` cells."""

    @property
    def count(self) -> int:
        """How many cells there are."""

    def cells(self, releases: IntArray) -> IntArray:
        """The cell of each row."""

    def as_json(self, kept: BoolArray) -> dict[str, Any]:
        """Plain values that say which rows these cells hold."""


@dataclass(frozen=True, eq=False)
class Values:
    """One release, or the difference of two.

    >>> lens = Values(1, 0, np.array([0, 3]))  # below 0, 0 to 2, 3 and more
    >>> lens.cells(np.array([[5, 4], [5, 7], [5, 9]])).tolist()
    [0, 1, 2]
    """

    act: int
    minus: int | None
    edges: IntArray  # the least value of each cell but the first

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.edges) + 1

    def values(self, releases: IntArray) -> IntArray:
        """What is looked at."""
        column: IntArray = releases[:, self.act]
        return column if self.minus is None else column - releases[:, self.minus]

    def cells(self, releases: IntArray) -> IntArray:
        """The cell of each row."""
        values = self.values(releases)
        if self._table is None:
            return np.searchsorted(self.edges, values, side="right")
        first = self.edges[0] - 1
        found: IntArray = self._table[np.clip(values, first, self.edges[-1]) - first]
        return found

    @cached_property
    def _table(self) -> IntArray | None:
        if not len(self.edges) or self.edges[-1] - self.edges[0] > _WIDE:
            return None
        span = np.arange(self.edges[0] - 1, self.edges[-1] + 1)
        return np.searchsorted(self.edges, span, side="right")

    def as_json(self, kept: BoolArray) -> dict[str, Any]:
        """Ranges of values, both ends in them; null where there is no end."""
        ends = [None, *self.edges.tolist(), None]
        runs = np.flatnonzero(np.diff(np.concatenate([[0], kept.astype(np.int64), [0]]))).reshape(-1, 2)
        ranges = [[ends[a], None if ends[b] is None else ends[b] - 1] for a, b in runs.tolist()]
        return {"release": self.act, "minus": self.minus, "ranges": ranges}


@dataclass(frozen=True, eq=False)
class Together:
    """Two views at once.

    >>> first, second = (Values(act, None, np.array([3])) for act in (0, 1))
    >>> Together(first, second).cells(np.array([[1, 1], [1, 5], [5, 1], [5, 5]])).tolist()
    [0, 1, 2, 3]
    """

    first: Values
    second: Values

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.first.count * self.second.count

    def cells(self, releases: IntArray) -> IntArray:
        """The cell of each row."""
        return self.first.cells(releases) * self.second.count + self.second.cells(releases)

    def as_json(self, kept: BoolArray) -> dict[str, Any]:
        """For each range of the first, the ranges of the second."""
        rows = kept.reshape(self.first.count, self.second.count)
        return {
            "any": [
                {"all": [self.first.as_json(np.arange(len(rows)) == i), self.second.as_json(row)]}
                for i, row in enumerate(rows)
                if row.any()
            ]
        }


@dataclass(frozen=True, eq=False)
class Scores:
    """The sum, over several releases, of what each says by itself.

    >>> view = Values(0, None, np.array([3]))
    >>> lens = Scores((view,), (np.array([0.0, 1.0]),), np.array([0.5]))
    >>> lens.cells(np.array([[1], [5]])).tolist()
    [0, 1]
    """

    parts: tuple[Values, ...]
    weights: tuple[FloatArray, ...]  # of each part's cells
    cuts: FloatArray

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.cuts) + 1

    def scores(self, releases: IntArray) -> FloatArray:
        """The sums."""
        total = np.zeros(len(releases))
        for part, weights in zip(self.parts, self.weights, strict=True):
            total += weights[part.cells(releases)]
        return total

    def cells(self, releases: IntArray) -> IntArray:
        """The cell of each row."""
        return np.searchsorted(self.cuts, self.scores(releases), side="right")

    def as_json(self, kept: BoolArray) -> dict[str, Any]:
        """The weights of each release's values, and the ranges of their sum."""
        return {
            "sum": [
                {"release": part.act, "edges": part.edges.tolist(), "weights": weights.tolist()}
                for part, weights in zip(self.parts, self.weights, strict=True)
            ],
            "cuts": self.cuts.tolist(),
            "cells": np.flatnonzero(kept).tolist(),
        }


@dataclass(frozen=True, eq=False)
class Cells:
    """Some of a lens's cells: a region.

    >>> region = Cells(Values(0, None, np.array([3])), np.array([False, True]))
    >>> region.contains(np.array([[2], [3]])).tolist(), region.as_json()["ranges"]
    ([False, True], [[3, None]])
    """

    lens: Lens
    kept: BoolArray

    def contains(self, releases: IntArray) -> BoolArray:
        """Whether each row is in it."""
        return self.kept[self.lens.cells(releases)]

    def as_json(self) -> dict[str, Any]:
        """Plain values, from which it can be told again."""
        return self.lens.as_json(self.kept)


@dataclass(frozen=True)
class RatioTester:
    """Cells sorted by their ratio, in every way of looking that is known here.

    It goes for the largest epsilon, or `for_delta` for the largest delta at the promised epsilon.

    >>> from fractions import Fraction
    >>> from tarry.core.verify.streams import Act
    >>> from tarry.study.attest.interfaces import Story
    >>> story = Story(acts=(Act(0, 0, 0),))
    >>> pair = StoryPair(kind="one act", true=story, other=story, nats=Fraction(0))
    >>> true, other = np.arange(100).reshape(-1, 1) % 10, np.arange(100).reshape(-1, 1) % 5
    >>> beyond, region = RatioTester().choose(true, other, pair)
    >>> beyond > 1, region.contains(np.array([[7], [2]])).tolist()
    (True, [True, False])
    """

    for_delta: bool = False

    def choose(self, true: IntArray, other: IntArray, pair: StoryPair) -> tuple[float, Region]:
        """How far the region is thought to be beyond the promise, and the region."""
        sorting = true[::2], other[::2]
        deciding = true[1::2], other[1::2]
        best = (-np.inf, Cells(Values(0, None, np.zeros(0, dtype=np.int64)), np.array([True])))
        for lens in _lenses(*sorting, pair):
            beyond, kept = self._prefix(lens, sorting, deciding, pair)
            if beyond > best[0]:
                best = beyond, Cells(lens, kept)
        return best

    def _prefix(
        self,
        lens: Lens,
        sorting: tuple[IntArray, IntArray],
        deciding: tuple[IntArray, IntArray],
        pair: StoryPair,
    ) -> tuple[float, BoolArray]:
        """How many of the sorted cells to take, by bounds that are good enough to choose with."""
        order = np.argsort(-_log_ratios(lens, *sorting), kind="stable")
        p, q = (
            np.cumsum(np.bincount(lens.cells(each), minlength=lens.count)[order]) / len(each)
            for each in deciding
        )
        least = _towards(p, len(deciding[0]), -1) - float(pair.delta)
        most = _towards(q, len(deciding[1]), 1)
        if self.for_delta:
            beyond = least - np.exp(float(pair.nats)) * most
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = np.where(least > 0, np.log(least / most), -np.inf) - float(pair.nats)
        taken = int(np.argmax(beyond))
        kept = np.zeros(lens.count, dtype=np.bool_)
        kept[order[: taken + 1]] = True
        return float(beyond[taken]), kept


def _lenses(true: IntArray, other: IntArray, pair: StoryPair) -> Iterator[Lens]:
    """Every way of looking that so few samples can fill."""
    both = np.concatenate([true, other])
    sizes = [size for size in _SIZES if size == _SIZES[0] or size * 4 <= len(both)]
    watched = pair.watched
    alone = watched if len(watched) <= _FEW else ()
    yield from (_values(both, act, None, size) for act in alone for size in sizes)
    if len(watched) > 1:
        yield from (_scores(true, other, pair, size) for size in sizes[-2:])
    if len(watched) <= _FEW:
        for one, two in combinations(watched, 2):
            yield from (_values(both, two, one, size) for size in sizes)
            for size in _SHARES if len(both) > 8 * _SHARES[1] ** 2 else _SHARES[:1]:
                yield Together(_values(both, one, None, size), _values(both, two, None, size))


def _values(both: IntArray, act: int, minus: int | None, size: int) -> Values:
    """One release or a difference: a cell for each value, or, of many values, cells equally full."""
    lens = Values(act, minus, np.zeros(0, dtype=np.int64))
    values = np.unique(lens.values(both))
    if len(values) > size:
        full = np.quantile(lens.values(both), np.arange(1, size) / size, method="nearest")
        values = np.unique(np.concatenate([values[:1], full]))
    return Values(act, minus, values[1:])


def _scores(true: IntArray, other: IntArray, pair: StoryPair, size: int) -> Scores:
    """A sum over all watched releases. In a long story those of one role share what is learned of them."""
    both = np.concatenate([true, other])
    if len(pair.watched) <= _FEW:
        parts = tuple(_values(both, act, None, size) for act in pair.watched)
        weights = tuple(_log_ratios(part, true, other) for part in parts)
    else:
        learned = {role: _role(true, other, acts, pair, size) for role, acts in _roles(pair).items()}
        acts = [(act, learned[_role_of(act, pair)]) for act in pair.watched]
        parts = tuple(Values(act, None, pair.true.acts[act].at + edges) for act, (edges, _) in acts)
        weights = tuple(log_ratios for _, (_, log_ratios) in acts)
    return Scores(parts, weights, _cuts(Scores(parts, weights, np.zeros(0)).scores(both)))


def _role_of(act: int, pair: StoryPair) -> tuple[int, bool]:
    """How much later an act comes in the other story, and whether it is somebody else's there."""
    true, other = pair.true.acts[act], pair.other.acts[act]
    return other.at - true.at, other.actor != true.actor


def _roles(pair: StoryPair) -> dict[tuple[int, bool], list[int]]:
    roles: dict[tuple[int, bool], list[int]] = {}
    for act in pair.watched:
        roles.setdefault(_role_of(act, pair), []).append(act)
    return roles


def _role(
    true: IntArray, other: IntArray, acts: list[int], pair: StoryPair, size: int
) -> tuple[IntArray, FloatArray]:
    """The edges of the delays of such acts, from the arrival in the true story, and the log ratios."""
    arrivals = np.array([pair.true.acts[act].at for act in acts])
    pooled = [(seen[:, acts] - arrivals).reshape(-1, 1) for seen in (true, other)]
    delays = _values(np.concatenate(pooled), 0, None, size)
    return delays.edges, _log_ratios(delays, *pooled)


def _cuts(scores: FloatArray) -> FloatArray:
    distinct = np.unique(scores)
    if len(distinct) <= _SCORES:
        return distinct[1:]
    return np.unique(np.quantile(scores, np.arange(1, _SCORES) / _SCORES))


def _log_ratios(lens: Lens, true: IntArray, other: IntArray) -> FloatArray:
    """ln(P/Q) of each cell, drawn towards 0 where hardly anything is."""
    p, q = (np.bincount(lens.cells(each), minlength=lens.count) + 0.5 for each in (true, other))
    return np.log(p / len(true)) - np.log(q / len(other))


def _towards(share: FloatArray, samples: int, sign: int) -> FloatArray:
    """An end of Wilson's interval around each share.

    The more samples, the more regions there are to choose from, and the luckier the best of them: so the
    interval is wider, in deviations, the more samples there are.
    """
    z = sign * np.sqrt(2 * np.log1p(samples / 8))
    spread = np.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    end: FloatArray = (share + z * z / (2 * samples) + z * spread) / (1 + z * z / samples)
    return end


def in_words(region: Mapping[str, Any], time: Callable[[int], str] = str) -> str:
    """What the releases in a region are like, from its plain values; `time` writes a time of theirs.

    >>> difference = Cells(Values(1, 0, np.array([-3, 5])), np.array([False, True, False]))
    >>> in_words(difference.as_json(), lambda ticks: f"{ticks}s")
    'the second release less the first is -3s to 4s'
    >>> in_words(Cells(Values(0, None, np.array([9])), np.array([False, True])).as_json())
    'the first release is 9 or more'
    """
    if "ranges" in region:
        less = "" if region["minus"] is None else f" less the {ordinal(region['minus'])}"
        return f"the {ordinal(region['release'])} release{less} is {_ranges(region['ranges'], time)}"
    if "any" in region:
        one, two = (ordinal(part["release"]) for part in region["any"][0]["all"])
        return f"the {one} and the {two} release together lie in one of {len(region['any'])} areas"
    if "sum" in region:
        return "the releases, weighed and added up, point to it"
    return "they are in its region"


def _ranges(ranges: list[list[int | None]], time: Callable[[int], str]) -> str:
    shown = [_range(low, high, time) for low, high in ranges[:_TOLD]]
    more = len(ranges) - _TOLD
    return " or ".join(shown) + (f", or in one of {more} more ranges" if more > 0 else "")


def _range(low: int | None, high: int | None, time: Callable[[int], str]) -> str:
    if low is None:
        return "anything" if high is None else f"{time(high)} or less"
    if high is None:
        return f"{time(low)} or more"
    return time(low) if low == high else f"{time(low)} to {time(high)}"
