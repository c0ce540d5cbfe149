"""The parts of a process end together."""

import threading

import pytest

from tarry.core.errors import NotPossible
from tarry.gateway.server import ThreadGroup
from tarry.keep.errors import Unavailable


def test_a_part_that_breaks_ends_the_process_and_is_told_without_its_text():
    running, asked = ThreadGroup(), threading.Event()

    def lookup():
        asked.wait()
        {}["ann"]

    running.begin("lookup", lookup)
    asked.set()
    running.wait()

    with pytest.raises(
        NotPossible, match=r"^the lookup broke \(KeyError at test_thread_group.py:\d+\): start"
    ):
        running.join()


def test_a_part_that_says_why_it_ends_is_quoted():
    def part():
        raise Unavailable("the store cannot be used")

    running = ThreadGroup()
    running.begin("keeper", part)
    running.wait()

    with pytest.raises(
        NotPossible, match=r"^the keeper ended \(the store cannot be used\): start it again"
    ):
        running.join()


def test_it_waits_for_something_or_for_the_end():
    running, looks = ThreadGroup(), []

    def has_happened():
        looks.append(1)
        return len(looks) == 3

    running.wait(has_happened)
    assert (len(looks), running.is_ending) == (3, False)

    running.stop()
    running.wait()
    running.join("no such part")
    running.join()
    assert running.is_ending
