"""A real run in which processes die at any moment: nothing acknowledged is lost, early, doubled or stuck.

Two keepers and two people at the gate share a store; again and again one of the four is killed without
warning and another takes its place. `TARRY_KILLS` says how often.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import psycopg
import pytest

from acceptance import keeper_process
from acceptance.keeper_process import KEYS, LEASE_S, POLICY
from tarry.keep.posts import State
from tarry.keep.sharing import StoreSettings, begin_store
from tarry.keep.store import SystemClock

KILLS = int(os.environ.get("TARRY_KILLS", "200"))
PAUSE_S = 0.1  # the longest between a start and the next kill
MARGIN_S = 10.0  # of a machine with much else to do
# The store's clock and the wall's were read one after the other.
SLACK = POLICY.tick / 2


@dataclass
class World:
    """What is known when all is over: what was acknowledged, what the store says, what came out."""

    rows: dict[int, tuple[str, str, int, str | None]]  # outlet, state, release tick, problem
    accepted: dict[int, tuple[int, int]] = field(default_factory=dict)  # the two ticks acknowledged
    batched: set[int] = field(default_factory=set)
    withdrawing: set[int] = field(default_factory=set)
    withdrawn: dict[int, float] = field(default_factory=dict)  # when that was acknowledged
    feed: Counter[str] = field(default_factory=Counter)
    once: Counter[str] = field(default_factory=Counter)
    tries: list[tuple[str, float, Fraction, int]] = field(default_factory=list)  # id, when, at, attempt


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_kills_at_any_moment_lose_hasten_double_and_block_nothing(backend, tmp_path, request):
    """What was acknowledged leaves once and not before its tick, or is parked if it may run but once."""
    if backend == "sqlite":
        world = run(tmp_path, str(tmp_path / "store.db"), random.Random(1))
    else:
        server = request.getfixturevalue("postgres_server")
        world = run(tmp_path, server.new_schema(), random.Random(2))

    check_that_the_run_was_what_it_claims_to_be(world)
    check_that_nothing_acknowledged_is_lost(world)
    check_that_what_was_taken_back_stays_back(world)
    check_that_nothing_leaves_before_its_tick(world)
    check_that_no_try_begins_before_its_tick_has_passed(world)
    check_that_the_feed_has_each_release_exactly_once(world)
    check_that_what_may_run_once_never_runs_twice(world)
    check_that_what_was_not_acknowledged_is_absent_or_accepted(world)


def run(folder, where, dice):
    """Kill and start again, let the last two keepers finish, and look."""
    store = keeper_process.open_store(where)
    with store.transaction("closing") as transaction:
        begin_store(transaction, StoreSettings.of(POLICY), store.clock())
    with processes(folder, where) as ask:
        kill_at_random(ask, dice)
        keepers = [ask("keep", "last"), ask("keep", "last")]
        wait_until_nothing_waits(store, time.monotonic() + LEASE_S + MARGIN_S)
        assert [ask("end", each) for each in keepers] == [0, 0]
    store.close()
    return look(folder, where)


@contextmanager
def processes(folder, where):
    """What forks, kills and ends the processes of a run."""
    zygote = subprocess.Popen(
        [sys.executable, keeper_process.__file__, str(folder), where],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads is not forked
        text=True,
        start_new_session=True,
    )

    def ask(*words):
        print(*words, file=zygote.stdin, flush=True)
        return int(zygote.stdout.readline())

    try:
        yield ask
    finally:
        zygote.stdin.close()
        zygote.wait(MARGIN_S)
        zygote.stdout.close()


def kill_at_random(ask, dice):
    """Each victim was alive until it was killed, and is replaced at once."""
    kinds = ["keep", "keep", "admit", "admit"]
    alive = [(kind, ask(kind, f"first-{n}")) for n, kind in enumerate(kinds)]
    for number in range(KILLS):
        time.sleep(dice.uniform(0.0, PAUSE_S))
        kind, victim = alive.pop(dice.randrange(len(alive)))
        assert ask("kill", victim) == -9
        # Some of the next victims are killed while they begin.
        hasty = ["hasty"] * (dice.random() < 0.2)
        alive.append((kind, ask(*hasty, kind, number)))
    assert [ask("kill", victim) for _, victim in alive] == [-9] * 4


def wait_until_nothing_waits(store, deadline):
    """No longer than the last release and a lease: a dead worker's claims come back."""
    while True:
        with store.transaction("working") as transaction:
            row = transaction.one("busy_until")
        left = row["last_release"] * POLICY.tick - SystemClock().read().wall // 10**6
        if not row["waiting"]:
            return
        assert time.monotonic() < deadline + max(0.0, float(left)), f"{row['waiting']} posts are stuck"
        time.sleep(0.05)


