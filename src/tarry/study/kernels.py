"""The compiled loops behind `pairs`: plain arrays in, plain numbers out.

Every loop takes sorted times, moves pointers forward only, and so costs a step for each event and
cutoff; no pair of events is ever written down.
"""

from collections.abc import Callable
from functools import wraps
from pickle import UnpicklingError
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from numba.extending import register_jitable

from tarry.core.lanes import BoolArray, IntArray

__all__ = [
    "add_dense",
    "add_near",
    "add_near_blocks",
    "add_near_levels",
    "add_rising",
    "add_sorted",
    "add_sorted_groups",
    "close_groups",
    "count_lone",
    "cross_pairs",
    "near_own",
    "reaches",
    "watch_scores",
    "weighted_pairs",
]

P = ParamSpec("P")
R = TypeVar("R")


def _compiled(loop: Callable[P, R]) -> Callable[P, R]:
    """Machine code that other threads may run beside; kept on disk, so that it is made only once.

    Where it cannot be kept, or what was kept is damaged, it is made anew.
    """
    made: list[Callable[P, R]] = []

    @wraps(loop)
    def run(*arguments: P.args, **named: P.kwargs) -> R:
        if not made:
            made.append(_kept(loop))
        try:
            return made[0](*arguments, **named)
        except (EOFError, UnpicklingError):
            made[0] = numba.njit(nogil=True)(loop)
            return made[0](*arguments, **named)

    return run


def _kept(loop: Callable[P, R]) -> Callable[P, R]:
    try:
        kept: Callable[P, R] = numba.njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # nowhere to keep it: an installation and a home that cannot be written
        kept = numba.njit(nogil=True)(loop)
    return kept


def _inner(loop: Callable[P, R]) -> Callable[P, R]:
    """A loop that compiled ones call: it is compiled with them."""
    inner: Callable[P, R] = register_jitable(loop)
    return inner


@_inner
def _levels(limits: IntArray, most: int) -> IntArray:
    """For each distance up to the last limit the first limit that holds it; empty if they are too many."""
    levels = np.zeros(limits[-1] + 1 if limits[-1] < most else 0, dtype=np.int64)
    level = 0
    for apart in range(len(levels)):
        while limits[level] < apart:
            level += 1
        levels[apart] = level
    return levels


@_inner
def _add_levels(pairs: IntArray, totals: IntArray) -> None:
    """Pairs by the first limit that holds them, as pairs within each limit."""
    within = 0
    for k in range(len(pairs)):
        within += pairs[k]
        totals[k] += within


@_inner
def _add_inside(times: IntArray, limits: IntArray, totals: IntArray) -> None:
    """Pairs of sorted times at most each limit apart; limits rise, and there is one at least.

    Most times have no other one within the last limit: then nothing is looked at but that. Where they
    have few, each pair is looked at once; where many, each limit has a pointer that moves forward.
    """
    most, levels = limits[-1], _levels(limits, len(times))
    few = len(limits) if len(levels) else 0
    lows, pairs = np.zeros(len(limits), dtype=np.int64), np.zeros(len(limits), dtype=np.int64)
    far = 0
    for i in range(1, len(times)):
        now = times[i]
        if now - times[i - 1] > most:
            continue
        while now - times[far] > most:
            far += 1
        if i - far <= few:
            for j in range(far, i):
                pairs[levels[now - times[j]]] += 1
            continue
        low = far
        for k in range(len(limits) - 1, -1, -1):
            low = max(low, lows[k])
            while now - times[low] > limits[k]:
                low += 1
            lows[k] = low
            if low == i:
                break
            totals[k] += i - low
    _add_levels(pairs, totals)


@_inner
def _add_across(one: IntArray, other: IntArray, limits: IntArray, totals: IntArray) -> None:
    """Pairs of one time of each, both sorted, at most each limit apart."""
    for k in range(len(limits)):
        low, high, limit = 0, 0, limits[k]
        for now in one:
            while low < len(other) and other[low] < now - limit:
                low += 1
            while high < len(other) and other[high] <= now + limit:
                high += 1
            totals[k] += high - low


@_compiled
def add_sorted(times: IntArray, limits: IntArray, totals: IntArray) -> None:
    """Pairs of sorted times at most each limit apart."""
    for k in range(len(limits)):
        limit, low, total = limits[k], 0, 0
        for i in range(len(times)):
            edge = times[i] - limit
            while times[low] < edge:
                low += 1
            total += i - low
        totals[k] += total


@_compiled
def add_sorted_groups(groups: IntArray, times: IntArray, limits: IntArray, totals: IntArray) -> None:
    """The same inside groups, for rows sorted by group and time; limits[k, i] is row i's k-th limit.

    A limit is one for its whole group.
    """
    for k in range(len(limits)):
        low, total = 0, 0
        for i in range(len(times)):
            while (
                groups[low] != groups[i]
                or times[i] - times[low] > limits[k, i if limits.shape[1] > 1 else 0]
            ):
                low += 1
            total += i - low
        totals[k] += total


