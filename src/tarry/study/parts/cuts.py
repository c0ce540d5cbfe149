"""Where to cut a history into slices: moments, so that parts have about as many events."""

from dataclasses import dataclass

import numpy as np

from tarry.core.lanes import IntArray

__all__ = ["Rhythm", "slice_numbers"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rhythm:
    """How many events there are in each stretch of time.

    Stretches may be of any length: fine where much happens, coarse where little does.

    >>> rhythm = Rhythm(start=np.array([0, 10, 20]), count=np.array([4, 4, 4]), end=30)
    >>> rhythm.events, rhythm.cuts(before=0, after=0, most=8).tolist()
    (12, [20])
    """

    start: IntArray  # microseconds: the first moment of each stretch, rising
    count: IntArray  # the events from there to the next stretch
    end: int  # after the last stretch

    @property
    def events(self) -> int:
        """All of them."""
        return int(self.count.sum())

    def joined(self, cuts: IntArray) -> "Rhythm":
        """The same in fewer stretches, which begin at these of its moments.

        >>> rhythm = Rhythm(start=np.array([0, 10, 20]), count=np.array([4, 4, 4]), end=30)
        >>> rhythm.joined(np.array([20])).count.tolist()
        [8, 4]
        """
        places = np.concatenate(([0], np.searchsorted(self.start, cuts)))
        return Rhythm(start=self.start[places], count=np.add.reduceat(self.count, places), end=self.end)

    def cuts(self, *, before: int, after: int, most: int) -> IntArray:
        """The moments between slices, so that each slice with its halo has about `most` events.

        Where a halo alone has nearly as many, all slices get larger: else one busy hour would be
        cut into slices that are nothing but halo.

        >>> rhythm = Rhythm(start=np.arange(8), count=np.full(8, 5), end=8)
        >>> (
        ...     rhythm.cuts(before=0, after=0, most=10).tolist(),
        ...     rhythm.cuts(before=3, after=0, most=10).tolist(),
        ... )
        ([2, 4, 6], [6])
        """
        edges = np.append(self.start, self.end)
        until = np.concatenate(([0], np.cumsum(self.count)))  # the events before each edge
        earlier = until - _at(edges, until, edges - before)  # the halo of a slice that begins there
        later = _at(edges, until, edges + after) - until  # and of one that ends there
        room = max(most, 2 * int((earlier + later).max()))
        cuts: list[int] = []
        first = 0
        while True:
            size = until + later - until[first] + earlier[first]  # of a part that begins at `first`
            last = max(int(np.searchsorted(size, room, side="right")) - 1, first + 1)
            if last >= len(edges) - 1:
                return edges[cuts]
            cuts.append(last)
            first = last


def _at(edges: IntArray, until: IntArray, moments: IntArray) -> IntArray:
    """About how many events lie before each moment."""
    return np.interp(moments, edges, until).astype(np.int64)


def slice_numbers(
    first: IntArray, last: IntArray, cuts: IntArray, *, before: int, after: int
) -> tuple[IntArray, IntArray]:
    """The slices that need something of each stretch from its first to its last moment: places, slices.

    Slice 0 ends at the first cut. A slice needs what arrives up to `before` earlier than its start and up
    to `after` later than its end.

    >>> stretches = np.array([3, 6]), np.array([5, 9])
    >>> places, slices = slice_numbers(*stretches, np.array([5, 10]), before=2, after=0)
    >>> places.tolist(), slices.tolist()
    ([0, 0, 1, 1], [0, 1, 1, 2])
    """
    lowest = np.searchsorted(cuts, first - after, side="right")
    each = np.searchsorted(cuts, last + before, side="right") - lowest + 1
    places = np.repeat(np.arange(len(first)), each)
    begun = np.repeat(np.cumsum(each) - each, each)  # where the slices of this stretch begin
    return places, lowest[places] + np.arange(len(places)) - begun
