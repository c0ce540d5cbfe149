"""`tarry status`: how a gateway stands, for people and for programs."""

import pytest

from contracts.house import House
from tarry.testing import ManualClock


@pytest.fixture
def house(operator, monkeypatch):
    """The operator's gateway in use, under a clock moved by hand."""
    clock = ManualClock()
    for store in ("sqlite.SqliteStore", "postgres.PostgresStore"):
        monkeypatch.setattr(f"tarry.keep.{store}.clock", lambda _: clock)
    house = House(operator.database, clock)
    yield house
    house.store.close()


@pytest.mark.parametrize("operator", ["sqlite", "postgres"], indirect=True)
def test_a_gateway_in_use_is_told(operator, house):
    house.admit_many(["ann", "bob", "cem"])
    house.jump(3590)
    house.admit("dee")
    house.jump(30)
    house.change(lambda transaction: transaction.tell("park_overdue", tick=1 << 40, problem="a test"))
    house.clock.sleep(90)
    told = operator.ask("status")

    assert told["clock_at"] == house.clock.wall / 1_000_000
    assert (told["lag_s"], told["late_s"], told["paused"]) == (90, 0, False)
    assert told["hours"] == [{"begins_at": 1767225600, "admissions": 4}]
    assert told["ahead"][0]["posts"] == 1
    assert told["accounts_beyond_promise"] == 0
    assert told["counted_at"] == 1767225600 + 3600

    lines = operator.tell("status").splitlines()
    assert lines[0] == "clock     2026-01-01T01:01:50Z"
    assert lines[1] == "closed    2026-01-01T01:00:19Z, 1m30s behind"
    assert "hour of admission     posts" in lines
    assert "as of     2026-01-01T01:00:00Z: accounts and what waits are counted once an hour" in lines
    assert "2026-01-01T00:00:00Z      4" in lines
    assert any(line.startswith("waiting in") for line in lines)


def test_what_is_late_parked_and_paused_is_told(operator, house):
    house.admit("ann")
    house.clock.sleep(300)
    house.close_ticks()
    house.clock.sleep(59)
    assert "late      the first post that is due has waited 1m\n" in operator.tell("status")

    house.change(lambda transaction: transaction.tell("park_overdue", tick=1 << 40, problem="a test"))
    house.change(lambda transaction: transaction.tell("pause", paused=1))
    told = operator.tell("status")
    assert told.startswith("paused since it was restored from a backup")
    assert "parked    1 in talk\n" in told


def test_without_a_gateway_it_says_so(operator):
    assert operator.refusal("status").startswith("tarry status: there is no database ")
    operator.tell("migrate")
    assert operator.refusal("status").startswith("tarry status: ")
