"""The queue of the appendix (Algorithm 4): what it keeps under its assumptions, and in real traffic.

The paper proves perfect privacy for a queue that posts one comment a step: outputs with and without
batches have one distribution, nobody waits longer than there are batched comments, and order is kept.
All of that is true, and shown here exactly, as long as one comment arrives in every step and the members
of a batch are drawn independently. But a batch is one person's, and traffic has quiet steps: then
members leave side by side, and the backlog never shrinks (`docs/theory.md`, erratum 9).
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import accumulate, product
from math import prod
from typing import TypeVar

import numpy as np

from tarry.core.entropy import Entropy, Seeded
from tarry.core.errors import require
from tarry.core.exact import log_of
from tarry.core.history import in_rows
from tarry.core.lanes import IntArray
from tarry.core.law import Law
from tarry.core.verify.rules import Draw, distribution
from tarry.paper.finding import (
    Cell,
    Chart,
    Finding,
    RunSettings,
    Table,
    TableRows,
    line_chart,
    real_tables,
    tabled,
)
from tarry.study.practice import MICROSECONDS
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES, Recipe
from tarry.study.table import EventTable, event_table, table_of

__all__ = ["TITLE", "Scripted", "find", "outputs", "paper_queue", "slot_releases"]


TITLE = "The queue: perfect under its assumptions, and in traffic with quiet steps"

STEPS = 3
#: What a comment is: a paper and its reviewer. Two reviewers with three papers each, all equally likely.
PAPERS = {"p": "ann", "q": "ann", "r": "ann", "s": "bob", "t": "bob", "u": "bob"}
BATCHES: tuple[tuple[int, ...], ...] = ((1,), (2,), (1, 1), (1, 3))
STEP_S = 60  # of real traffic

Chances = dict[tuple[str, ...], Fraction]
Members = Callable[[tuple[str, ...]], bool]


# --- under the paper's assumptions ---------------------------------------------------------------


class Scripted:
    """An entropy whose every draw is followed by `distribution`.

    >>> Scripted(lambda law: law.maximum).randbelow(6)
    5
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def randbelow(self, n: int, /) -> int:
        """A draw from 0..n-1."""
        return self._draw(Law.of_masses([Fraction(1, n)] * n))


def _one_person(batch: tuple[str, ...]) -> bool:
    """One reviewer's comments on different papers: what a batch is."""
    return len({PAPERS[paper] for paper in batch}) == 1 and len(set(batch)) == len(batch)


def outputs(batches: Sequence[int], members: Members = bool, steps: int = STEPS) -> Chances:
    """The exact distribution of what is posted when one comment comes a step, and one more at each batch.

    `members` says which batches can be; they are equally likely.

    >>> sum(outputs((1,)).values())
    Fraction(1, 1)
    """
    sizes = (1 + list(batches).count(step) for step in range(1, steps + 1))
    kinds = [
        [batch for batch in product(PAPERS, repeat=size) if size == 1 or members(batch)] for size in sizes
    ]
    chances: Chances = defaultdict(Fraction)
    each = Fraction(1, prod(map(len, kinds)))
    for arrivals in product(*kinds):
        posted = distribution(lambda draw, a=arrivals: _codes(paper_queue(a, Scripted(draw))))  # type: ignore[misc]  # a default that binds
        for codes, part in posted.items():
            chances[tuple(list(PAPERS)[code] for code in codes)] += each * part
    return dict(chances)


def _codes(posted: Sequence[str | None]) -> tuple[int, ...]:
    return tuple(list(PAPERS).index(paper) for paper in posted if paper is not None)


def _apart(one: Chances, other: Chances) -> tuple[Fraction, Fraction]:
    """Total variation, and the largest ratio of one to the other."""
    every = {*one, *other}
    gap = sum((abs(one.get(k, Fraction(0)) - other.get(k, Fraction(0))) for k in every), Fraction(0)) / 2
    return gap, max(mass / other[k] for k, mass in one.items())


@tabled(
    f"How far outputs with and without batches differ, over {STEPS} steps (total variation)",
    "batches at step",
    "independent members",
    "one person's",
    "one person's, nats",
)
def _exact(batches: Sequence[tuple[int, ...]]) -> TableRows:
    alone = outputs(())
    for times in batches:
        independent, one_person = (_apart(outputs(times, who), alone) for who in (bool, _one_person))
        steps = ", ".join(map(str, times))
        yield steps, float(independent[0]), float(one_person[0]), log_of(one_person[1])


