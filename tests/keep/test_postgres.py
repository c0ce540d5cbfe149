"""What is special about a database server: many come at once, and it may go away."""

import sys
import threading
import time
from itertools import pairwise

import psycopg
import pytest

from contracts.keeping import BATCHED, WINDOW, World, lively_policy, stiff_policy
from contracts.lockout_contract import lock, say, wiki_world, work
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.database import ROOMS
from tarry.keep.admission import accept
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.gate import Gate
from tarry.keep.postgres import PostgresStore
from tarry.keep.postgres_form import copy_rows, parameter, statement_of
from tarry.keep.postgres_wire import Wire
from tarry.keep.posts import Post
from tarry.keep.rows import queries
from tarry.keep.store import Vault, snapshot
from tarry.testing import ManualClock


@pytest.fixture
def dsn(postgres_server):
    return postgres_server.new_schema()


@pytest.fixture
def new_world(dsn):
    worlds = []

    def build(*arguments, **others):
        worlds.append(World(lambda: PostgresStore(dsn), *arguments, **others))
        return worlds[-1]

    yield build
    for world in worlds:
        world.leave()


def together(*works, store=None):
    """Run each in a thread of its own, all connected beforehand; what one raises is raised here."""
    troubles, ready = [], threading.Barrier(len(works))

    def guarded(work):
        try:
            if store is not None:
                with store.transaction("working") as transaction:
                    transaction.one("busy_until")
            ready.wait(60)
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            troubles.append(error)
        finally:
            if store is not None:
                store.close()

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]


def test_every_arrival_up_to_a_tick_is_stored_when_it_closes(new_world):
    """While threads admit and ticks close, no arrival turns up in a tick that was already closed."""
    world = new_world(lively_policy(tick="0.02s"))
    vault = Vault(world.store, world.keys, world.outlets)  # a running clock
    with world.store.transaction("closing") as transaction:
        transaction._connection.execute("UPDATE clock SET closed = 0, time = 0, wall = 0, boot = ''")
    done, met, late, receipts = threading.Event(), set(), [], []

    def admit(actor):
        gate, last = Gate(vault, world.policy), 0
        for number in range(40):
            post = Post(actor=actor, target=f"p{number % 3}", outlet="list", content=b"")
            receipt = gate.admit(post)
            receipts.append(receipt)  # of all threads: the last one may be another's
            with vault.store.transaction("working") as transaction:
                arrival = transaction.one("by_id", id=receipt.post)["arrival"]
            assert arrival >= last  # one actor's arrivals never go back
            last = arrival

    def close():
        closed = 0
        while not done.is_set():
            with vault.store.transaction("closing") as transaction:
                before, closed = closed, close_ticks(transaction, vault.keys, vault.clock).tick
                rows = transaction._connection.execute("SELECT id, arrival FROM arrivals").fetchall()
            new = [row for row in rows if row["id"] not in met]
            late.extend(row for row in new if row["arrival"] <= before)
            met.update(row["id"] for row in new)
        vault.store.close()

    closer = threading.Thread(target=close)
    closer.start()
    try:
        together(
            *(lambda actor=actor: admit(actor) for actor in ("ann", "ann", "bob", "cem")), store=vault.store
        )
    finally:
        done.set()
        closer.join()

    assert len(receipts) == 160
    assert len(met) > 20
    assert late == []


def test_a_request_waits_for_itself(new_world, dsn):
    """Where the same request is being accepted beside it, it waits, and then gets the same receipt."""
    world, answers = new_world(), []
    asked = [[world.candidate(secret="5e" * 32, body=b"body")]]

    def send():
        answers.extend(world.send(*asked))
        world.store.close()

    thread = threading.Thread(target=send)
    with world.store.transaction("admitting") as transaction, psycopg.connect(dsn) as onlooker:
        (first,) = accept(transaction, world.vault, asked)
        thread.start()
        while thread.is_alive() and not someone_waits(onlooker):
            thread.join(0.01)
        waited = thread.is_alive()
    thread.join()

    assert waited
    assert answers == [first]
    assert len(world.dump("posts")) == 1


