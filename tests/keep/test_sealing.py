"""A store that was begun without encryption is encrypted: wholly or not at all, and no old byte is left."""

import multiprocessing
import os
import signal

import pytest
from cryptography.exceptions import InvalidTag

from contracts.keeping import WINDOW, World
from tarry.core.errors import NotPossible
from tarry.keep import changes
from tarry.keep.changes import change_key, encrypt_store
from tarry.keep.errors import Refused, Unavailable
from tarry.keep.keys import Keys, Sealed
from tarry.keep.postgres import PostgresStore
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import check_key

POSTS = 250  # more than two pages
NEW = Keys(bytes(range(32, 64)))


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request, tmp_path):
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "store")
    dsn = request.getfixturevalue("postgres_server").new_schema()
    return lambda: PostgresStore(dsn)


@pytest.fixture
def world(reopen):
    """People have posted; nothing is encrypted."""
    world = World(reopen)
    yield world
    world.leave()


def fill(world, posts=POSTS):
    """Everybody says something."""
    for number in range(posts):
        world.admit(actor=f"actor {number}", target=f"p{number}", content=b"what %d says" % number)


def contents(world) -> list[bytes]:
    return [bytes(row["content"]) for row in world.dump("posts")]


def test_what_waits_is_encrypted_and_leaves_as_it_was_meant(world):
    fill(world)
    before = world.rows("posts")

    assert encrypt_store(world.store, world.keys) == POSTS
    assert not any(b"says" in content for content in contents(world))
    sealed = {"content", "options"}
    assert all(
        {k: v for k, v in row.items() if k not in sealed}
        == {k: v for k, v in before[post].items() if k not in sealed}
        for post, row in world.rows("posts").items()
    )
    world.restart()
    assert world.vault.settings.is_encrypted
    late = world.admit(actor="late", content=b"what a late one says")
    assert b"says" not in world.rows("posts")[late.post]["content"]

    world.pass_ticks(WINDOW + 2)

    left = sorted(release.content for release in world.outlets["list"].delivered)
    assert left == sorted([*(b"what %d says" % n for n in range(POSTS)), b"what a late one says"])


def test_a_program_that_has_the_store_open_does_not_go_on(world):
    """It would publish what is encrypted, and store what is not."""
    receipt = world.admit()
    encrypt_store(world.store, world.keys)
    world.clock.sleep(10)
    world.close()
    acts = [
        world.admit,
        world.releaser.release,
        lambda: world.gate.replace(receipt.secret, b"in the open"),
        lambda: world.gate.reading(receipt.secret),
        lambda: world.gate.content_of(receipt.post),
        lambda: world.gate.options_of(receipt.post),
    ]
    for act in acts:
        with pytest.raises(Unavailable, match="start this program again"):
            act()
    assert world.outlets["list"].delivered == []
    world.restart()
    world.releaser.release()

    assert [release.content for release in world.outlets["list"].delivered] == [b"ann on p1"]


def killed_at(step, path, keys, posts):
    """Runs in a process of its own, and dies."""

    class Deadly(Sealed):
        sealed = 0

        def shut(self, *arguments):
            type(self).sealed += 1
            if type(self).sealed == posts:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().shut(*arguments)

    if step == "half way":
        changes.Sealed = Deadly
    encrypt_store(SqliteStore(path), keys)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", ["half way", "before its traces are cleared"])
def test_whoever_is_killed_meanwhile_begins_again_and_no_old_byte_is_left(tmp_path, step):
    folder = tmp_path / "here"
    folder.mkdir()
    world = World(lambda: SqliteStore(folder / "store"))
    fill(world)
    world.store.close()
    arguments = (step, folder / "store", world.keys, POSTS)
    process = multiprocessing.get_context("fork").Process(target=killed_at, args=arguments)
    process.start()
    process.join(60)

    assert process.exitcode == -signal.SIGKILL
    world.restart()
    half_way = step == "half way"
    assert world.vault.settings.is_encrypted is not half_way
    assert all(b"says" in content for content in contents(world)) is half_way
    assert encrypt_store(world.store, world.keys) == (POSTS if half_way else None)
    assert world.store.clear_traces(last=True)
    world.restart()
    assert min(map(world.gate.content_of, world.rows("posts"))) == b"what 0 says"
    world.leave()
    raw = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"says" not in raw