@tabled(
    "The longest delay in steps, with an arrival in every step",
    "batched comments",
    "longest delay",
    "order of steps kept",
)
def _worst(seed: int, sizes: Sequence[int], steps: int = 200) -> TableRows:
    """Delays when one comment comes in every step, and so many more at random steps."""
    for extra in sizes:
        rng = np.random.default_rng([seed, extra])
        more = np.bincount(rng.integers(steps, size=extra), minlength=steps)
        arrivals = [[(step, i) for i in range(1 + more[step])] for step in range(steps)]
        arrivals += [[(step, 0)] for step in range(steps, steps + extra + 1)]
        posted = paper_queue(arrivals, Seeded(seed).stream(0, 0, extra))
        left = [comment[0] for comment in posted if comment is not None]
        longest = max(at - step for at, step in enumerate(left))
        yield extra, longest, "yes" if left == sorted(left) else "no"


# --- in real traffic -----------------------------------------------------------------------------


def _steps(table: EventTable) -> IntArray:
    """The step in which each event arrives."""
    steps = table.time // (STEP_S * MICROSECONDS)
    since_first: IntArray = steps - steps.min()
    return since_first


def _queued(table: EventTable, seed: int) -> IntArray:
    """The step in which each event of a table leaves Algorithm 4; -1 for never."""
    busy, place = np.unique(_steps(table), return_inverse=True)
    rows = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
    # A step without arrivals posts nothing and changes nothing: only busy ones are walked through.
    posted = paper_queue([part.tolist() for part in rows], Seeded(seed).stream(0, 0, 0))
    released = np.full(len(table), -1, dtype=np.int64)
    released[[row for row in posted if row is not None]] = busy
    return released


def _backlog(table: EventTable) -> IntArray:
    """What waits in Algorithm 4 after each busy step, in which one leaves."""
    return np.cumsum(np.unique(_steps(table), return_counts=True)[1] - 1)