def test_whoever_waited_for_the_same_actor_is_stamped_after_them(new_world, dsn):
    """Where labels look back, a gateway whose clock is behind sees the post that it has waited for."""
    world = new_world(stiff_policy("follower"))
    behind = Vault(world.store, world.keys, world.outlets, ManualClock(boot="elsewhere"))
    posts = [world.candidate("ann", target) for target in ("p1", "p2")]
    receipts = []

    def send():
        with world.store.transaction("admitting") as transaction:
            receipts.extend(accept(transaction, behind, [[posts[1]]])[0])
        world.store.close()

    thread = threading.Thread(target=send)
    world.clock.sleep(5)
    with world.store.transaction("admitting") as transaction, psycopg.connect(dsn) as onlooker:
        receipts.extend(accept(transaction, world.vault, [[posts[0]]])[0])
        thread.start()
        waited = comes_to_wait(thread, onlooker)
    thread.join()

    rows = world.rows("arrivals")
    assert waited
    assert len({rows[receipt.post]["arrival"] for receipt in receipts}) == 1
    assert [rows[receipt.post]["label"] for receipt in receipts] == [0, 1]


def test_names_are_locked_in_an_order_of_their_own(new_world, dsn):
    """Who names two things takes them in one order, however it names them: nobody waits in a circle."""
    world, low, high = new_world(), 71, 72
    names = [number.to_bytes(8) for number in (high, low)]

    def lock():
        with world.store.transaction("working") as transaction:
            transaction.lock(names)
        world.store.close()

    thread = threading.Thread(target=lock)
    with psycopg.connect(dsn) as onlooker:
        onlooker.execute("SELECT pg_advisory_xact_lock(%s)", (high,))
        thread.start()
        while thread.is_alive() and not someone_waits(onlooker):
            thread.join(0.01)
        of_names = "SELECT objid::int, granted FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1"
        found = sorted(onlooker.execute(of_names).fetchall())
    thread.join()

    assert found == [(low, True), (high, False), (high, True)]


def someone_waits(connection) -> bool:
    """Whether anybody stands before a lock."""
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    return connection.execute(waiting).fetchone() is not None


def comes_to_wait(thread, onlooker) -> bool:
    """Whether a thread comes to stand before a lock; not if it ends, or stands elsewhere."""
    deadline = time.monotonic() + 20
    while thread.is_alive() and time.monotonic() < deadline:
        if someone_waits(onlooker):
            return True
        thread.join(0.01)
    return False


def public_moment(world):
    """The next tick that closes is one at which posts are written anew; all of them are due by then."""
    world.pass_ticks(2 * WINDOW - (world.closed + 1) % WINDOW, release=False)
    world.clock.sleep(1)


def test_a_worker_who_comes_while_posts_are_written_anew_waits_and_finds_them(new_world, dsn):
    """Closing keeps workers waiting; whoever waited sees the new rows, and misses none."""
    world, claims = new_world(), []
    posts = {world.admit(actor).post for actor in ("ann", "bob", "cem")}
    public_moment(world)

    def work():
        claims.append(world.releaser.claim("list"))
        world.store.close()

    thread = threading.Thread(target=work)
    with world.store.transaction("closing") as transaction, psycopg.connect(dsn) as onlooker:
        close_ticks(transaction, world.keys, world.clock)
        thread.start()
        waited = comes_to_wait(thread, onlooker)
    thread.join()

    assert waited
    assert {post for post, _ in claims[0].posts} == posts
    assert {row["fresh"] for row in world.dump("posts")} == {0}


def test_posts_are_written_anew_when_no_worker_is_at_them(new_world, dsn):
    """Closing waits for a claim that is being made, and writes the row anew as the worker has left it."""
    world = new_world()
    receipt = world.admit()
    public_moment(world)

    def close():
        world.close()
        world.store.close()

    thread = threading.Thread(target=close)
    with world.store.transaction("working") as transaction, psycopg.connect(dsn) as onlooker:
        claim = world.releaser.claim_within(transaction, "list", world.vault.now(transaction))
        thread.start()
        waited = comes_to_wait(thread, onlooker)
    thread.join()
    row = world.rows("posts")[receipt.post]
    world.releaser.mark(claim, world.releaser.deliver(claim))

    assert waited
    assert (row["claim"], row["fresh"]) == (claim.token, 0)
    assert world.gate.status(receipt.secret).state == "released"
    assert len(world.delivered) == 1


