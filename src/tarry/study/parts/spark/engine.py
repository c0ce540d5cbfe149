"""The engine `spark`: slices and buckets are looked at on workers, and results merge in a tree."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from tarry.core.errors import BadInput
from tarry.readers.faults import clip
from tarry.study.audit import Report, Stages
from tarry.study.parts.cuts import slice_numbers
from tarry.study.parts.engine import Task
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.report import audit_by_parts, check_by_parts
from tarry.study.parts.spark import workers
from tarry.study.parts.spark.session import check_version, check_workers, spark_session, spoken
from tarry.study.parts.spark.source import Events, check_source, mapped, open_frame, read_spark, stated_unit
from tarry.study.question import Question
from tarry.study.source import SourceAccount

__all__ = ["Spark", "audit_on_spark", "on_spark", "slice_size"]

_SLICE = (20_000, 500_000)  # events of a slice: at least, at most
_LEAST_SLICES = 16
_MOST_BUCKETS = 1000
_GATHERED = 16  # partial results that one computer is given
_NO_CUTS = np.array([], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Spark:
    """Events on Spark before a task. A slice has about `most` events, with those around it.

    >>> Spark(events=Events(frame=None, reading=SourceAccount(rows=5), rhythm=None)).reading.rows
    5
    """

    events: Events
    most: int | None = None  # events of a slice; None: by their number

    @property
    def reading(self) -> SourceAccount:
        """How the table was read."""
        return self.events.reading

    @property
    def notes(self) -> Sequence[str]:
        """What was left out."""
        return self.events.notes

    def run(self, task: Task) -> Partial:
        """One pass: slices, then buckets, then the tree."""
        rhythm = self.events.rhythm
        most = self.most or slice_size(rhythm.events)
        sliced = workers.SlicedTask(task=task, cuts=_NO_CUTS, mark=workers.code_mark())
        cuts = rhythm.cuts(before=sliced.before, after=sliced.after, most=most)
        sliced = replace(sliced, cuts=cuts, buckets=min(len(cuts) + 1, _MOST_BUCKETS))
        return merged(workers.raised(_merged(self._looked(sliced), sliced).collect()))

    def _looked(self, sliced: workers.SlicedTask) -> Any:
        """What came of each slice. Blocks are sent to every slice that needs them, one slice at a time."""
        blocks, rhythm = self.events.frame, self.events.rhythm
        last = np.append(rhythm.start[1:], rhythm.end) - 1
        pairs = slice_numbers(rhythm.start, last, sliced.cuts, before=sliced.before, after=sliced.after)
        rows = list(zip(*(column.tolist() for column in pairs), strict=True))
        needed = blocks.sparkSession.createDataFrame(rows, "block int, slice int")
        dealt = blocks.join(needed, on="block").repartition(sliced.slices, "slice")
        gathered = dealt.sortWithinPartitions("slice").select("slice", "data")
        return mapped(gathered, partial(workers.look, sliced=sliced), workers.ANSWER)


def slice_size(events: int) -> int:
    """How many events a slice should have: some slices for each worker, and none too large.

    >>> slice_size(10**9), slice_size(10**6), slice_size(10)
    (500000, 62500, 20000)
    """
    least, most = _SLICE
    return min(max(events // _LEAST_SLICES, least), most)


def _merged(looked: Any, sliced: workers.SlicedTask) -> Any:
    """All rows of a bucket come together, are reduced, and are merged until few are left."""
    left = sliced.buckets
    gathered = looked.repartition(left, "bucket").sortWithinPartitions("bucket", "family", "width")
    answers = mapped(gathered, partial(workers.reduce, task=sliced.task), workers.ANSWER)
    while left > _GATHERED:
        left = ceil(left / _GATHERED)
        answers = mapped(answers.repartition(left), partial(workers.reduce, task=None), workers.ANSWER)
    return answers


def audit_on_spark(
    source: Any,
    question: Question,
    *,
    master: str | None = None,
    remote: str | None = None,
    progress: Stages | None = None,
) -> Report:
    """The report of Parquet files, of `table:NAME`, or of a frame of Spark's.

    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 5])
    >>> audit_on_spark(table, Question(practices=[]))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: Spark reads no EventTable: give Parquet files, table:NAME or a frame ...
    """
    check_by_parts(question)
    with on_spark(source, question, master=master, remote=remote) as engine:
        return audit_by_parts(engine, question, progress)


@contextmanager
def on_spark(
    source: Any, question: Question, *, master: str | None = None, remote: str | None = None
) -> Iterator[Spark]:
    """A history in slices on Spark, read as the question says.

    >>> with on_spark(7, Question()):
    ...     pass
    Traceback (most recent call last):
    tarry.core.errors.BadInput: Spark reads no int: give Parquet files, table:NAME or a frame of Spark's
    """
    if hasattr(source, "mapInArrow"):
        check_version(source.sparkSession)
        check_workers(source.sparkSession)
        with _sliced(source, question) as engine:
            yield engine
        return
    if not isinstance(source, str | Path):
        kind = type(source).__name__
        raise BadInput(f"Spark reads no {kind}", "give Parquet files, table:NAME or a frame of Spark's")
    check_source(source)
    with spark_session(master, remote) as session:
        with spoken(
            f"Spark cannot read {clip(str(source), 60)}", "check its name, and that Spark may read it"
        ):
            frame = open_frame(session, source)
            frame.schema  # noqa: B018 - a server looks for the files only when it is asked something
        with _sliced(frame, question, stated_unit(source)) as engine:
            yield engine


@contextmanager
def _sliced(frame: Any, question: Question, unit: str | None = None) -> Iterator[Spark]:
    with spoken("Spark has given up the work", "see the logs of its workers"):
        events = read_spark(frame, question, unit)
        try:
            yield Spark(events=events)
        finally:
            events.frame.unpersist()