def _slotted(table: EventTable) -> IntArray:
    """The step in which each event leaves a slot queue with slots as long as a step."""
    since = table.time.min() // (STEP_S * MICROSECONDS) * STEP_S
    ticks = table.time // MICROSECONDS - since
    order = np.argsort(ticks, kind="stable")
    return in_rows(order, np.array(slot_releases(ticks[order].tolist(), STEP_S)) // STEP_S)


@tabled(
    f"Traffic with quiet steps, in steps and slots of {STEP_S} s",
    *("history", "queue", "mean delay, hours", "longest, hours", "never released"),
    "moves in a step that leave side by side",
)
def _traffic(tables: dict[str, EventTable], seed: int) -> TableRows:
    """What the two queues do to each history."""
    for name, table in tables.items():
        arrived = _steps(table)
        for queue, left in (("Algorithm 4", _queued(table, seed)), ("slot queue", _slotted(table))):
            out = left >= 0
            waited = (left[out] - arrived[out]) * STEP_S / 3600
            figures = (float(np.mean(waited)), float(waited.max()), int((~out).sum()))
            yield name, queue, *figures, _side_by_side(table, left)


def _side_by_side(table: EventTable, left: IntArray) -> float | None:
    """Of one person's moves within a step, the share that leaves in neighbouring places."""
    order = np.argsort(np.where(left < 0, np.iinfo(np.int64).max, left), kind="stable")
    place = in_rows(order, np.arange(len(table)))
    step = _steps(table)
    pair = (table.actor[1:] == table.actor[:-1]) & (table.target[1:] != table.target[:-1])
    pair &= (step[1:] == step[:-1]) & (left[1:] >= 0) & (left[:-1] >= 0)
    return float(np.mean(np.abs(np.diff(place))[pair] == 1)) if pair.any() else None


def _tables(settings: RunSettings) -> dict[str, EventTable]:
    recipe = Recipe(events=500, actors=60, targets=50, bots=0) if settings.tiny else RECIPES["forum"]
    made = synthesize(recipe, settings.seed)
    return {
        "made-up forum": event_table(actor=made.actor, target=made.target, time=made.time),
        **{name: table_of(read) for name, read in real_tables(settings, "qa_forum").items()},
    }


def _backlog_chart(tables: dict[str, EventTable]) -> Chart:
    backlogs = {name: _backlog(table) for name, table in tables.items()}
    rows = [
        {"line": name, "step": int(i), "backlog": int(backlog[i])}
        for name, backlog in backlogs.items()
        for i in np.unique(np.linspace(0, len(backlog) - 1, 200).astype(int))
    ]
    return line_chart(
        rows,
        x=("step", {"axis": {"title": "steps in which something arrived", "tickCount": 5}}),
        y=("backlog", {"axis": {"title": "comments that wait (Algorithm 4)"}}),
    )


def _says(exact: Table, worst: Table, traffic: Table) -> list[str]:
    batch, independent, person, nats = (np.array(exact.column(name)) for name in exact.header)
    most = int(np.argmax(person.astype(float)))
    as_proved = all(row[0] == row[1] and row[2] == "yes" for row in worst.rows)
    return [
        (
            "Under the paper's assumptions the queue is as good as proved: outputs with and without "
            f"batches differ by exactly {independent.astype(float).max():g}, and with an arrival in every "
            f"step the longest delay {'is' if as_proved else 'is not'} the number of batched comments, "
            "in order."
        ),
        (
            "But the proof draws the members of a batch independently, so not by one person. One "
            f"person's batches change the outputs: by {person[most]:.3f} in total variation and up to "
            f"{nats[most]:.2f} nats (batches at step {batch[most]}), where perfect privacy says 0. These "
            f"figures are those of a toy: {len(set(PAPERS.values()))} reviewers, {len(PAPERS)} papers that "
            f"are equally likely, {STEPS} steps."
        ),
        *(_history_says(*rows) for rows in zip(traffic.rows[::2], traffic.rows[1::2], strict=True)),
    ]


def _history_says(paper: Sequence[Cell], slots: Sequence[Cell]) -> str:
    """What the two queues do to one history."""
    name, _, mean, longest, stuck, beside = paper
    hours, slot_beside = slots[2], slots[5]
    sentence = (
        f"In traffic with quiet steps ({name}) the backlog never shrinks: a comment waits {mean:,.0f} "
        f"hours on average and {longest:,.0f} at most, and {stuck:,} are never released. A slot queue "
        f"with slots of {STEP_S} s keeps order too and takes {60 * float(hours or 0):,.1f} minutes on "
        "average."
    )
    if slot_beside is None:  # a slot queue releases everything
        return f"{sentence} Nobody moved within a step."
    share = "none" if beside is None else f"{beside:.0%}"
    return (
        f"{sentence} Of one person's moves within a step {share} leave side by side in the paper's queue "
        f"and {slot_beside:.0%} in the slot queue."
    )


def find(settings: RunSettings) -> Finding:
    """Enumerate the queue's outputs, time its delays, and run it over real traffic.

    >>> find(RunSettings(tiny=True)).name
    'queue'
    """
    exact = _exact(BATCHES[:2] if settings.tiny else BATCHES)
    worst = _worst(settings.seed, (0, 1, 5) if settings.tiny else (0, 1, 5, 20, 100))
    tables = _tables(settings)
    traffic = _traffic(tables, settings.seed)
    return Finding(
        name="queue",
        title=TITLE,
        says=_says(exact, worst, traffic),
        tables={"exact": exact, "worst": worst, "traffic": traffic},
        charts={"backlog": _backlog_chart(tables)},
    )


# --- the two queues -------------------------------------------------------------------------------

# Both keep the order of arrival, so neither keeps the promise of `promise`: it tells who came first.

Post = TypeVar("Post", bound=Hashable)


def paper_queue(arrivals: Sequence[Sequence[Post]], entropy: Entropy) -> list[Post | None]:
    """Algorithm 4 as printed: each step in which something arrives posts exactly one comment.

    `arrivals[t]` are the comments of step t. The paper proves that the outputs with and without
    batches are equally distributed, assuming that one comment arrives in every step and that the
    members of a batch are drawn independently, so not by one person. In real traffic neither holds:
    members of a batch leave next to each other, a step without arrivals posts nothing, and the
    backlog never shrinks.

    >>> from tarry.core.entropy import Secure
    >>> paper_queue([["a"], ["b"], ["c"]], Secure())
    ['a', 'b', 'c']
    """
    queue: deque[Post] = deque()
    posted: list[Post | None] = []
    for step in arrivals:
        queue.extend(_shuffled(step, entropy))
        posted.append(queue.popleft() if step else None)
    return posted


def slot_releases(arrivals: Sequence[int], slot: int) -> list[int]:
    """Release ticks of posts whose arrival ticks are given in order of admission: one in each slot.

    The length of a slot is public. Promise: streams with the same order of posts that keep the same
    slots busy give identical outputs. Nothing more: members of a batch leave next to each other, and in
    light traffic a post leaves in the slot after its arrival.

    >>> slot_releases([5, 6, 200], slot=60)
    [60, 120, 240]
    """
    require(slot >= 1, f"a slot must have at least 1 tick, not {slot}")
    first_ones = (-(-arrival // slot) for arrival in arrivals)
    taken = accumulate(first_ones, lambda before, first: max(before + 1, first))
    return [place * slot for place in taken]


def _shuffled(posts: Sequence[Post], entropy: Entropy) -> list[Post]:
    """The posts in random order: Fisher and Yates, with exact draws."""
    left = list(posts)
    for i in range(len(left) - 1, 0, -1):
        j = entropy.randbelow(i + 1)
        left[i], left[j] = left[j], left[i]
    return left