@_compiled
def add_rising(times: IntArray, limits: IntArray, totals: IntArray) -> None:
    """As `add_sorted`, for limits that rise: quick where most times have nobody within any of them."""
    _add_inside(times, limits, totals)


@_compiled
def add_dense(times: IntArray, span: int, limits: IntArray, totals: IntArray) -> None:
    """As `add_sorted`, for times in any order from 0 up to below a span not much above their number."""
    counts = np.zeros(span, dtype=np.int64)
    for i in range(len(times)):
        counts[times[i]] += 1
    before = np.zeros(span + 1, dtype=np.int64)
    together = 0
    for t in range(span):
        before[t + 1] = before[t] + counts[t]
        together += counts[t] * (counts[t] - 1) // 2
    for k in range(len(limits)):
        reach, total = min(limits[k], span), together
        for t in range(reach):
            total += counts[t] * before[t]
        # Three columns at one place each: machines take several places at a time.
        now, until, since = counts[reach:], before[reach:span], before[: span - reach]
        for i in range(span - reach):
            total += now[i] * (until[i] - since[i])
        totals[k] += total


@_compiled
def reaches(groups: IntArray, times: IntArray, window: int) -> IntArray:
    """For each row, sorted by group and time, the first later row outside its group or window."""
    ends = np.empty(len(times), dtype=np.int64)
    end = 0
    for i in range(len(times)):
        end = max(end, i + 1)
        while end < len(times) and groups[end] == groups[i] and times[end] - times[i] <= window:
            end += 1
        ends[i] = end
    return ends


@_compiled
def weighted_pairs(owners: IntArray, ends: IntArray, weights: IntArray) -> int:
    """The sum over pairs of rows i < j < ends[i] of the products of their owners' weights."""
    total, inside, end = 0, 0, 0  # the weights of rows i..end
    for i in range(len(owners)):
        while end < ends[i]:
            inside += weights[owners[end]]
            end += 1
        mine = weights[owners[i]]
        inside -= mine
        total += mine * inside
    return total


@_compiled
def add_near(  # noqa: PLR0917 - compiled loops take their arguments by place
    targets: IntArray,
    shown: IntArray,
    ends: IntArray,
    first: int,
    last: int,
    limits: IntArray,
    totals: IntArray,
) -> None:
    """Pairs of rows i < j < ends[i] in first..last on different targets, shown within each limit.

    One look at each pair inside the window. `limits` is sorted; a pair counts at the first that holds it.
    """
    most, levels = limits[-1], _levels(limits, last - first)
    for i in range(first, last):
        for j in range(i + 1, ends[i]):
            apart = abs(shown[j] - shown[i])
            if apart <= most and targets[j] != targets[i]:
                if len(levels):
                    k = levels[apart]
                else:
                    k = len(limits) - 1
                    while k > 0 and limits[k - 1] >= apart:
                        k -= 1
                totals[k] += 1


@_compiled
def near_own(  # noqa: PLR0917 - compiled loops take their arguments by place
    targets: IntArray, shown: IntArray, ends: IntArray, first: int, last: int, limits: IntArray
) -> int:
    """The same where each row brings its own limit, one for all rows of a group."""
    total = 0
    for i in range(first, last):
        for j in range(i + 1, ends[i]):
            if abs(shown[j] - shown[i]) <= limits[i] and targets[j] != targets[i]:
                total += 1
    return total


@_compiled
def add_near_blocks(shown: IntArray, ends: IntArray, limits: IntArray, totals: IntArray) -> None:
    """Pairs of rows i < j < ends[i] shown within each limit, however many pairs there are.

    `limits` rise, and `ends` never fall. Rows from one up to its end are all each other's partners: such
    cells are sorted and counted by pointers. Beyond its cell a row has partners in the next one alone.
    There the later half of the rows reaches at least as far as the middle one does: that is a rectangle,
    and two smaller corners are left. So each row is looked at a few times for each limit.
    """
    corners = np.empty((128, 4), dtype=np.int64)  # the next ones: each split halves its rows
    start = 0
    while start < len(shown):
        middle = ends[start]
        _add_inside(np.sort(shown[start:middle]), limits, totals)
        corners[0], open_ones = (start, middle, middle, ends[middle - 1]), 1
        while open_ones:
            open_ones -= 1
            a, b, c, d = corners[open_ones]  # rows a..b against c..d
            if a >= b or c >= d or ends[b - 1] <= c:
                continue
            cut = a if ends[a] >= d else (a + b) // 2
            reached = max(c, min(ends[cut], d))
            _add_across(np.sort(shown[cut:b]), np.sort(shown[c:reached]), limits, totals)
            corners[open_ones] = (a, cut, c, reached)
            corners[open_ones + 1] = (cut + 1, b, reached, d)
            open_ones += 2
        start = middle