# --- another key --------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["many people's", "one person's"])
def sealed(request, reopen):
    """Posts wait, encrypted, and no arrival is left."""
    world = World(reopen, personal=request.param, sealed=True)
    for target in ("p1", "p2", "p3"):
        world.admit(target=target, content=b"what is said on " + target.encode())
    world.pass_ticks(2 * WINDOW + 1)
    yield world
    world.leave()


def rekey(world, **more):
    """Give it another key, and open it with that."""
    change_key(world.store, world.clock, world.keys, NEW, **more)
    world.keys = NEW
    world.restart()


def test_what_waits_leaves_under_another_key_as_it_was_meant(sealed):
    before = sealed.rows("posts")
    rekey(sealed, owner="ann", forget=True)

    assert all(row["content"] != before[post]["content"] for post, row in sealed.rows("posts").items())
    assert all(row["release"] == before[post]["release"] for post, row in sealed.rows("posts").items())
    sealed.pass_ticks(20)
    left = sorted(release.content for release in sealed.outlets["list"].delivered)
    assert left == [b"what is said on p1", b"what is said on p2", b"what is said on p3"]


def test_the_old_key_is_of_no_use_any_more(sealed):
    old, stored = sealed.keys, [row["content"] for row in sealed.dump("posts")]
    running = sealed.gate
    rekey(sealed, owner="ann", forget=True)

    with pytest.raises(NotPossible, match="not the one that this store was begun with"):
        check_key(sealed.store, old)
    for row in sealed.dump("posts"):
        assert row["content"] not in stored
        with pytest.raises(InvalidTag):
            Sealed(old.seal).open(row["id"], "content", row["content"])
    with pytest.raises(Unavailable, match="start this program again"):
        running.content_of(sealed.dump("posts")[0]["id"])


def test_of_one_persons_own_store_everything_is_known_again(reopen):
    """The ledger, and what is posted in the place of a post that is withdrawn afterwards."""
    world = World(reopen, personal=True, sealed=True)
    old = world.admit(target="p1")
    world.admit(target="p2")
    world.pass_ticks(2 * WINDOW + 1)
    counted = world.gate.batched_acts("ann")
    rekey(world, owner="ann")
    child = world.admit(target="p1", depends_on=old.post)
    world.gate.withdraw_post(old.post)

    assert world.gate.batched_acts("ann") == counted == 2
    assert child.status.latest >= old.status.latest
    assert world.admit(target="p1").status.release_at == old.status.latest
    world.leave()


def test_of_a_store_that_many_share_nothing_of_the_old_key_is_left(reopen):
    """Hashes that cannot be made anew are gone; the receipts are as good as before."""
    world = World(reopen, sealed=True)
    receipts = {target: world.admit(target=target) for target in ("p1", "p2", "p3", "p4")}
    world.pass_ticks(2 * WINDOW + 1)
    world.gate.withdraw(receipts["p2"].secret)
    world.gate.withdraw_post(receipts["p3"].post)
    with pytest.raises(NotPossible, match="use --forget-accounts to erase them"):
        rekey(world)
    rekey(world, forget=True)

    assert world.dump("ledger") == []
    assert {row["pseudonym"] for row in world.dump("posts")} == {None}
    assert [(row["target"], row["pseudonym"]) for row in world.dump("legacies")] == [("p3", None)]
    world.admit(target="p4", depends_on=receipts["p4"].secret)
    assert world.gate.replace(receipts["p1"].secret, b"better").state == "waiting"
    assert world.gate.replace(receipts["p3"].secret, b"again").state == "waiting"
    world.pass_ticks(30)
    assert sorted(target for target, _ in world.delivered) == ["p1", "p3", "p4", "p4"]
    world.leave()


def test_what_cannot_be_made_anew_keeps_the_old_key(world):
    """Arrivals that labels need, and posts that the place may know: nothing is changed."""
    world.admit()
    with pytest.raises(NotPossible, match="the last arrivals are not erased yet"):
        rekey(world)
    world.outlets["list"].broken = Refused("no")
    world.pass_ticks(2 * WINDOW + 1)
    with pytest.raises(NotPossible, match="posts were tried that have not left"):
        rekey(world)
    world.gate.withdraw_post(world.dump("posts")[0]["id"])
    lockout = {"since": world.closed, "until": world.closed + 5, "resumes": world.closed + 6}
    world.tell("lock_out", account=world.keys.login("nym"), **lockout)
    with pytest.raises(NotPossible, match="an account cannot get in"):
        rekey(world)
    check_key(world.store, world.keys)
