"""The engine `stream`: slices on disk, a pool of processes, finished parts that outlive a killed run."""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from ctypes import CDLL
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.core.errors import NotPossible
from tarry.core.lanes import IntArray
from tarry.study.audit import Stages
from tarry.study.pairs import one_after_another
from tarry.study.parts.budget import KEPT
from tarry.study.parts.engine import Looked, Task, bucket_of
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.scratch import Scratch
from tarry.study.parts.slices import SORTED, Slices, keep_columns, store_slice
from tarry.study.source import SourceAccount

__all__ = ["BUCKETS", "Streaming", "settle"]

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
    found: Looked = task.look(slices.part(number, task.before, task.after))
    scratch = Scratch(slices.folder)
    keep_columns(slices, number, found.columns, KEPT)
    begins = {family: _keep(scratch, name, number, family, rows) for family, rows in found.rows.items()}
    scratch.write(_slice_name(name, number), {"partial": found.partial.to_json(), "begins": begins})
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
