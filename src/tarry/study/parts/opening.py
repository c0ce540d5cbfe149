"""A history opened by the engine that is named: for whatever asks it by parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarry.study.parts.engine import Engine
from tarry.study.parts.resources import Resources
from tarry.study.question import Question

__all__ = ["opened"]


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
    from tarry.study.parts.streamed import streaming  # noqa: PLC0415 - likewise

    with streaming(source, question, resources, what) as engine:
        yield engine
