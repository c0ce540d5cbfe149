"""An audit by the engine `stream`, from a Parquet file or a table to the report."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from tarry.core.errors import BadInput
from tarry.study.audit import Report, Stages
from tarry.study.parts.budget import RunSize, budget_for
from tarry.study.parts.ordering import open_batches, ordered
from tarry.study.parts.refusals import check_by_parts
from tarry.study.parts.report import audit_by_parts
from tarry.study.parts.resources import Resources, events_of
from tarry.study.parts.scratch import Scratch, scratch_for
from tarry.study.parts.slices import SORTED, Slices, frame_of
from tarry.study.parts.stream import Streaming
from tarry.study.question import Question
from tarry.study.source import read_source
from tarry.study.table import EventTable

__all__ = ["audit_streamed", "streaming"]


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
            found = ordered(batches, question, scratch, budget.memory // 2, budget.jobs)
            account, notes = found.account, found.left_out
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
