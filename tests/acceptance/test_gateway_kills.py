"""A gateway whose processes die at any moment: nothing acknowledged is lost, early, doubled or stuck.

Two servers and four workers share a database, and three programs hand posts in. Again and again one of the
six is killed without warning and another takes its place: 200 times on PostgreSQL and 100 times on SQLite.
`TARRY_KILLS` lowers both. Or all live, and the database is killed with everybody who serves it: 3 times, or
as often as `TARRY_CRASHES` says.
"""

import os
import random
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count

import psycopg
import pytest

from acceptance.gateway_process import POLICY, ask_http, found_gateway, free_ports, processes
from contracts.postgres_server import PostgresServer
from tarry.keep.releaser import LEASE_S

MOST_KILLS = int(os.environ.get("TARRY_KILLS", "200"))
CRASHES = int(os.environ.get("TARRY_CRASHES", "3"))
KILLS = {"postgres": MOST_KILLS, "sqlite": min(MOST_KILLS, 100)}
PAUSE_S = 0.1  # the longest between a start and the next kill
MARGIN_S = 5.0  # of a machine with much else to do
CLIENTS, WORKERS, THREADS = 3, 4, 2
FEED = "/v1/spaces/talk/feed"
#: The store's clock and this one were read one after the other.
SLACK_S = float(POLICY.tick) / 2


@dataclass
class Accepted:
    """One post, as its author knows it."""

    receipt: str
    earliest: float  # moments, in seconds since 1970
    latest: float
    batched: bool


@dataclass
class Run:
    """What the programs outside have seen."""

    ports: list[int]
    token: str
    accepted: dict[str, Accepted] = field(default_factory=dict)  # by content
    repeated: int = 0  # requests that were answered twice
    lost: int = 0  # answers that never came
    seen: list[tuple[dict, float]] = field(default_factory=list)  # releases, and since when
    strange: list[object] = field(default_factory=list)  # answers that nobody should get
    stopping: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
def test_kills_of_servers_and_workers_lose_hasten_double_and_block_nothing(backend, tmp_path, request):
    """What was acknowledged is in the feed once, at one of its two moments, and waits for no lease."""
    if backend == "sqlite":
        where = str(tmp_path / "gateway.db")
    else:
        where = request.getfixturevalue("postgres_server").new_schema()
    run = Run(free_ports(2), found_gateway(tmp_path, where))
    records = tmp_path / "records"
    suffer(run, tmp_path, where, partial(kill_at_random, random.Random(backend), KILLS[backend], records))

    records = records.read_bytes()
    assert KILLS[backend] < 100 or records.count(b"(") > records.count(b")")
    assert set(read_attempts(where).values()) == {1}
    assert len(run.accepted) > KILLS[backend] // 2
    exact = check_everything(run)
    assert exact > 0.9 * len(run.seen)
    check_that_nothing_was_stuck(run)


@pytest.mark.timeout(600 + 30 * CRASHES)
def test_crashes_of_the_database_lose_hasten_double_and_block_nothing(tmp_path):
    """The same, when the plug of a durable PostgreSQL is pulled while programs post and read."""
    server = PostgresServer(durable=True)
    try:
        server.start()
        where = server.new_schema()
        run = Run(free_ports(2), found_gateway(tmp_path, where))
        # A worker that has met several crashes in a row waits longer before the next try.
        suffer(run, tmp_path, where, partial(crash_at_random, random.Random(4), server), wait_s=60)
        recoveries = server.log().count("automatic recovery in progress")
    finally:
        server.remove()

    assert recoveries == CRASHES
    assert len(run.accepted) > CRASHES
    check_everything(run)


def check_everything(run):
    """What holds after every run; how many posts have left at the very tick that was drawn."""
    check_that_the_run_was_what_it_claims_to_be(run)
    check_that_nobody_was_answered_nonsense(run)
    check_that_the_feed_holds_what_was_acknowledged_and_each_post_once(run)
    check_that_nothing_was_seen_before_its_moment(run)
    return count_releases_at_the_moments_that_were_told(run)


