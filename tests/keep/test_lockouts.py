"""One account's outage: how long it lasts, and a machine that tries everything at once."""

import sqlite3

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from contracts.lockout_machine import LockoutMachine
from tarry.core.entropy import Seeded
from tarry.keep.lockouts import account_of, lockout_delay
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import KEEPER, queries
from tarry.testing import ListOutlet, memory_store

SECOND = 1_000_000
#: Mistakes by name, in the statements that move things.
MUTANTS = {
    "what is known stays": ("shift_release", "+ :ticks", "+ 0 * :ticks"),
    "what waits for its label stays": ("shift_arrival", "+ :ticks", "+ 0 * :ticks"),
    "what another worker holds stays": ("shift_release", "state IN", "claim IS NULL AND state IN"),
    "a try that did not get in counts": ("mark_locked_out", "attempts - 1", "attempts"),
    "what arrives meanwhile is not moved": ("lock_out", ":until, :resumes", ":until, 0 * :resumes"),
    "what arrives meanwhile overtakes": ("lock_out", ":until, :resumes", ":until, :until"),
    "a lockout is forgotten before it is over": (
        "forget_lockouts snapshot",
        "resumes",
        "resumes - 2",
    ),
    "what may have left is free to go": ("mark_locked_out", "'delivering_in_doubt' THEN", "'' THEN"),
}


def in_memory():
    """A store that its opener keeps."""
    store = memory_store()
    return lambda: store


def run(new_store, examples, steps=40, **members):
    """Let the machine run on stores made this way."""
    machine = type("Machine", (LockoutMachine,), {"new_store": staticmethod(new_store), **members})
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=how)


def test_in_memory():
    """Whatever workers and accounts do, distances stay, nothing leaves early or twice, and all leaves."""
    run(in_memory, examples=15)


def test_in_postgres(postgres_server):
    """On a database server as well."""

    def new_store():
        dsn = postgres_server.new_schema()
        return lambda: PostgresStore(dsn)

    run(new_store, examples=2, steps=25)


@pytest.mark.parametrize("mistake", MUTANTS)
def test_a_mistake_in_a_statement_is_found(mistake, monkeypatch):
    """The machine has teeth: a statement that is nearly right is found out."""
    names, right, wrong = MUTANTS[mistake]
    for name in names.split():
        text = queries("sqlite", KEEPER)[name]
        assert right in text
        monkeypatch.setitem(queries("sqlite", KEEPER), name, text.replace(right, wrong))

    with pytest.raises((AssertionError, sqlite3.Error)):
        run(in_memory, examples=400, kinds=(("held", False),))


@given(wait_s=st.integers(-5, 10**7), seed=st.integers(0, 100))
def test_an_account_waits_as_long_as_asked_and_up_to_half_of_it_more(wait_s, seed):
    """At least five minutes, a day at most, and never more than half an hour longer than asked for."""
    delay = lockout_delay(wait_s, Seeded(seed).stream("a", "b", 0))
    least = min(max(wait_s, 300), 86_400) * SECOND

    assert least <= delay <= least + min(least // 2, 1800 * SECOND)


def test_how_long_it_waits_is_random():
    """Nobody can count on it."""
    entropy = Seeded(1).stream("a", "b", 0)

    assert len({lockout_delay(0, entropy) for _ in range(10)}) == 10


def test_an_outlet_that_cannot_tell_the_account_says_none():
    """Whatever it raises: of thousands that wait, one odd post must not keep the others from moving."""

    class Odd(ListOutlet):
        def account(self, options):
            raise KeyError(options["account"])

    assert account_of(Odd(), {"account": "nym"}) is None
    assert account_of(ListOutlet(), {}) is None
