"""Patience: a store that is away is waited for, and spoken of twice."""

import threading

import pytest

from tarry.keep.errors import Unavailable
from tarry.keep.patience import Patience


class NoWaiting(threading.Event):
    """Waits for nothing, and remembers for how long it was asked to."""

    def __init__(self, stop_after: int = 10**6) -> None:
        super().__init__()
        self.waits: list[float] = []
        self._stop_after = stop_after

    def wait(self, timeout: float | None = None) -> bool:
        """Says whether it is time to stop."""
        self.waits.append(timeout)
        return len(self.waits) >= self._stop_after


def away(times):
    """A step that fails so many times before it answers."""
    left = iter(range(times))

    def step():
        if next(left, None) is not None:
            raise Unavailable("the store cannot be used: gone")
        return "here"

    return step


def test_a_step_that_works_is_not_spoken_of():
    """Where nothing is wrong nothing is said, and nobody waits."""
    told, waiting = [], NoWaiting()

    assert Patience(waiting, told.append)(away(0)) == "here"
    assert (told, waiting.waits) == ([], [])


def test_a_store_that_comes_back_is_told_once_each_way():
    """However often a step is tried, its trouble is told once, and its end once."""
    told = []

    assert Patience(NoWaiting(), told.append)(away(9)) == "here"
    assert told == ["the store cannot be used: gone; waiting for it to come back", "the store is back"]


def test_it_waits_longer_and_longer_up_to_sixteen_seconds():
    """Each wait is up to twice as long as the one before, and none is above sixteen seconds."""
    waiting = NoWaiting()
    Patience(waiting, lambda _: None)(away(20))

    assert len(waiting.waits) == 20
    for number, wait in enumerate(waiting.waits):
        most = min(16, 2**number)
        assert most / 2 <= wait <= most


def test_told_to_stop_it_gives_up():
    """A keeper that is told to stop does not wait for its store."""
    assert Patience(NoWaiting(stop_after=3), lambda _: None)(away(100)) is None


def test_other_errors_are_not_waited_out():
    """What is no trouble of the store is not tried again."""

    def broken():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Patience(NoWaiting(), lambda _: None)(broken)
