"""The log of a gateway, for its operator: one JSON object a line, and nothing at an arrival.

`EVENTS` lists everything that may be logged. None of them is caused by a post, a request or a reader: they
come from starting and stopping, from the keeper's clock and deliveries, and once an hour from a count of
errors. No line holds an address, a path, a header or anybody's name.
"""

import json
import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal, TextIO, get_args

__all__ = ["EVENTS", "ErrorCounter", "Event", "Log", "code_location"]

#: Everything that may be logged:
#: started    it listens, with its address; or a worker has begun
#: keeper     from the keeper: outages of the store, ticks that were missed, deliveries that failed
#: store      the store is away, or back: the catalog is read once a second
#: mishap     an error: which kind, where in the code, how often in the hour that is over
#: stopping   it was told to stop, or a part of it broke
#: stopped    everything that was begun is done
Event = Literal["started", "keeper", "store", "mishap", "stopping", "stopped"]
EVENTS: tuple[Event, ...] = get_args(Event)
_HOUR_S = 3600


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Log:
    """Writes lines of JSON, each with the keys time, event and detail.

    >>> Log(sys.stdout, now=lambda: "2026-01-01T00:00:00.000Z")("stopped", "in good order")
    {"time": "2026-01-01T00:00:00.000Z", "event": "stopped", "detail": "in good order"}
    """

    def __init__(self, stream: TextIO | None = None, now: Callable[[], str] = _now) -> None:
        self._stream, self._now, self._turn = stream or sys.stderr, now, threading.Lock()

    def __call__(self, event: Event, detail: str = "") -> None:
        """Write one line."""
        if event not in EVENTS:
            raise ValueError(f"unknown event {event!r}: use one of {', '.join(EVENTS)}")
        line = json.dumps({"time": self._now(), "event": event, "detail": detail})
        with self._turn:
            try:
                print(line, file=self._stream, flush=True)
            except (OSError, ValueError):  # nobody reads: no reason to stop releasing
                return

    def keeper(self, sentence: str) -> None:
        """Write a line of the keeper."""
        self("keeper", sentence)


class ErrorCounter(logging.Handler):
    """Counts the warnings and errors of libraries, and logs the counts after the hour.

    A request that breaks something is not logged at once: the line would show when it came. What is counted
    is the kind of the error and the place in the code; texts may hold what somebody has sent.

    >>> errors = ErrorCounter(Log(sys.stdout, now=lambda: "12:00"), hour=lambda: 7)
    >>> errors.handle(logging.makeLogRecord({"name": "uvicorn.error", "levelno": logging.ERROR}))
    True
    >>> errors.log(last=True)
    {"time": "12:00", "event": "mishap", "detail": "1 x ERROR of uvicorn.error"}
    """

    def __init__(self, log: Log, hour: Callable[[], int] = lambda: int(time.time()) // _HOUR_S) -> None:
        super().__init__(logging.WARNING)
        self._log, self._hour_now = log, hour
        self._hour, self._counts = hour(), Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a record of `logging`."""
        self._counts[f"{logging.getLevelName(record.levelno)} of {record.name}{_error_of(record)}"] += 1

    def count(self, what: str) -> None:
        """Count an error that is described by us, without what was sent."""
        self.acquire()
        self._counts[what] += 1
        self.release()

    def log(self, *, last: bool = False) -> None:
        """Log the errors of an hour that is over, or those so far if this is the last chance."""
        if not last and self._hour_now() == self._hour:
            return
        self.acquire()
        counts, self._counts, self._hour = self._counts, Counter(), self._hour_now()
        self.release()
        for what, count in sorted(counts.items()):
            self._log("mishap", f"{count} x {what}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the records of every logger, in place of the handlers that are there."""
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        root.handlers[:] = [self]
        root.setLevel(logging.WARNING)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


def code_location(trace: TracebackType | None) -> str:
    """Where in the code an error was raised: never what it says.

    >>> code_location(None)
    ''
    """
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _error_of(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    return f": {record.exc_info[0].__name__}{code_location(record.exc_info[2])}"
