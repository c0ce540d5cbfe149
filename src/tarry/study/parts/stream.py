"""The engine `stream`: slices on disk, a pool of processes, finished parts that outlive a killed run."""

import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from tarry.core.errors import NotPossible
from tarry.core.lanes import IntArray
from tarry.study.audit import Stages
from tarry.study.parts.engine import Looked, Task, bucket_of
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.scratch import Scratch
from tarry.study.parts.slices import Slices
from tarry.study.source import SourceAccount

__all__ = ["BUCKETS", "Streaming"]

#: Rows of a family are dealt into so many buckets.
BUCKETS = 64


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
        self._pool = ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"))
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
        sent = pickle.dumps(task)
        numbers = range(len(self.slices.edges))
        left = [number for number in numbers if self.scratch.read(_slice_name(name, number)) is None]
        self._all([(_look, (self.slices, self.scratch.folder, name, number, sent)) for number in left])
        kept = [self.scratch.read(_slice_name(name, number)) or {} for number in numbers]
        families = sorted({family for each in kept for family in each["families"]})
        buckets = [
            _Bucket(name, family, number, len(kept)) for family in families for number in range(BUCKETS)
        ]
        reduced = self._all([(_reduce, (self.scratch.folder, each, sent)) for each in buckets], quiet=True)
        texts = [*(each["partial"] for each in kept), *reduced]
        partial = merged(Partial.from_json(text) for text in texts)
        self.scratch.write(f"{name}.json", {"partial": partial.to_json()})
        self.scratch.drop(f"{name}-")
        return partial

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

    def _all(self, calls: Sequence[tuple[Callable[..., str], Any]], *, quiet: bool = False) -> list[str]:
        if self._pool is None:
            raise RuntimeError("a stream runs inside `with`")
        futures: list[Future[str]] = [self._pool.submit(call, *arguments) for call, arguments in calls]
        for done, future in enumerate(as_completed(futures), start=1):
            future.result()
            if self.progress is not None and not quiet:
                self.progress(f"pass {self._pass}", done, len(futures))
        return [future.result() for future in futures]


def _slice_name(name: str, number: int) -> str:
    return f"{name}-{number:05d}.json"


def _begins_name(name: str, number: int) -> str:
    return f"{name}-{number:05d}-begins.json"


def _rows_name(name: str, number: int, family: str) -> str:
    return f"{name}-{number:05d}-{family.replace('/', '-')}.npy"


def _look(slices: Slices, folder: Path, name: str, number: int, sent: bytes) -> str:
    """Count one part, and keep what came of it; the rows by bucket, in files of their own."""
    task: Task = pickle.loads(sent)  # noqa: S301 - from our own process
    found: Looked = task.look(slices.part(number, task.before, task.after))
    scratch = Scratch(folder)
    begins = {family: _keep(scratch, name, number, family, rows) for family, rows in found.rows.items()}
    scratch.write(_begins_name(name, number), begins)
    scratch.write(_slice_name(name, number), {"partial": found.partial.to_json(), "families": [*begins]})
    return ""


def _keep(scratch: Scratch, name: str, number: int, family: str, rows: IntArray) -> list[int]:
    """Write rows by bucket; where each bucket begins, and the end."""
    bucket = bucket_of(rows[:, 0], BUCKETS)
    with scratch.whole(_rows_name(name, number, family)) as draft, draft.open("wb") as file:
        np.save(file, rows[np.argsort(bucket, kind="stable")])
    begins: list[int] = np.searchsorted(np.sort(bucket), np.arange(BUCKETS + 1)).tolist()
    return begins


class _Bucket(NamedTuple):
    """One bucket of one family, in all slices of a pass."""

    name: str
    family: str
    number: int
    slices: int


def _reduce(folder: Path, bucket: _Bucket, sent: bytes) -> str:
    """All rows of one bucket, from every slice."""
    task: Task = pickle.loads(sent)  # noqa: S301 - from our own process
    scratch, parts = Scratch(folder), []
    for number in range(bucket.slices):
        begins = (scratch.read(_begins_name(bucket.name, number)) or {}).get(bucket.family)
        if begins and begins[bucket.number] < begins[bucket.number + 1]:
            path = scratch.path(_rows_name(bucket.name, number, bucket.family))
            rows = np.load(path, mmap_mode="r")
            parts.append(np.array(rows[begins[bucket.number] : begins[bucket.number + 1]]))
    return (task.reduce(bucket.family, np.concatenate(parts)) if parts else Partial()).to_json()