@_compiled
def close_groups(
    groups: IntArray, times: IntArray, all_times: IntArray, all_groups: IntArray, window: int
) -> int:
    """Ordered pairs of different groups with some two times at most a window apart.

    Rows are sorted by group and time; `all_times` are sorted, with the group of each beside.
    """
    seen = np.full(groups[-1] + 1, -1, dtype=np.int64)  # the last group that met this one
    total, done = 0, 0
    for i in range(len(groups)):
        mine = groups[i]
        if i == 0 or groups[i - 1] != mine:
            done = 0
            seen[mine] = mine
        low = max(done, np.searchsorted(all_times, times[i] - window))
        while low < len(all_times) and all_times[low] <= times[i] + window:
            if seen[all_groups[low]] != mine:
                seen[all_groups[low]] = mine
                total += 1
            low += 1
        done = low
    return total


@_compiled
def cross_pairs(first: IntArray, second: IntArray, low: int, high: int) -> int:
    """Pairs (x, y) of two sorted columns with low <= y - x <= high."""
    begin, end, total = 0, 0, 0
    for i in range(len(first)):
        while begin < len(second) and second[begin] < first[i] + low:
            begin += 1
        while end < len(second) and second[end] <= first[i] + high:
            end += 1
        total += end - begin
    return total


@_compiled
def add_near_levels(  # noqa: PLR0917 - compiled loops take their arguments by place
    targets: IntArray,
    shown: IntArray,
    ends: IntArray,
    classes: IntArray,
    levels: "np.ndarray[tuple[int, ...], np.dtype[np.int16]]",
    totals: IntArray,
) -> None:
    """Pairs of rows i < j < ends[i] on different targets, by the level of their difference.

    levels[class of i, class of j, difference + reach] is 0 beyond the reach too.
    """
    reach = levels.shape[2] // 2
    for i in range(len(ends)):
        for j in range(i + 1, ends[i]):
            if targets[j] != targets[i]:
                apart = shown[j] - shown[i]
                if -reach <= apart <= reach:
                    totals[levels[classes[i], classes[j], apart + reach]] += 1
                else:
                    totals[0] += 1


@_compiled
def count_lone(targets: IntArray, ends: IntArray, batched: BoolArray) -> tuple[int, int, int]:
    """Pairs of rows i < j < ends[i] on different targets, and how often each of the two has no label."""
    pairs, earlier, later = 0, 0, 0
    for i in range(len(ends)):
        for j in range(i + 1, ends[i]):
            if targets[j] != targets[i]:
                pairs += 1
                earlier += not batched[i]
                later += not batched[j]
    return pairs, earlier, later


@_compiled
def watch_scores(  # noqa: PLR0912, PLR0917, C901 - one loop: it cannot call another, arguments by place
    acts: IntArray,
    width: int,
    times: IntArray,
    owners: IntArray,
    rareness: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    trusts: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    sizes: IntArray,
) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """How well each owner's acts follow `acts`: a row for each owner, a column for each way to score.

    With K the triangles of half the base `width` over `acts` (both sorted, as `times` are), a score is the
    sum of log(1 - t + t K / f) over the owner's acts, for each background (1 / f is its column of
    `rareness`) and then each t of `trusts`. The last column is how many of the owner's acts have K > 0.
    Acts out of reach all add log(1 - t), and are counted instead of visited. Products are made of a few
    factors before a logarithm is taken. Sums of times may wrap around: what is left of them is small.
    """
    backgrounds, steps = rareness.shape[1], len(trusts)
    ways = backgrounds * steps
    scores = np.zeros((len(sizes), ways + 1))
    products = np.ones((len(sizes), ways))
    scale = 1.0 / (float(width) * float(width) * len(acts))
    low, middle, high = 0, 0, 0  # acts in reach: low..middle are not after this moment, middle..high are
    before, after = 0, 0  # the sums of their times
    i = np.searchsorted(times, acts[0] - width)
    while i < len(times):
        now = times[i]
        while high < len(acts) and acts[high] < now + width:
            after += acts[high]
            high += 1
        while middle < high and acts[middle] <= now:
            after -= acts[middle]
            before += acts[middle]
            middle += 1
        while low < middle and acts[low] <= now - width:
            before -= acts[low]
            low += 1
        if low == high:  # nothing in reach: on to the next act
            if high == len(acts):
                break
            i += max(1, np.searchsorted(times[i:], acts[high] - width + 1))
            continue
        heights = (middle - low) * (width - now) + before + (high - middle) * (width + now) - after
        owner = owners[i]
        scores[owner, ways] += 1
        density = heights * scale
        for b in range(backgrounds):
            ratio = density * rareness[i, b]
            for t in range(steps):
                products[owner, b * steps + t] *= 1.0 + trusts[t] * (ratio - 1.0)
        if scores[owner, ways] % 8 == 0:
            for way in range(ways):
                scores[owner, way] += np.log(products[owner, way])
                products[owner, way] = 1.0
        i += 1
    missed = np.log(1.0 - trusts)
    for owner in range(len(sizes)):
        unseen = sizes[owner] - scores[owner, ways]
        touched = unseen < sizes[owner]
        for way in range(ways):
            if touched:
                scores[owner, way] += np.log(products[owner, way])
            scores[owner, way] += unseen * missed[way % steps]
    return scores
