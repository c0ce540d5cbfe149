"""A store that was begun without encryption is encrypted: wholly or not at all, and no old byte is left."""

import multiprocessing
import os
import signal

import pytest

from contracts.keeping import WINDOW, World
from tarry.keep import sealing
from tarry.keep.errors import Unavailable
from tarry.keep.postgres import PostgresStore
from tarry.keep.seal import Sealed
from tarry.keep.sealing import encrypt_store
from tarry.keep.sqlite import SqliteStore

POSTS = 250  # more than two pages


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
        sealing.Sealed = Deadly
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
