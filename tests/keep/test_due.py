"""Whoever looks for what is due at one outlet does not walk past what is due at another."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from contracts.keeping import World
from contracts.rule_contract import insert
from tarry.keep.postgres import PostgresStore
from tarry.keep.rows import PARAMETER, queries
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store

SLOW, QUICK = 3000, 3
LOOKS = {"due": {"outlet": "list", "most": 500}, "due_outlets": {}}


@pytest.fixture
def world_in():
    worlds = []

    def build(reopen: Callable[[], Store], slow: int) -> World:
        """Many posts are due at the outlet "once", a few at "list", and as many wait for later ticks."""
        worlds.append(world := World(reopen))
        for outlet, count in (("once", slow), ("list", QUICK)):
            with world.store.transaction("closing") as transaction:
                insert(transaction, [1] * count + [1 << 40] * count, [None] * 2 * count, outlet=outlet)
        return world

    yield build
    for world in worlds:
        world.leave()


@pytest.mark.parametrize("name", LOOKS)
def test_a_file_is_looked_at_post_by_post_of_the_outlet_alone(world_in, tmp_path, name):
    """The steps that SQLite takes are counted: a thousand times as many posts elsewhere add nothing."""
    steps = {}
    for slow in (QUICK, SLOW):
        world = world_in(lambda slow=slow: SqliteStore(tmp_path / f"{slow}"), slow)
        counted = [0]

        def count(counted=counted) -> int:
            counted[0] += 1
            return 0

        with world.store.transaction("reading") as transaction:
            transaction._connection.set_progress_handler(count, 1)
            transaction.all(name, **LOOKS[name])
            transaction._connection.set_progress_handler(None, 0)
        steps[slow] = counted[0]

    assert 20 < steps[SLOW] <= 1.2 * steps[QUICK]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """A plan and all below it."""
    return [plan, *(node for below in plan.get("Plans", ()) for node in nodes(below))]


@pytest.mark.parametrize("name", LOOKS)
def test_a_database_reads_rows_of_the_outlet_alone(world_in, postgres_server, name):
    """The rows are counted that each step of PostgreSQL's own plan has read, thrown away ones included."""
    dsn = postgres_server.new_schema()
    world = world_in(lambda: PostgresStore(dsn), SLOW)
    with world.store.transaction("working") as transaction:
        transaction._connection.execute("ANALYZE posts")
        looked = PARAMETER.sub(r"%(\1)s", queries("postgres")[name])
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {looked}".encode()
        row = transaction._connection.execute(explain, LOOKS[name]).fetchone()
    plan = row["QUERY PLAN"]
    (whole,) = plan if isinstance(plan, list) else json.loads(plan)
    read = [
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in nodes(whole["Plan"])
    ]

    assert {node.get("Relation Name") for node in nodes(whole["Plan"])} >= {"posts", "clock"}
    assert max(read) <= 2 * QUICK
