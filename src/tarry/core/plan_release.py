"""A whole history at once: labels, and then the two steps of `release` over arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.lanes import BoolArray, IntArray, Lanes, SecureLanes, SeededLanes
from tarry.core.mechanism import Mechanism
from tarry.core.policy import Policy
from tarry.core.release import Draws, after_parents, needs_second_draw, release_ticks

__all__ = ["Labelled", "Releases", "label_history", "plan_release", "rows_by_gap"]

# Lanes drawn at once: few enough to stay in the processor's cache.
_CHUNK = 1 << 15


@dataclass(frozen=True, kw_only=True, eq=False)
class Releases:
    """What becomes of each event of a history, in the history's own row order.

    >>> history = History(actor=[1, 2], target=[7, 7], time=[0, 0])
    >>> sorted(plan_release(Policy(epsilon="1", gap="11m"), history, Seeded(1)).order.tolist())
    [0, 1]
    """

    arrival: IntArray  # ticks
    batched: BoolArray  # the label
    release: IntArray  # ticks
    shuffle: IntArray  # random: the order inside a tick
    depth: IntArray  # how many parents lie above each event

    @cached_property
    def order(self) -> IntArray:
        """Rows in the order in which they appear: by release, at random inside a tick.

        Nothing appears before what it refers to.
        """
        return np.lexsort((self.depth, self.shuffle, self.release))


@dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """What does not depend on the draws, so that many draws need it only once.

    >>> history = History(actor=[1, 1], target=[7, 8], time=[0, 0])
    >>> label_history(Policy(epsilon="1", gap="11m"), history).batched.tolist()
    [True, True]
    """

    arrival: IntArray  # ticks
    batched: BoolArray  # the label


def label_history(policy: Policy, history: History) -> Labelled:
    """The arrival ticks and labels of a history under a policy.

    >>> history = History(actor=[1, 1], target=[7, 8], time=[0, 1])
    >>> label_history(Policy(epsilon="1", gap="11m"), history).arrival.tolist()
    [0, 1]
    """
    arrival = history.ticks(policy.tick)
    return Labelled(
        arrival=arrival, batched=label_events(policy.labels, history, arrival, policy.window_ticks)
    )


def plan_release(
    policy: Policy,
    history: History,
    entropy: Seeded | Secure,
    labelled: Labelled | None = None,
    *,
    shuffled: bool = True,
) -> Releases:
    """Release every event of a history under a policy; its labels may be known already.

    Without `shuffled` no order inside a tick is drawn: `shuffle` is 0 for all. The moments are the same.

    With `Seeded` the delays depend on the events alone: neither the order of rows nor a split of the
    work changes them, as long as all events of an actor stay together (labels look at them).

    >>> policy = Policy(epsilon="1", gap="300s", window="60s", weight="1")
    >>> history = History(actor=["ann", "ann"], target=["p1", "p2"], time=[0, 30_000_000])
    >>> plan = plan_release(policy, history, Seeded(1))
    >>> plan.batched.tolist(), bool((plan.release - plan.arrival >= 60 + 360).all())
    ([True, True], True)
    """
    labelled = labelled or label_history(policy, history)
    arrival, batched = labelled.arrival, labelled.batched
    release = np.empty(len(history), dtype=np.int64)
    shuffle = np.zeros(len(history), dtype=np.int64)
    for gap, rows in rows_by_gap(policy, history):
        mechanism = policy.mechanism(gap)
        for part in np.array_split(rows, -(-len(rows) // _CHUNK) or 1):
            lanes = _open_lanes(entropy, history, part)
            release[part] = release_ticks(
                arrival[part],
                _draw_many(mechanism, batched[part], lanes),
                batched=batched[part],
                hold=policy.hold_ticks,
                deadline=policy.deadline_tick,
            )
            if shuffled:
                shuffle[part] = lanes.randbelow(1 << 62)
    depth = _depths(history.parents, len(history))
    for rows, parents in _generations(history.parents, depth):
        for column in (release, shuffle):
            column[rows] = after_parents(column[rows], column[parents])
    return Releases(arrival=arrival, batched=batched, release=release, shuffle=shuffle, depth=depth)


def _draw_many(mechanism: Mechanism, batched: BoolArray, lanes: Lanes) -> Draws[IntArray]:
    """`draw_pair` for many events. A second delay is drawn only where the label asks for it."""
    unbatched = mechanism.unbatched.draw_many(lanes)
    which = np.flatnonzero(batched & needs_second_draw(mechanism.pair, unbatched))
    second = unbatched.copy()
    second[which] = mechanism.batched.draw_many(lanes, which)
    return Draws(unbatched, second)


def _open_lanes(entropy: Seeded | Secure, history: History, rows: IntArray) -> Lanes:
    if isinstance(entropy, Seeded):
        return SeededLanes(entropy, history.keys[rows])
    if not isinstance(entropy, Secure):
        raise BadInput(f"the entropy of a replay must be Seeded(...) or Secure(), not {entropy!r}")
    return SecureLanes(len(rows), entropy.read)


def rows_by_gap(policy: Policy, history: History) -> list[tuple[Fraction, IntArray]]:
    """The rows that draw from the laws of each gap; the default gap comes first.

    >>> history = History(actor=[1, 1], target=["a", "b"], time=[0, 0])
    >>> policy = Policy(epsilon="1", gap="11m", target_gaps={"b": "1h"})
    >>> [rows.tolist() for gap, rows in rows_by_gap(policy, history)]
    [[0], [1]]
    """
    if not policy.target_gaps and not policy.track_gaps:
        return [(policy.gap, np.arange(len(history)))]
    gaps = np.zeros(len(history), dtype=np.int64)
    numbers = {gap: i for i, gap in enumerate(policy.gaps)}
    # A target's own gap goes before its track's, so it is written last.
    for column, own in ((history.tracks, policy.track_gaps), (history.targets, policy.target_gaps)):
        if column is not None and own:
            names, places = np.unique(column.astype(str), return_inverse=True)
            mine = np.array([numbers[own[n]] if n in own else -1 for n in names.tolist()])[places]
            gaps = np.where(mine >= 0, mine, gaps)
    return [(gap, np.flatnonzero(gaps == i)) for gap, i in numbers.items()]


def _generations(parents: IntArray | None, depth: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows that have parents, and these: children first, then their children, and so on."""
    if parents is None:
        return
    order = np.argsort(depth, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(depth[order])) + 1):
        if len(rows) and depth[rows[0]]:
            yield rows, parents[rows]


def _depths(parents: IntArray | None, count: int) -> IntArray:
    """How many parents lie above each event."""
    depth = np.zeros(count, dtype=np.int64)
    if parents is None:
        return depth
    above = parents
    while (climbing := above >= 0).any():
        depth += climbing
        above = np.where(climbing, parents[above], -1)
    return depth
