"""Patience: a step is tried again and again while the store is away."""

import threading
from collections.abc import Callable
from typing import TypeVar

from tarry.core.entropy import Secure
from tarry.keep.clock import MICROS
from tarry.keep.errors import Unavailable
from tarry.keep.releaser import retry_delay

__all__ = ["Patience"]

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

    def __call__(self, step: Callable[[], T]) -> T | None:
        """The answer of a step, or None when told to stop before there is one."""
        tries = 0
        while True:
            try:
                answer = step()
            except Unavailable as trouble:
                if not tries:
                    self._tell(f"{trouble}; waiting for it to come back")
                tries += 1
                delay = retry_delay(min(tries, _DOUBLINGS), self._entropy)
                if self._stopping.wait(delay / MICROS):
                    return None
            else:
                if tries:
                    self._tell("the store is back")
                return answer
