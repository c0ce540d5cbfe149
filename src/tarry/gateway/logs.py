"""What a gateway writes down for its operator: one JSON object a line, and nothing at an arrival.

`EVENTS` is all there is. None of them happens because somebody has posted, asked or looked: they come from
starting and stopping, from the keeper's own clock and deliveries, and once an hour from a count of what has
broken. No line holds an address, a path, a header or a name of anybody.
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

__all__ = ["EVENTS", "Event", "Log", "Mishaps", "place_of"]

#: Everything that may be logged:
#: started    it listens, with the operator's own address; or a worker has begun
#: keeper     what the keeper says: outages of the store, ticks that were missed, deliveries that failed
#: store      the store is away, or back, as the once-a-second look at the book has found
#: mishap     something broke: which error, where in the code, how often in the hour that is over
#: stopping   it was told to end, or a part of it broke
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
            raise ValueError(f"{event!r} is not on the list of what may be logged")
        line = json.dumps({"time": self._now(), "event": event, "detail": detail})
        with self._turn:
            try:
                print(line, file=self._stream, flush=True)
            except (OSError, ValueError):  # nobody reads: no reason to stop releasing
                return

    def keeper(self, sentence: str) -> None:
        """What a keeper says."""
        self("keeper", sentence)


class Mishaps(logging.Handler):
    """Counts what libraries complain about, and tells it after the hour.

    A request that breaks something is told at once by nobody: the line would show when it came. What is
    counted is the kind of the error and the place in the code; texts may hold what somebody has sent.

    >>> mishaps = Mishaps(Log(sys.stdout, now=lambda: "12:00"), hour=lambda: 7)
    >>> mishaps.handle(logging.makeLogRecord({"name": "uvicorn.error", "levelno": logging.ERROR}))
    True
    >>> mishaps.tell(last=True)
    {"time": "12:00", "event": "mishap", "detail": "1 x ERROR of uvicorn.error"}
    """

    def __init__(self, log: Log, hour: Callable[[], int] = lambda: int(time.time()) // _HOUR_S) -> None:
        super().__init__(logging.WARNING)
        self._log, self._hour_now = log, hour
        self._hour, self._counts = hour(), Counter[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Count it."""
        self._counts[f"{logging.getLevelName(record.levelno)} of {record.name}{_error_of(record)}"] += 1

    def note(self, what: str) -> None:
        """Count something that is told in words of our own."""
        self.acquire()
        self._counts[what] += 1
        self.release()

    def tell(self, *, last: bool = False) -> None:
        """Tell what has broken in an hour that is over, or so far if this is the last chance."""
        if not last and self._hour_now() == self._hour:
            return
        self.acquire()
        counts, self._counts, self._hour = self._counts, Counter(), self._hour_now()
        self.release()
        for what, count in sorted(counts.items()):
            self._log("mishap", f"{count} x {what}")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear every logger, in place of whoever has heard them."""
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        root.handlers[:] = [self]
        root.setLevel(logging.WARNING)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


def place_of(trace: TracebackType | None) -> str:
    """Where in the code an error was raised: never what it says.

    >>> place_of(None)
    ''
    """
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _error_of(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    return f": {record.exc_info[0].__name__}{place_of(record.exc_info[2])}"