# --- looking --------------------------------------------------------------------------------------


def look(folder, where):
    """Read everything that was written down."""
    world = World(rows=read_rows(where))
    for journal in folder.glob("journal *"):
        for line in read_lines(journal):
            note(world, json.loads(line))
    world.feed.update(json.loads(line)["id"] for line in read_lines(folder / "feed"))
    world.once.update(read_lines(folder / "once"))
    for line in read_lines(folder / "tries"):
        post, when, at, attempt = json.loads(line)
        world.tries.append((post, when, Fraction(at), attempt))
    return world


def note(world, line):
    match line:
        case {"accepted": post, "earliest": earliest, "latest": latest}:
            world.accepted[post] = (earliest, latest)
        case {"batched": posts}:
            world.batched.update(posts)
        case {"withdrawing": post}:
            world.withdrawing.add(post)
        case {"withdrawn": post, "when": when}:
            world.withdrawn[post] = when


def read_lines(path):
    text = path.read_text(encoding="ascii")
    assert not text or text.endswith("\n")  # a file that was made, and no more
    return text.splitlines()


def read_rows(where):
    question = "SELECT id, outlet, state, release, problem FROM posts"
    connect = psycopg.connect if where.startswith("postgresql:") else sqlite3.connect
    with closing(connect(where)) as connection:
        rows = connection.execute(question).fetchall()
    return {
        post: (outlet, State(state).public, release, problem)
        for post, outlet, state, release, problem in rows
    }


def in_state(world, outlet, *states):
    """Public ids of the posts of an outlet in one of these states."""
    return {KEYS.public_id(p) for p, row in world.rows.items() if row[0] == outlet and row[1] in states}


# --- what must hold -------------------------------------------------------------------------------


def check_that_the_run_was_what_it_claims_to_be(world):
    """Posts of each kind were accepted, and kills have cut deliveries of both outlets off."""
    assert len(world.accepted) > KILLS // 4
    assert world.batched
    assert world.withdrawn
    assert in_state(world, "once", "parked")
    assert any(attempt > 1 for *_, attempt in world.tries)


def check_that_nothing_acknowledged_is_lost(world):
    """An accepted post is released, or was taken back, or is parked because its delivery was cut off."""
    assert world.accepted.keys() <= world.rows.keys()
    for post in world.accepted:
        outlet, state, _, problem = world.rows[post]
        assert state in {"released", "withdrawn", "parked"}
        assert state != "withdrawn" or post in world.withdrawing
        assert state != "parked" or (outlet == "once" and "cut off" in problem)


def check_that_what_was_taken_back_stays_back(world):
    """No try of a post begins after its withdrawal was acknowledged."""
    back = {KEYS.public_id(post): when for post, when in world.withdrawn.items()}

    assert all(world.rows[post][1] == "withdrawn" for post in world.withdrawn)
    assert all(when < back[post] for post, when, *_ in world.tries if post in back)


def check_that_nothing_leaves_before_its_tick(world):
    """A post's tick is the one its label chooses of the two acknowledged, or a later one of recovery."""
    for post, (earliest, latest) in world.accepted.items():
        if world.rows[post][1] != "withdrawn":
            assert world.rows[post][2] >= (latest if post in world.batched else earliest)


def check_that_no_try_begins_before_its_tick_has_passed(world):
    """Every try of every post begins after the moment it is published under."""
    release = {KEYS.public_id(post): row[2] for post, row in world.rows.items()}

    for post, when, at, _ in world.tries:
        assert at == release[post] * POLICY.tick
        assert when >= at - SLACK


def check_that_the_feed_has_each_release_exactly_once(world):
    """The lines of the feed are the released posts, acknowledged or not, and no id stands there twice."""
    assert max(world.feed.values()) == 1
    assert world.feed.keys() - taken_back_late(world) == in_state(world, "feed", "released")


def check_that_what_may_run_once_never_runs_twice(world):
    """A released post has run once; one that was cut off is parked, whether it has run or not."""
    ran = world.once.keys() - taken_back_late(world)

    assert max(world.once.values()) == 1
    assert in_state(world, "once", "released") <= ran <= in_state(world, "once", "released", "parked")


def taken_back_late(world):
    """Posts that were withdrawn after a try of theirs was cut off: the world may have them already."""
    return {post for post, *_ in world.tries} & {
        KEYS.public_id(post) for post, row in world.rows.items() if row[1] == "withdrawn"
    }


def check_that_what_was_not_acknowledged_is_absent_or_accepted(world):
    """A post whose author died before the answer came behaves like any other."""
    states = {row[1] for post, row in world.rows.items() if post not in world.accepted}

    assert states <= {"released", "parked"}