def test_rows_that_a_lockout_has_moved_do_not_stand_out(new_world, dsn):
    """They share a transaction with all that need any account, and lie among them after a public moment."""
    world = wiki_world(new_world)
    of = {"nym": [], "bob": []}
    for number in range(20):
        for account, posts in of.items():
            posts += [say(world, f"{number} {n}", account, actor=f"{account} {number}").post for n in "ab"]
    world.pass_ticks(BATCHED["held"], release=False)
    assert {row["fresh"] for row in world.dump("posts")} == {0}
    lock(world, "nym")
    while not world.dump("lockouts"):
        world.pass_ticks(1, release=False)
        work(world)

    with psycopg.connect(dsn, autocommit=True) as thief:
        seen = [thief.execute("SELECT xmin, id FROM posts WHERE state = 'waiting'").fetchall()]
        world.pass_ticks(WINDOW, release=False)
        seen.append(
            thief.execute("SELECT xmin, id FROM posts WHERE state = 'waiting' ORDER BY ctid").fetchall()
        )
    assert [len({xmin for xmin, _ in rows}) for rows in seen] == [1, 1]
    owners = [post in of["nym"] for _, post in seen[1]]
    runs = 1 + sum(one != other for one, other in pairwise(owners))
    assert {True, False} == set(owners)
    assert runs > 8  # of eighty in random order about forty: fewer than nine with a chance below 1e-9


def test_several_admissions_at_once_move_a_personal_store_once(new_world):
    """When many arrive after missed ticks, what waits moves by the ticks missed and not by more."""
    world = new_world(stiff_policy(), personal=True)
    waiting = world.admit(actor="zoe", target="p0")

    def admit(actor):
        Gate(world.vault, world.policy).admit(Post(actor=actor, target="p1", outlet="list", content=b""))

    for round_number in (1, 2, 3):
        world.clock.sleep(30)  # of which one tick closes in time
        together(*(lambda actor=f"a{n}": admit(actor) for n in range(6)), store=world.store)

        moved = world.gate.status(waiting.secret).earliest - waiting.status.earliest
        assert moved == 29 * round_number


def test_a_server_that_goes_away_is_unavailable_and_comes_back(new_world, postgres_server):
    """While the server is down the store says so; afterwards everything acknowledged is there."""
    world = new_world()
    receipt = world.admit()
    postgres_server.stop()
    try:
        with pytest.raises(Unavailable, match="the store cannot be"):
            world.admit(target="p2")
        with pytest.raises(Unavailable, match="the store cannot be opened"):
            PostgresStore(world.store.dsn)
    finally:
        postgres_server.start()

    assert world.gate.status(receipt.secret).state == "waiting"
    assert len(world.dump("posts")) == 1


def test_two_schemas_are_two_stores(new_world, postgres_server):
    """Stores in two schemas of one database know nothing of each other."""
    world = new_world()
    world.admit()
    other = PostgresStore(postgres_server.new_schema())
    with other.transaction("working") as transaction:
        assert transaction.one("busy_until")["waiting"] == 0
    other.close()


def test_what_is_acknowledged_is_on_the_disk(dsn):
    """The store asks for durable commits, whatever the server's default is."""
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    store = PostgresStore(dsn)
    with store.transaction("working") as transaction:
        row = transaction._connection.execute("SHOW synchronous_commit").fetchone()
    store.close()

    assert row == {"synchronous_commit": "on"}


def test_the_databases_clock_is_everybodys(dsn):
    """A store in a database is read by the wall clock of the server."""
    store = PostgresStore(dsn)
    with store.transaction("working") as transaction:
        server = transaction.one("now")["now"]
    reading = store.clock().read(server)
    store.close()

    assert reading.wall == server
    assert abs(server - store.clock().read().wall) < 60_000_000  # the same machine, here


def test_several_processes_may_open_a_new_store_at_once(dsn):
    """Whoever comes first builds the tables; nobody fails."""
    stores = []

    def visit():
        stores.append(PostgresStore(dsn))
        stores[-1].close()

    together(*[visit] * 5)

    assert len(stores) == 5


def test_without_the_package_it_says_what_to_install(monkeypatch):
    """Where psycopg is missing the error says how to get it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotPossible, match=r"pip install 'psycopg\[binary\]'"):
        PostgresStore("postgresql://nowhere/")


def test_a_place_holds_the_servers_clock(new_world):
    """Where a store stands is told with the server's time, in one question."""
    world = new_world()
    with world.store.transaction("working") as transaction:
        assert abs(snapshot(transaction).now - transaction.one("now")["now"]) < 60_000_000


