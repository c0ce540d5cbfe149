"""Events as a Parquet table, in memory that does not grow with it; needs the study extra."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from queue import Full, Queue

import polars as pl
from polars.io.plugins import register_io_source

from tarry.readers.events import Event

__all__ = ["write_table"]

_AT_ONCE = 20_000  # events that a table takes in one go
_ROWS = 200_000  # in a group of a table's rows
_LOOK_S = 0.1  # how often somebody who waits for room looks whether there is anybody left to make it
_KINDS = {"time": pl.Int64(), "is_bot": pl.Boolean()}


def write_table(events: Iterator[Event], path: Path, columns: tuple[str, ...]) -> None:
    """Write some columns of events. Times are numbers here; the file says their unit.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_table(iter([Event("ann", "p 1", 5)]), Path(folder, "events"), ("actor", "time"))
    ...     pl.read_parquet(Path(folder, "events")).rows()
    [('ann', 5)]
    """
    writer = _Writer(path, columns)
    try:
        while not writer.is_done and (some := list(islice(events, _AT_ONCE))):
            writer.put(some)
    finally:
        writer.end()
    if writer.failed:
        raise writer.failed[0]


class _Writer:
    """A thread in which the library writes, while the caller reads.

    The library takes rows in threads of its own, and a program hears no signal before its call is done. If
    it also read the export, nobody could stop that, least of all where it waits for a pipe.
    """

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self._path = path
        self._schema = {name: _KINDS.get(name, pl.String()) for name in columns}
        self._batches: Queue[list[Event]] = Queue(maxsize=1)
        self._done = threading.Event()
        self.failed: list[BaseException] = []
        threading.Thread(target=self._write, daemon=True).start()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def put(self, some: list[Event]) -> None:
        """Hand some events over, as soon as there is room; none are the end."""
        while not self.is_done:
            with suppress(Full):
                self._batches.put(some, timeout=_LOOK_S)
                return

    def end(self) -> None:
        self.put([])
        self._done.wait()

    def _write(self) -> None:
        try:
            table = register_io_source(self._frames, schema=self._schema)
            table.sink_parquet(self._path, metadata={"time_unit": "us"}, row_group_size=_ROWS)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.failed.append(error)
        finally:
            self._done.set()

    def _frames(self, *_: object) -> Iterator[pl.DataFrame]:
        while some := self._batches.get():
            values = dict(zip(Event._fields, zip(*some, strict=True), strict=True))
            yield pl.DataFrame({name: values[name] for name in self._schema}, schema=self._schema)
