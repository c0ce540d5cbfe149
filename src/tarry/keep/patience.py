"""Patience: a step is tried again and again while the store is away."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from tarry.core.entropy import Secure
from tarry.keep.clock import MICROS
from tarry.keep.errors import Unavailable
from tarry.keep.releaser import retry_delay

__all__ = ["Patience"]

_BRIEFLY_S = 0.1
_DOUBLINGS = 5  # of the wait: at most sixteen seconds
T = TypeVar("T")


class Patience:
    """Says once that the store is away and once that it is back.

    >>> patience = Patience(threading.Event(), print)
    >>> patience(lambda: 7)
    7
    """

    def __init__(self, stopping: threading.Event, tell: Callable[[str], None]) -> None:
        self._stopping, self._tell = stopping, tell
        self._entropy = Secure()

    def __call__(self, step: Callable[[], T], *, insist_s: float = 0.0) -> T | None:
        """The answer of a step, or None when told to stop before there is one.

        With `insist_s` it goes on for so long although it was told to stop.
        """
        tries, end = 0, time.monotonic() + insist_s
        while True:
            try:
                answer = step()
            except Unavailable as trouble:
                if not tries:
                    self._tell(f"{trouble}; waiting for it to come back")
                tries += 1
                delay = retry_delay(min(tries, _DOUBLINGS), self._entropy)
                if self._stopping.wait(delay / MICROS):
                    if time.monotonic() >= end:
                        return None
                    time.sleep(_BRIEFLY_S)
            else:
                if tries:
                    self._tell("the store is back")
                return answer