@pytest.mark.parametrize("kind", ["reading", "working", "admitting", "closing"])
def test_every_statement_sees_what_was_committed_before_it(dsn, kind):
    """A server whose default is one snapshot for a whole transaction changes nothing for the keeper."""
    store = PostgresStore(dsn)
    store.connection().execute("SET default_transaction_isolation = 'repeatable read'")
    store.connection().execute("SET default_transaction_read_only = on")
    with store.transaction(kind) as transaction:
        shown = [
            transaction._connection.execute(f"SHOW transaction_{what}")
            for what in ("isolation", "read_only")
        ]
        found = [next(iter(cursor.fetchone().values())) for cursor in shown]
    store.close()

    assert found == ["read committed", "on" if kind == "reading" else "off"]


def test_a_server_that_is_read_only_is_away(dsn):
    """A standby may become the server again: it is waited for."""
    store = PostgresStore(dsn)

    def write_to_a_standby():
        with store.transaction("working") as transaction:
            transaction._connection.execute("SET TRANSACTION READ ONLY")
            transaction.run("unpark", id=1, problem=None, anew=0)

    with pytest.raises(Unavailable, match="read-only"):
        write_to_a_standby()
    store.close()


def test_a_server_that_is_gone_without_a_word_is_noticed(dsn):
    """The system's own patience is two hours; whoever says otherwise in the URL is heard."""
    stores = [PostgresStore(dsn), PostgresStore(f"{dsn}&tcp_user_timeout=90000")]
    told = [store.connection().info.get_parameters() for store in stores]
    for store in stores:
        store.close()

    assert told[0]["keepalives_idle"] == "10"
    assert [each["tcp_user_timeout"] for each in told] == ["30000", "90000"]


def test_a_connection_that_was_cut_while_nobody_used_it_is_made_anew(dsn):
    """Every thread has one: after a restart of the server each would fail once, long after it is back."""
    store = PostgresStore(dsn)
    with psycopg.connect(dsn, autocommit=True) as other:
        mine = store.connection().info.backend_pid
        assert other.execute("SELECT pg_terminate_backend(%s, 10000)", (mine,)).fetchone() == (True,)
    with store.transaction("reading") as transaction:
        assert transaction.one("now")["now"]
    store.close()


def rows_of(table, count):
    """Rows of every kind: bytes that are no text, text that is no ASCII, columns that are empty or not."""
    known = {
        "insert_post": {
            "target": ["p1", 'quoted "\\" and\ttabbed', "\u65e5\u672c \U0001f600"],
            "outlet": ["list"],
            "options": [b"{}", bytes(range(256))],
            "content": [b"", bytes(range(255, -1, -1)), b"x" * 100_000],
            "release": [None, 7, (1 << 62) + 1],
            "parent": [None, 3],
            "receipt": [bytes(32)],
            "pseudonym": [None, b"\xff" * 16],
            "body": [None, b"\x00"],
        },
        "insert_arrival": {
            "actor": [b"\x00\xff"],
            "pseudonym": [bytes(16)],
            "arrival": [5, (1 << 62) + 1],
            "declared": [0, 1],
            "unbatched": [0, 1 << 40],
            "batched": [9],
            "deadline": [None, 11],
            "shift": [0, 5],
            "label": [None, 0, 1],
            "period": ["", "talk 1"],
            "earliest": [None, 1],
            "latest": [None, 2],
        },
        "publish": {
            "space": ["talk", "caf\u00e9"],
            "target": ["p1", "it's"],
            "content": [b"", bytes(range(256))],
            "options": ["{}", '{"a": "\\u0000"}'],
            "at": [1, (1 << 62) + 1],
        },
    }[table]
    mine = {"position": 0} if table == "publish" else {}
    rows = []
    for n in range(count):
        row = {name: values[n % len(values)] for name, values in known.items()} | mine
        rows.append(row | ({"position": n, "id": f"{n:032x}"} if mine else {"id": (n << 55) + n}))
    return rows


@pytest.mark.parametrize(
    ("name", "table"), [("insert_post", "posts"), ("insert_arrival", "arrivals"), ("publish", "releases")]
)
def test_several_rows_at_once_are_stored_as_they_would_be_one_by_one(postgres_server, name, table):
    """Another statement, and the same bytes; what is there already stays as it is."""
    rows, found = rows_of(name, 12), []
    for lots in ([rows], [[row] for row in rows]):
        store = PostgresStore(postgres_server.new_schema(), ROOMS)
        with store.transaction("working") as transaction:
            for lot in lots:
                transaction.many(name, lot)
            if name == "publish":
                transaction.many(name, [row | {"position": 99} for row in rows])
            cursor = transaction._connection.execute(f"SELECT * FROM {table} ORDER BY id")  # noqa: S608 - ours
            found.append([dict(row) for row in cursor.fetchall()])
        store.close()

    assert found[0] == found[1]
    assert len(found[0]) == 12


