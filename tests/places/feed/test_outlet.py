"""The feed file: one durable line a release, and no more than one."""

import fcntl
import json
import os
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from tarry.keep.errors import Refused, Unreachable
from tarry.keep.posts import Release
from tarry.places.feed import outlet as feed_module
from tarry.places.feed.outlet import FeedFile
from tarry.testing.outlets import OutletCase, OutletSuite


class FeedWorld:
    """A feed in a folder."""

    options = {}  # noqa: RUF012 - nobody changes it
    content = b"I agree."

    def __init__(self, folder):
        self.path = folder / "feed.jsonl"
        self.outlet = FeedFile(self.path)

    def sent(self):
        """The lines, with their ends."""
        return self.path.read_bytes().splitlines(keepends=True) if self.path.is_file() else []

    def close(self):
        """Nothing is left open."""


class TestFeed(OutletSuite):
    """The feed file meets the contract of outlets."""

    case = OutletCase(
        world=FeedWorld,
        undeliverable=[{"surprise": 1}],
        troubles={
            "has no folder": (
                lambda world: world.path.parent.rename(f"{world.path.parent} gone"),
                Unreachable,
            ),
            "is a folder": (lambda world: world.path.mkdir(), Refused),
            "is a pipe": (lambda world: os.mkfifo(world.path), Refused),
        },
    )


def release(number, **changes):
    """One of several releases."""
    told = {"id": f"{number:032x}", "target": "paper 3", "content": b"I agree.", "at": Fraction(60)}
    return Release(**{**told, **changes})


def lines(feed):
    """The feed, parsed."""
    return [json.loads(line) for line in feed.path.read_text().splitlines()]


@pytest.fixture
def feed(tmp_path):
    """An empty feed."""
    return FeedFile(tmp_path / "feed.jsonl")


def test_a_line_tells_the_release(feed):
    """A line holds id, target, the moment of the tick and the content."""
    feed.deliver(release(1, at=Fraction(1_767_225_601), content="J’accepte.\u2028Ann".encode()))

    assert lines(feed) == [
        {
            "id": f"{1:032x}",
            "target": "paper 3",
            "at": "2026-01-01T00:00:01Z",
            "content": "J’accepte.\u2028Ann",
        }
    ]
    assert len(feed.path.read_bytes().splitlines()) == 1


def test_a_tick_shorter_than_a_second_is_told(feed):
    """The moment has the fraction of a second that the tick has."""
    feed.deliver(release(1, at=Fraction(1, 4)))

    assert lines(feed)[0]["at"] == "1970-01-01T00:00:00.250000Z"


def test_bytes_that_are_no_text_are_told_in_base64(feed):
    """Content that is not UTF-8 stands under another name, in base64."""
    feed.deliver(release(1, content=b"\xff\x00"))

    assert lines(feed)[0]["content_base64"] == "/wA="
    assert "content" not in lines(feed)[0]


def test_the_file_is_born_private(feed):
    """Only its owner may read a feed that the outlet has made."""
    feed.deliver(release(1))

    assert feed.path.stat().st_mode & 0o777 == 0o600


def test_releases_stand_in_order(feed):
    """Each release has a line, in the order of delivery."""
    for number in range(5):
        feed.deliver(release(number))

    assert [line["id"] for line in lines(feed)] == [f"{number:032x}" for number in range(5)]


@pytest.mark.parametrize("left", [b'{"id": "0000', b"{", b'{"id": "' + b"0" * 200_000])
def test_half_a_line_is_cut_off(feed, left):
    """What a crash has left of a line is removed before the next one is written."""
    feed.deliver(release(1))
    with feed.path.open("ab") as file:
        file.write(left)

    feed.deliver(release(2, attempt=2))

    assert [line["id"] for line in lines(feed)] == [f"{number:032x}" for number in (1, 2)]


def test_a_file_of_half_a_line_is_emptied(feed):
    """The very first line may be the one that was cut off."""
    feed.path.write_bytes(b'{"id": "0')

    feed.deliver(release(1, attempt=2))

    assert [line["id"] for line in lines(feed)] == [f"{1:032x}"]


def test_a_quoted_line_is_not_taken_for_one(feed):
    """Content that looks like the line of a release does not stop that release."""
    fake = json.dumps({"id": f"{2:032x}", "target": "x"})
    feed.deliver(release(1, content=f"\n{fake}\n".encode(), target=f"\n{fake}"))

    feed.deliver(release(2, attempt=2))

    assert [line["id"] for line in lines(feed)] == [f"{number:032x}" for number in (1, 2)]


def test_it_waits_for_whoever_holds_the_lock(feed):
    """While another program holds the file's lock nothing is written, and afterwards it is."""
    feed.deliver(release(1))
    with feed.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        thread = threading.Thread(target=feed.deliver, args=(release(2),))
        thread.start()
        thread.join(0.2)
        waiting = thread.is_alive(), len(lines(feed))
        fcntl.flock(held, fcntl.LOCK_UN)
        thread.join(30)

    assert waiting == (True, 1)
    assert len(lines(feed)) == 2


def test_many_writers_share_a_feed(feed):
    """Lines of several workers never run into each other."""
    threads = [
        threading.Thread(target=lambda k=k: [feed.deliver(release(10 * k + n)) for n in range(10)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(line["id"] for line in lines(feed)) == [f"{number:032x}" for number in range(40)]


def test_a_disk_that_fills_up_leaves_no_half_line(feed, monkeypatch):
    """A write that fails half-way is taken back, and the release is tried again later."""
    feed.deliver(release(1))
    write, begun = os.write, []

    def fills_up(file, data):
        if begun:
            raise OSError(28, "No space left on device")
        begun.append(True)
        return write(file, bytes(data)[:10])

    monkeypatch.setattr(feed_module.os, "write", fills_up)
    with pytest.raises(Unreachable, match="No space left on device"):
        feed.deliver(release(2))
    monkeypatch.undo()

    assert len(lines(feed)) == 1


def test_a_feed_needs_a_folder(tmp_path):
    """A feed whose folder is not there is refused at admission."""
    with pytest.raises(ValueError, match=r"there is no folder .* for the feed file"):
        FeedFile(tmp_path / "none" / "feed.jsonl").check({})
    with pytest.raises(ValueError, match=r"the feed file .* is not a file"):
        FeedFile(Path(tmp_path)).check({})


def test_a_worker_that_was_held_up_does_not_write_again(feed):
    """If another thread took over and delivered, the first one's late try adds nothing."""
    feed.deliver(release(1, attempt=2))
    feed.deliver(release(1, attempt=1))

    assert len(lines(feed)) == 1
