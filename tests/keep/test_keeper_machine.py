"""The keeper under everything that can happen to it, on every store."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from contracts.keeper_machine import KeeperMachine
from tarry.keep.postgres import PostgresStore
from tarry.keep.sqlite import SqliteStore
from tarry.testing import memory_store


def in_memory():
    """A store that its opener keeps."""
    store = memory_store()
    return lambda: store


def run(new_store, examples):
    """Let the machine run on stores made this way.

    A failure is shown as it was found: to make it shorter would take minutes.
    """
    machine = type("Machine", (KeeperMachine,), {"new_store": staticmethod(new_store)})
    how = settings(
        max_examples=examples,
        stateful_step_count=50,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    run_state_machine_as_test(machine, settings=how)


class TestKeeperMachine:
    """One machine, three stores."""

    def test_in_memory(self):
        """A store in memory loses nothing, releases nothing early and nothing twice."""
        run(in_memory, examples=100)

    def test_in_a_file(self, tmp_path):
        """Neither does a file."""
        files = iter(range(10**6))

        def new_store():
            path = tmp_path / f"store {next(files)}"
            return lambda: SqliteStore(path)

        run(new_store, examples=15)

    def test_in_postgres(self, postgres_server):
        """Neither does a database server."""

        def new_store():
            dsn = postgres_server.new_schema()
            return lambda: PostgresStore(dsn)

        run(new_store, examples=12)
