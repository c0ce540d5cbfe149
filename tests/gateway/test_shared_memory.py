"""Counters in shared memory count as those of one process do, whichever process counts."""

import os
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.gateway.counters import MOST_OWNERS, own_counters
from tarry.gateway.limits import (
    Backlog,
    ClientNames,
    ConnectionSlots,
    Limits,
    Overloaded,
    RateLimiter,
    TooManyRequests,
)
from tarry.gateway.shared_memory import SharedMemory

PROCESSES = 3


@pytest.fixture
def memory():
    made = SharedMemory(processes=PROCESSES, streams=20, connections=50)
    yield made
    made.close()


@given(
    st.lists(
        st.tuples(st.integers(0, PROCESSES - 1), st.booleans(), st.sampled_from("abcd")),
        max_size=60,
    )
)
def test_places_are_taken_and_given_back_as_in_one_process(acts):
    """Whoever takes and gives: the answers are those of a table that one process has."""
    memory, one = SharedMemory(processes=PROCESSES, streams=20, connections=50), own_counters().streams
    several = [memory.counters(number).streams for number in range(PROCESSES)]
    held = []
    for process, takes, client in acts:
        if takes:
            taken = several[process].take(client, 4, 9)
            assert taken == one.take(client, 4, 9)
            held += [(process, client)] * taken
        elif (process, client) in held:
            held.remove((process, client))
            several[process].give(client)
            one.give(client)
        assert [each.total() for each in several] == [one.total()] * PROCESSES
        assert [several[process].of(name) for name in "abcd"] == [one.of(name) for name in "abcd"]
    memory.close()


def test_what_a_dead_process_held_is_free_and_nothing_else(memory):
    dead, alive = (memory.counters(number) for number in range(2))
    for counters in (dead, alive):
        assert counters.connections.take("ann", 9, 9)
        assert counters.streams.take("ann", 9, 9)
        counters.unfinished.add(5)
    memory.clear(0)

    assert [alive.connections.total(), alive.streams.of("ann"), alive.unfinished.total()] == [1, 1, 5]


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.floats(0, 3)), max_size=50))
def test_a_bucket_is_one_for_all(asked):
    """Whichever process is asked, the answers are those of one bucket."""
    memory, now = SharedMemory(processes=2, streams=1, connections=1), [0.0]
    limits = Limits(rate_per_s=1, burst=3)
    one = RateLimiter(limits, lambda: now[0])
    several = [RateLimiter(limits, lambda: now[0], levels=memory.counters(n).rates) for n in range(2)]

    def answer(limiter, owner):
        try:
            return limiter.take(owner)
        except TooManyRequests as refusal:
            return refusal.wait_s

    for process, owner, pause in asked:
        now[0] += pause
        assert answer(several[process], owner) == answer(one, owner)
    memory.close()


def test_owners_without_end_take_no_more_memory_and_who_asks_is_not_forgotten(memory):
    """A set that is full forgets who was seen longest ago in it."""
    now = [1.0]
    buckets = RateLimiter(
        Limits(rate_per_s=0.001, burst=1), lambda: now[0], levels=memory.counters(0).rates
    )
    before = os.fstat(memory.handle).st_size
    buckets.take("me")
    for number in range(MOST_OWNERS // 2):
        buckets.take(f"{number}")
        now[0] += 1e-6
        if number % 1000 == 0:
            with pytest.raises(TooManyRequests):
                buckets.take("me")

    assert os.fstat(memory.handle).st_size == before


def test_as_many_different_clients_as_there_are_places_find_one_each():
    """No set of slots is full, whoever they are."""
    dice = random.Random(1)
    memory = SharedMemory(processes=2, streams=1, connections=2000)
    places = memory.counters(1).connections
    clients = [dice.randbytes(16).hex() for _ in range(2000)]

    assert all(places.take(client, 1, 2000) for client in clients)
    assert not places.take("one more", 1, 2000)
    memory.close()


def test_clients_have_one_name_in_all_processes_which_changes_for_all(memory):
    now = [10.0]
    one, other = (
        ClientNames(now=lambda: now[0], key=memory.counters(number).client_key) for number in range(2)
    )
    scope = {"client": ("192.0.2.1", 4711), "headers": []}
    first = one.name(scope)
    assert other.name(scope) == first

    now[0] += 3600
    assert other.name(scope) == one.name(scope) != first


def test_one_client_has_a_quarter_of_the_connections_of_all(memory):
    counters = [memory.counters(number) for number in range(2)]
    here, there = (
        ConnectionSlots(8, ClientNames(key=each.client_key), each.connections) for each in counters
    )
    places = [each.enter("192.0.2.1") for each in (here, there, here)]

    assert [place is None for place in places] == [False, False, True]
    there.leave(places[0])
    assert here.enter("192.0.2.1") is not None


def test_posts_of_one_process_fill_the_bound_for_all(memory):
    """Past it everybody is refused alike, whoever they have reached."""
    here, there = (Backlog(10, memory.counters(n).unfinished) for n in range(2))
    with here.of(4), there.of(6):
        for each in (here, there):
            with pytest.raises(Overloaded):
                each.check()
    here.check()


COUNTING = """
import sys
from tarry.gateway.limits import Limits, RateLimiter, TooManyRequests
from tarry.gateway.shared_memory import SharedMemory
number, handle, turns = map(int, sys.argv[1:])
counters = SharedMemory(processes=3, streams=20, connections=50, handle=handle).counters(number)
limiter, let_in = RateLimiter(Limits(rate_per_s=1e-9, burst=3000), levels=counters.rates), 0
for _ in range(turns):
    assert counters.connections.take("ann", 50, 50)
    try:
        limiter.take("ann")
        let_in += 1
    except TooManyRequests:
        pass
    counters.connections.give("ann")
print(let_in)
"""


def test_processes_that_count_at_the_same_time_lose_no_count(memory):
    """Three real processes: of 6,000 requests exactly 3,000 are let in, and no place is left behind."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTING, str(number), str(memory.handle), "2000"],
            pass_fds=(memory.handle,),
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    let_in = [int(child.communicate(timeout=60)[0]) for child in children]

    assert sum(let_in) == 3000
    assert memory.counters(0).connections.total() == 0
