"""The engine `stream`: slices on disk, a pool of processes, finished parts that outlive a killed run."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from ctypes import CDLL
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import uuid4

import numpy as np

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import IntArray
from tarry.study.audit import Report, Stages
from tarry.study.pairs import one_after_another
from tarry.study.parts.engine import Engine, Looked, Task, bucket_of
from tarry.study.parts.ordering import open_batches, ordered
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.report import audit_by_parts, check_by_parts
from tarry.study.parts.resources import KEPT, Resources, RunSize, budget_for, events_of
from tarry.study.parts.scratch import Scratch, scratch_for
from tarry.study.parts.slices import SORTED, Slices, frame_of, keep_columns, store_slice
from tarry.study.question import Question
from tarry.study.source import SourceAccount, read_source
from tarry.study.table import EventTable

__all__ = ["BUCKETS", "Streaming", "audit_streamed", "opened", "settle", "streaming"]

#: Rows of a family are dealt into so many buckets; buckets with few rows are reduced together.
BUCKETS = 256
_FEW_ROWS = 500_000
# What mallopt(3) calls them: bytes of free memory that a process keeps, bytes of what is mapped by itself.
_KEEP_FREE, _OWN_MAPPING = -1, -3


@dataclass(kw_only=True)
class Streaming:
    """Runs tasks over slices on disk. Use it with `with`: it has processes.

    >>> Streaming.__name__
    'Streaming'
    """

    slices: Slices
    scratch: Scratch
    jobs: int = 1
    most_rows: int = 1 << 62  # of one part
    reading: SourceAccount = field(default_factory=SourceAccount)
    notes: Sequence[str] = ()
    progress: Stages | None = None  # called with the pass, and its slices: done, all
    _pass: int = 0
    _pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._pool = ProcessPoolExecutor(
            self.jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(self.slices,)
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, task: Task) -> Partial:
        """Every slice that is not finished yet, then every bucket."""
        name = f"pass-{self._pass:04d}"
        self._pass += 1
        if (done := self.scratch.read(f"{name}.json")) is not None:
            return Partial.from_json(done["partial"])
        self._check_sizes(task)
        self._store()
        sent = pickle.dumps(task)
        numbers = range(len(self.slices.edges))
        left = [number for number in numbers if self.scratch.read(_slice_name(name, number)) is None]
        self._all([(_look, (name, number, sent)) for number in left], f"pass {self._pass}")
        kept = [self.scratch.read(_slice_name(name, number)) or {} for number in numbers]
        rows = _bucket_rows(name, kept)
        reduced = self._all([(_reduce, (each, sent)) for each in rows])
        texts = [*(each["partial"] for each in kept), *reduced]
        partial = merged(Partial.from_json(text) for text in texts)
        self.scratch.write(f"{name}.json", {"partial": partial.to_json()})
        self.scratch.drop(f"{name}-")
        return partial

    def _store(self) -> None:
        """Take all slices out of the sorted history, which then is not needed any more."""
        if (whole := self.scratch.path(SORTED)).exists():
            numbers = range(len(self.slices.edges))
            self._all([(_store, (number,)) for number in numbers], "slices")
            whole.unlink()

    def _check_sizes(self, task: Task) -> None:
        """Refuse a task whose parts would not fit."""
        if task.before + task.after == 0:
            return
        for number in range(len(self.slices.edges)):
            size = self.slices.size(number, task.before, task.after)
            if size > self.most_rows:
                raise NotPossible(
                    f"a part of this history has {size:,} events, since delays and cutoffs reach far, and "
                    f"{self.most_rows:,} fit: give more --memory, shorter delays or shorter --cutoffs"
                )

    def _all(self, calls: Sequence[tuple[Callable[..., str], Any]], what: str = "") -> list[str]:
        if self._pool is None:
            raise RuntimeError("a stream runs inside `with`")
        futures: list[Future[str]] = [self._pool.submit(call, *arguments) for call, arguments in calls]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            if self.progress is not None and what:
                self.progress(what, done, len(futures))
        return [future.result() for future in futures]


def _slice_name(name: str, number: int) -> str:
    return f"{name}-{number:05d}.json"


def _rows_name(name: str, number: int, family: str) -> str:
    return f"{name}-{number:05d}-{family.replace('/', '-')}.npy"


class _Rows(NamedTuple):
    """Some whole buckets of one family: where their rows are in the file of each slice."""

    family: str
    files: Sequence[tuple[str, int, int]]  # name, first row, one past the last


def _bucket_rows(name: str, kept: Sequence[dict[str, Any]]) -> Iterator[_Rows]:
    """The buckets of each family, as many at a time as have few rows together."""
    for family in sorted({family for each in kept for family in each["begins"]}):
        files = [
            (_rows_name(name, number, family), each["begins"][family])
            for number, each in enumerate(kept)
            if family in each["begins"]
        ]
        ends = np.sum([begins for _, begins in files], axis=0)  # rows up to each bucket
        cuts = [0]
        while cuts[-1] < BUCKETS:
            last = int(np.searchsorted(ends, ends[cuts[-1]] + _FEW_ROWS, side="right")) - 1
            cuts.append(min(max(last, cuts[-1] + 1), BUCKETS))
            first, last = cuts[-2:]
            yield _Rows(family, [(file, begins[first], begins[last]) for file, begins in files])


# --- in a process of the pool ---------------------------------------------------------------------

_SLICES: list[Slices] = []


def _begin(slices: Slices) -> None:
    settle()
    _SLICES[:] = [slices]


def settle() -> None:
    """Make this process one of several that count slices: each has one processor, and its own memory.

    Counting makes and frees columns again and again. Giving them back to the system each time, to be
    handed the same pages once more, cost a quarter of the work.

    >>> settle.__name__
    'settle'
    """
    os.environ["POLARS_MAX_THREADS"] = "1"
    one_after_another()
    with suppress(AttributeError, OSError):  # not every system's library of C can be asked
        library = CDLL(None)
        for setting, size in ((_KEEP_FREE, 1 << 28), (_OWN_MAPPING, 1 << 25)):
            library.mallopt(setting, size)


def _store(number: int) -> str:
    store_slice(_SLICES[0], number)
    return ""


def _look(name: str, number: int, sent: bytes) -> str:
    """Count one part, and keep what came of it; the rows by bucket, in files of their own."""
    [slices] = _SLICES
    task: Task = pickle.loads(sent)  # noqa: S301 - from our own process
    looked: Looked = task.look(slices.part(number, task.before, task.after))
    scratch = Scratch(slices.folder)
    keep_columns(slices, number, looked.columns, KEPT)
    begins = {family: _keep(scratch, name, number, family, rows) for family, rows in looked.rows.items()}
    scratch.write(_slice_name(name, number), {"partial": looked.partial.to_json(), "begins": begins})
    return ""


def _keep(scratch: Scratch, name: str, number: int, family: str, rows: IntArray) -> list[int]:
    """Write rows by bucket; where each bucket begins, and the end."""
    bucket = bucket_of(rows[:, 0], BUCKETS).astype(np.uint16)
    with scratch.whole(_rows_name(name, number, family)) as draft, draft.open("wb") as file:
        np.save(file, rows[np.argsort(bucket, kind="stable")])
    begins: list[int] = [0, *np.cumsum(np.bincount(bucket, minlength=BUCKETS)).tolist()]
    return begins


def _reduce(rows: _Rows, sent: bytes) -> str:
    """All rows of some buckets, from every slice."""
    task: Task = pickle.loads(sent)  # noqa: S301 - from our own process
    scratch = Scratch(_SLICES[0].folder)
    parts = [
        np.array(np.load(scratch.path(file), mmap_mode="r")[first:last]) for file, first, last in rows.files
    ]
    return task.reduce(rows.family, np.concatenate(parts)).to_json()


# --- from a file or a table to the report -----------------------------------------------------------


def audit_streamed(
    source: Any, question: Question, resources: Resources, progress: Stages | None = None
) -> Report:
    """The report, within the given memory.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> question = Question(practices=["nothing"], different=False)
    >>> audit_streamed(table, question, Resources(engine="stream", jobs=1)).linked_pairs
    1
    """
    check_by_parts(question)
    with streaming(source, question, resources, progress=progress) as engine:
        return audit_by_parts(engine, question)


@contextmanager
def streaming(
    source: Any,
    question: Question,
    resources: Resources,
    what: str = "audit",
    progress: Stages | None = None,
) -> Iterator[Streaming]:
    """A history in slices, read as the question says.

    `what` is done with it, in words that tell it from all else: a killed run goes on in the same one.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> with streaming(table, Question(), Resources(engine="stream", jobs=1)) as engine:
    ...     engine.reading.rows
    3
    """
    events = events_of(source)
    if isinstance(source, str | Path):
        if events is None:
            raise BadInput(
                f"the engine stream reads Parquet files (.parquet), and {Path(source).name!r} is none",
                "write the history as Parquet first, or use the engine memory",
            )
        name = _file_name(Path(source))
    else:
        account, source = read_source(source, question)
        events, name = len(source), f"table {uuid4()}"
    draws = sum(question.draws if practice.draws else 1 for practice in question.practices)
    budget = budget_for(events, memory=resources.bytes, jobs=resources.processes, draws=draws)
    if resources.say is not None:
        resources.say(f"{events:,} rows {budget.sentence}")
    name = f"{version('tarry')} {what} {name} {_question_name(question)}"
    with scratch_for(name, resources.scratch) as scratch:
        if isinstance(source, EventTable):
            _write(source, scratch)
            notes = source.notes
        else:
            batches = open_batches(Path(source), question)
            history = ordered(batches, question, scratch, budget.memory // 2, budget.jobs)
            account, notes = history.account, history.left_out
        with Streaming(
            slices=_slices(scratch, budget),
            scratch=scratch,
            jobs=budget.jobs,
            most_rows=budget.most_rows,
            reading=account,
            notes=notes,
            progress=progress,
        ) as engine:
            yield engine


def _write(table: EventTable, scratch: Scratch) -> None:
    if scratch.read("cuts.json") is not None:
        return
    with scratch.whole(SORTED) as draft:
        frame_of(table).write_parquet(draft)


def _slices(scratch: Scratch, budget: RunSize) -> Slices:
    """Where the first run of these cut, so that what is finished still fits."""
    if (kept := scratch.read("cuts.json")) is not None:
        return Slices(folder=scratch.folder, **kept)
    slices = Slices.cut(scratch.folder, budget.rows, budget.jobs)
    scratch.write("cuts.json", {name: value for name, value in vars(slices).items() if name != "folder"})
    return slices


def _file_name(path: Path) -> str:
    """Which file it is, and in which state."""
    try:
        state = path.stat()
    except OSError:
        return str(path)
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"


def _question_name(question: Question) -> str:
    """All that an answer depends on: another question is another run."""
    plain = {name: value for name, value in vars(question).items() if name != "attacks"}
    return f"{plain} {[method.name for method in question.attacks]}"


@contextmanager
def opened(source: Any, question: Question, resources: Resources, what: str) -> Iterator[Engine]:
    """The history in slices, by the engine stream or spark, read as the question says.

    `what` is done with it, in words that tell it from all else.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "b"], target=[1, 2], time=[0, 60_000_000])
    >>> with opened(table, Question(), Resources(engine="stream", jobs=1), "nothing") as engine:
    ...     engine.reading.rows
    2
    """
    if resources.engine == "spark":
        from tarry.study.parts.spark.engine import on_spark  # noqa: PLC0415 - an extra of its own

        with on_spark(
            source, question, master=resources.spark_master, remote=resources.spark_remote
        ) as engine:
            yield engine
        return
    with streaming(source, question, resources, what) as engine:
        yield engine
