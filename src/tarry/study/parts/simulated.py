"""A replayed history of any size, row by row as it was given: released in slices, put back in its order."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.study.exact_sums import total
from tarry.study.parts.ordering import Ordered, open_batches, ordered, sort_database
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.resources import Resources, budget_for, events_of
from tarry.study.parts.scratch import Scratch, scratch_for
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.replay import check_added, replay
from tarry.study.table import EventTable

__all__ = ["SimulatedByParts", "simulate_streamed"]

_SORTED, _LINES = "sorted.parquet", "lines.parquet"
_FIRST, _LAST = -(1 << 61), 1 << 61  # before and after every moment
_ORDER = ("actor", "time", "target", "declared", "track")
_AT_ONCE = 500_000  # rows that are written at once


@dataclass(frozen=True, kw_only=True)
class SimulatedByParts:
    """What the delays came to.

    >>> SimulatedByParts(events=4, batched=1, waits=8_000_000, longest=0, read=None).mean_s
    2.0
    """

    events: int
    batched: int
    waits: int  # microseconds, all together
    longest: int  # microseconds
    read: Ordered  # how the history was read, and what was left out

    @property
    def batched_share(self) -> float:
        """Of the events."""
        return self.batched / self.events

    @property
    def mean_s(self) -> float:
        """The mean delay."""
        return self.waits / (self.events * MICROSECONDS)

    @property
    def longest_s(self) -> float:
        """The longest delay."""
        return self.longest / MICROSECONDS


@dataclass(frozen=True, kw_only=True)
class _Release:
    """Releases the events of a slice, in any process."""

    folder: Path
    policy: Policy
    seed: int
    draw: int
    most_rows: int

    def events(self, start: int, end: int) -> EventTable:
        """Those with start <= time < end."""
        inside = (pl.col("time") >= max(start, _FIRST)) & (pl.col("time") < min(end, _LAST))
        frame = pl.scan_parquet(self.folder / _SORTED).filter(inside).collect()
        if len(frame) > self.most_rows:
            raise NotPossible(
                f"a part of this history has {len(frame):,} events, since labels look far, and "
                f"{self.most_rows:,} fit: give more --memory"
            )
        frame = frame.sort([name for name in _ORDER if name in frame.columns], maintain_order=True)
        columns: dict[str, Any] = {name: frame[name].to_numpy() for name in frame.columns}
        return EventTable(row=columns.pop("line"), **columns)

    def counts(self, start: int, end: int) -> Partial:
        """What the policy must know before it is replayed."""
        return Partial(sums=replay(self.policy).remarkable(self.events(start, end)))

    def release(self, number: int, start: int, end: int) -> Partial:
        """Write when each event of a slice appears; and what that comes to."""
        practice = replay(self.policy)
        table = self.events(start - practice.looks(), end + practice.looks())
        own = (table.time >= start) & (table.time < end)
        shown = practice.show(table.history, Seeded(self.seed, self.draw))
        released = pl.DataFrame({"line": table.row, "release": shown.release, "batched": shown.batched})
        with Scratch(self.folder).whole(f"released-{number:06d}.parquet") as draft:
            released.filter(own).write_parquet(draft, compression="lz4")
        waits = (shown.release - table.time)[own]
        batched = 0 if shown.batched is None else int(shown.batched[own].sum())
        return Partial(
            sums={"events": len(waits), "batched": batched, "waits": total(waits)},
            most={"longest": int(waits.max(initial=0))},
        )


def simulate_streamed(
    path: Path,
    output: Path,
    question: Question,
    policy: Policy,
    resources: Resources,
    *,
    draw: int = 0,
) -> SimulatedByParts:
    """As `simulate`, from one file to another, within the given memory; the question says how to read it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, output = Path(folder) / "acts.parquet", Path(folder) / "released.parquet"
    ...     frame = pl.DataFrame({"user": ["a", "a"], "page": ["p", "q"], "time": [0, 1]})
    ...     frame.write_parquet(path)
    ...     asked, policy = Question(practices=[], time_unit="s"), Policy(epsilon="1", gap="11m")
    ...     answer = simulate_streamed(path, output, asked, policy, Resources(engine="stream", jobs=1))
    ...     answer.batched, pl.read_parquet(output).columns
    (2, ['user', 'page', 'time', 'release', 'batched'])
    """
    events = events_of(path)
    if events is None:
        raise BadInput(
            f"the engine stream reads Parquet files (.parquet), and {path.name!r} is none",
            "write the history as Parquet first, or use the engine memory",
        )
    schema = pl.scan_parquet(path).collect_schema()
    check_added(schema.names())
    if output.suffix == ".csv" and (nested := [kind for kind in schema.dtypes() if kind.is_nested()]):
        raise BadInput(
            f"a CSV file cannot hold the {len(nested)} columns with lists or objects in them",
            "write .parquet, .jsonl or .arrow",
        )
    budget = budget_for(events, memory=resources.bytes, jobs=resources.processes)
    if resources.say is not None:
        resources.say(f"{events:,} rows {budget.sentence}")
    state = path.stat()
    name = (
        f"{version('tarry')} simulate {path.resolve()} {state.st_size} {state.st_mtime_ns} {policy} {draw}"
    )
    with scratch_for(f"{name} {vars(question)}", resources.scratch) as scratch:
        batches = open_batches(path, question, lines=True)
        read = ordered(batches, question, scratch, budget.memory // 2, budget.jobs)
        release = _Release(
            folder=scratch.folder,
            policy=policy,
            seed=question.seed,
            draw=draw,
            most_rows=budget.most_rows,
        )
        edges = list(pairwise([_FIRST, *_cuts(scratch.path(_SORTED), budget.rows), _LAST]))
        if policy.deadline_tick is not None:
            replay(policy).check(merged(release.counts(*edge) for edge in edges).sums)
        answer = merged(_released(release, edges, budget.jobs))
        _in_order(scratch, budget.memory // 2)
        _write(path, scratch, output)
    names = ("events", "batched", "waits")
    return SimulatedByParts(
        **{name: answer.sums[name] for name in names}, longest=answer.most["longest"], read=read
    )


def _cuts(path: Path, rows: int) -> list[int]:
    """Moments that cut into slices of about so many rows."""
    scan = pl.scan_parquet(path).select("time")
    count = int(scan.select(pl.len()).collect().item())
    return sorted({int(scan.slice(place, 1).collect().item()) for place in range(rows, count, rows)})


def _released(release: _Release, edges: Sequence[tuple[int, int]], jobs: int) -> Iterator[Partial]:
    calls = [(number, *edge) for number, edge in enumerate(edges)]
    if jobs == 1 or len(calls) == 1:
        yield from (release.release(*call) for call in calls)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(release.release, *zip(*calls, strict=True))


def _in_order(scratch: Scratch, memory: int) -> None:
    """All releases by the row of their event."""
    with sort_database(scratch.folder, memory) as base, scratch.whole(_LINES) as draft:
        released = base.read_parquet(str(scratch.path("released-*.parquet")))
        released.order("line").write_parquet(str(draft))
    scratch.drop("released-")


def _write(path: Path, scratch: Scratch, output: Path) -> None:
    """Every row that was released, with its two columns more; some rows at a time."""
    given, lines = pl.scan_parquet(path), pl.scan_parquet(scratch.path(_LINES))
    rows = int(given.select(pl.len()).collect().item())
    for first in range(0, rows, _AT_ONCE):
        inside = (pl.col("line") >= first) & (pl.col("line") < first + _AT_ONCE)
        released = lines.filter(inside).collect()
        some = given.slice(first, _AT_ONCE).collect()[released["line"] - first]
        some.with_columns(released["release"], released["batched"]).write_parquet(
            scratch.path(f"piece-{first:015d}.parquet"), compression="lz4"
        )
    pieces = pl.scan_parquet(sorted(scratch.folder.glob("piece-*.parquet")))
    sinks: dict[str, Any] = {
        ".parquet": pieces.sink_parquet,
        ".csv": pieces.sink_csv,
        ".jsonl": pieces.sink_ndjson,
        ".arrow": pieces.sink_ipc,
    }
    sinks[output.suffix](output, maintain_order=True)