# --- what happens -----------------------------------------------------------------------------------


def suffer(run, folder, where, trouble, *, wait_s=LEASE_S + MARGIN_S, programs=processes):
    """Make trouble while programs post and read, let the last six finish, and end them."""
    threads = [threading.Thread(target=post, args=(run, number)) for number in range(CLIENTS)]
    threads.append(threading.Thread(target=watch, args=(run,)))
    with programs(folder, where) as ask:
        alive = [("serve", port, ask("serve", port)) for port in run.ports]
        alive += [("work", THREADS, ask("work", THREADS)) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        try:
            trouble(ask, alive)
            run.stopping.set()
            for thread in threads[:-1]:
                thread.join()
            await_the_rest(run, wait_s)
            compare_servers(run)
        finally:
            run.stopping.set()
            run.done.set()
            for thread in threads:
                thread.join()
        assert [ask("end", process) for *_, process in alive] == [0] * len(alive)


def kill_at_random(dice, kills, records, ask, alive):
    """Each victim lived until it was killed, and is replaced at once; some are killed while they begin.

    Every fifth is one that writes releases down at that moment, where there is one.
    """
    for turn in range(kills):
        time.sleep(dice.uniform(0.0, PAUSE_S))
        place = find_who_records(records, alive) if turn % 5 == 0 else None
        what, number, victim = alive.pop(dice.randrange(len(alive)) if place is None else place)
        assert ask("kill", victim) == -9
        hasty = ["hasty"] * (dice.random() < 0.2)
        alive.append((what, number, ask(*hasty, what, number)))


def find_who_records(records, alive):
    """The place of a process that has begun to write releases down; None if nobody does for a while."""
    places = {process: place for place, (*_, process) in enumerate(alive)}
    deadline = time.monotonic() + 2 * PAUSE_S
    while time.monotonic() < deadline:
        text = records.read_bytes() if records.exists() else b""
        if text.endswith(b" ") and (place := places.get(int(text.rpartition(b"(")[2]))) is not None:
            return place
        time.sleep(0.001)
    return None


def crash_at_random(dice, server, *_):
    """After each start some posts are accepted and some leave; sometimes it is away for a while."""
    for _ in range(CRASHES):
        time.sleep(dice.uniform(0.0, 2.0))
        server.kill()
        time.sleep(dice.choice((0.0, 0.5)))
        server.start()


def await_the_rest(run, wait_s):
    """Wait for what was acknowledged, no longer than so many seconds after the last of it was due."""
    last = max(each.latest for each in run.accepted.values())
    deadline = max(last, time.time()) + wait_s
    while len({item["content"] for item, _ in run.seen}) < len(run.accepted):
        stuck = run.accepted.keys() - {item["content"] for item, _ in run.seen}
        assert time.time() < deadline, f"{len(stuck)} of {len(run.accepted)} posts are stuck or lost"
        time.sleep(0.05)


def compare_servers(run):
    """Both servers tell the whole feed as the watcher has seen it grow, and each receipt agrees with it."""
    for port in run.ports:
        told, after = [], 0
        while items := ask_http(port, "GET", f"{FEED}?after={after}")[1]["items"]:
            told += items
            after = items[-1]["position"]
        assert told == [item for item, _ in run.seen], "the feed has changed behind a reader"
    at = {item["content"]: item["at"] for item, _ in run.seen}
    for content, each in run.accepted.items():
        status, told = ask_http(run.ports[0], "GET", "/v1/receipt", tarry_receipt=each.receipt)
        assert (status, told["state"], told["release_at"]) == (200, "released", at[content])


# --- the programs outside ---------------------------------------------------------------------------


def post(run, number):
    """Hand in lone posts and pairs, each until it is acknowledged; now and then once more."""
    dice = random.Random(number)
    for act in count():
        if run.stopping.is_set():
            return
        names = [f"{number} {act} {side}" for side in range(1 + (dice.random() < 0.4))]
        posts = [{"actor": f"{number} {act}", "target": name, "content": name} for name in names]
        receipts = submit(run, posts, f"key-{number}-{act}", dice)
        for name, told in zip(names, receipts, strict=True):
            moments = (moment(told["earliest_at"]), moment(told["latest_at"]))
            run.accepted[name] = Accepted(told["receipt"], *moments, batched=len(names) > 1)
        if dice.random() < 0.1:
            again = submit(run, posts, f"key-{number}-{act}", dice)
            assert_same(run, receipts, again)
        time.sleep(dice.uniform(0.0, 0.1))


def submit(run, posts, key, dice):
    """Send a request until it is acknowledged, to either server; its receipts."""
    path, body = ("batches", {"posts": posts}) if len(posts) > 1 else ("posts", posts[0])
    headers = {"authorization": f"Bearer {run.token}", "idempotency_key": key}
    for _ in range(1000):
        answer = ask_http(dice.choice(run.ports), "POST", f"/v1/spaces/talk/{path}", body, **headers)
        if answer is not None and answer[0] == 202:
            return answer[1]["receipts"] if len(posts) > 1 else [answer[1]]
        if answer is not None and answer[0] != 503:
            run.strange.append(answer)
        run.lost += 1
        time.sleep(0.02)
    raise AssertionError("nobody answers")


def assert_same(run, first, again):
    """The same request gives the same receipts."""
    run.repeated += 1
    if [each["receipt"] for each in first] != [each["receipt"] for each in again]:
        run.strange.append((first, again))


def watch(run):
    """Read the feed as it grows, and note when each release was first seen."""
    after = 0
    for turn in count():
        answer = ask_http(run.ports[turn % 2], "GET", f"{FEED}?after={after}")
        now = time.time()
        if answer is not None and answer[0] == 200:
            run.seen += [(item, now) for item in answer[1]["items"]]
            after = answer[1]["next"]
        elif answer is not None and answer[0] != 503:
            run.strange.append(answer)
        if run.done.wait(0.05):
            return


def moment(text):
    return datetime.fromisoformat(text).timestamp()


def read_attempts(where):
    """How often each post was claimed, by its key."""
    connect = psycopg.connect if where.startswith("postgresql:") else sqlite3.connect
    with closing(connect(where)) as connection:
        return dict(connection.execute("SELECT id, attempts FROM posts").fetchall())


# --- what must hold ---------------------------------------------------------------------------------


def check_that_the_run_was_what_it_claims_to_be(run):
    """Posts of each kind were accepted, answers were cut off, and requests came again."""
    assert {each.batched for each in run.accepted.values()} == {False, True}
    assert run.lost
    assert run.repeated


def check_that_nobody_was_answered_nonsense(run):
    """Requests were accepted, told that the store is away, or not answered; a key has one receipt."""
    assert run.strange == []


def check_that_the_feed_holds_what_was_acknowledged_and_each_post_once(run):
    """No content stands there twice and no id; and nothing that nobody has acknowledged in the end."""
    items = [item for item, _ in run.seen]

    assert sorted(item["content"] for item in items) == sorted(run.accepted)
    assert len({item["id"] for item in items}) == len(items)
    assert [item["position"] for item in items] == list(range(1, len(items) + 1))


def check_that_nothing_was_seen_before_its_moment(run):
    """Nobody sees a release before the moment that it bears."""
    assert all(seen >= moment(item["at"]) - SLACK_S for item, seen in run.seen)


def count_releases_at_the_moments_that_were_told(run):
    """A release bears one of the two moments of its receipt, of a pair the later; or, if ticks were missed
    by all workers at once, the moment of recovery, which is later."""
    exact = 0
    for item, _ in run.seen:
        told, at = run.accepted[item["content"]], moment(item["at"])
        assert at >= (told.latest if told.batched else told.earliest)
        exact += at in (told.earliest, told.latest)
    return exact


def check_that_nothing_was_stuck(run):
    """A publishing that a kill cut off costs a moment, and no lease."""
    assert all(seen - moment(item["at"]) <= MARGIN_S for item, seen in run.seen)