def test_what_is_copied_and_what_is_not():
    """An INSERT of one row becomes a COPY; one that looks, or does more, stays what it is."""
    texts = queries("postgres", ROOMS)
    copied = {name for name, text in texts.items() if statement_of(text).copy}

    assert {"insert_post", "insert_arrival", "count_hour", "publish", "leave_legacy"} & copied == {
        "insert_post",
        "insert_arrival",
    }


def test_after_an_error_nothing_is_written_and_the_connection_goes_on(dsn):
    """Of statements that went together the first error is told; what came before it is undone."""
    store = PostgresStore(dsn)
    (post,) = rows_of("insert_post", 1)

    def break_it(break_off):
        with store.transaction("working") as transaction:
            transaction.tell("insert_post", **post)
            break_off(transaction)
            transaction.tell("insert_post", **post | {"id": 5})

    def add_twice(transaction):
        transaction.tell("insert_post", **post)

    def copy_twice(transaction):
        transaction.many("insert_post", [post] * 9)

    def say_something_wrong(transaction):
        transaction._wire.send(statement_of("SELECT nothing"), {})

    def think_better_of_it(_):
        raise ZeroDivisionError

    for break_off, error in (
        (add_twice, psycopg.errors.UniqueViolation),
        (copy_twice, psycopg.errors.UniqueViolation),
        (say_something_wrong, psycopg.errors.UndefinedColumn),
        (say_something_wrong, psycopg.errors.UndefinedColumn),
        (think_better_of_it, ZeroDivisionError),
    ):
        with pytest.raises(error):
            break_it(break_off)
    for _ in range(9):  # what psycopg itself does on the connection disturbs nothing
        store.connection().execute("SELECT count(*) AS n FROM posts").fetchone()
        with pytest.raises(ZeroDivisionError):
            break_it(think_better_of_it)
    with store.transaction("working") as transaction:
        transaction.many("insert_post", rows_of("insert_post", 9))
        count = transaction._connection.execute("SELECT count(*) AS n FROM posts").fetchone()["n"]
    store.close()

    assert count == 9


@pytest.mark.parametrize("kind", ["asked", "copied"])
def test_a_connection_that_is_cut_in_the_middle_is_told_and_made_anew(dsn, kind):
    """Whatever was on its way: nothing of it is written, and the next transaction has a new connection."""
    store = PostgresStore(dsn)

    def cut_off():
        with store.transaction("working") as transaction, psycopg.connect(dsn, autocommit=True) as other:
            mine = transaction._connection.info.backend_pid
            transaction.tell("insert_post", **rows_of("insert_post", 1)[0])
            if kind == "asked":
                transaction.one("now")
            other.execute("SELECT pg_terminate_backend(%s, 10000)", (mine,))
            if kind == "asked":
                transaction.one("now")
            else:
                transaction.many("insert_post", rows_of("insert_post", 9))

    with pytest.raises(Unavailable):
        cut_off()
    with store.transaction("working") as transaction:
        count = transaction._connection.execute("SELECT count(*) AS n FROM posts").fetchone()["n"]
    store.close()

    assert count == 0


@pytest.mark.parametrize("value", ["a\0b", 1.5, object()])
def test_what_no_column_holds_is_refused_before_it_is_sent(value):
    """The server would cut a text off at a NUL."""
    with pytest.raises((BadInput, TypeError), match="must"):
        parameter(value)


def test_large_rows_are_not_sent_all_at_once(dsn, monkeypatch):
    """What goes to the server at once lies in memory twice, and posts may have megabytes each."""
    store, sent = PostgresStore(dsn), []
    copy = Wire.copy

    def noted(wire, into, rows):
        sent.append(sum(map(len, copy_rows(into, rows))))
        copy(wire, into, rows)

    monkeypatch.setattr(Wire, "copy", noted)
    rows = [row | {"content": b"x" * 150_000} for row in rows_of("insert_post", 30)]
    large = [row | {"id": row["id"] + 100, "content": b"x" * (3 << 20)} for row in rows[:3]]
    with store.transaction("working") as transaction:
        transaction.many("insert_post", [*large, *rows])
        count = transaction._connection.execute("SELECT count(*) AS n FROM posts").fetchone()["n"]
    store.close()

    assert count == 33
    assert len(sent) > 3
    assert sorted(sent)[-4] < 2 << 20 < 3 << 20 < sorted(sent)[-3]
