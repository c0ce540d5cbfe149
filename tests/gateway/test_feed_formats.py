"""Releases on their way out: whatever they are, and however they are cut into pieces, they arrive whole."""

import asyncio
import json
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tarry.gateway import feed_formats
from tarry.gateway.database import open_store
from tarry.gateway.feed import MOST_BYTES, Feed, FeedOutlet
from tarry.gateway.feed_formats import TOGETHER, ItemFrame, item_out, json_pieces
from tarry.gateway.routes import spaces
from tarry.keep.posts import Release

IS_JSON = {"content_type": "application/json"}
ODD = '\0\x01\x1f"\\\x7f\x85\u2028\u2029\ufffeé\U0001f600]]>\r\n'
LARGE = {
    "text": ((ODD * 20_000).encode(), {}),
    "plain text": (b"x" * 300_000, {"by": "somebody"}),
    "JSON": (json.dumps([ODD] * 5000, ensure_ascii=False, indent=1).encode(), IS_JSON),
    "no JSON": (b"[" * 300_000, IS_JSON),
    "no text": (b"\xff\xfe\0" * 100_001, {}),
    "text that was cut off": (("\U0001f600" * 50_000).encode()[:-1], {}),
}


def publish(store, contents) -> Feed:
    """Releases with these contents and options."""
    releases = [
        Release(id=f"{n:032x}", target=f"p{n}{ODD[1:]}", content=content, options=options, at=n)
        for n, (content, options) in enumerate(contents)
    ]
    with store.transaction("working") as transaction:
        FeedOutlet("talk").record(transaction, releases)
    return Feed(store, "talk")


def pieces(feed, first=1, last=1 << 30) -> list[bytes]:
    """What is told of them, a line for each."""

    async def call(step):
        return step()

    async def read():
        return [
            piece async for piece in json_pieces(feed, call, first, last, ItemFrame(lambda _: b"", b"\n"))
        ]

    return asyncio.run(read())


def whole(feed, first=1, last=1 << 30) -> list:
    """The same, told at once."""
    return [msgspec.to_builtins(item_out(item)) for item in feed.between(first, last)]


@pytest.fixture(params=["memory", "postgres"])
def store(request):
    """Both kinds of store."""
    where = (
        ":memory:" if request.param == "memory" else request.getfixturevalue("postgres_server").new_schema()
    )
    opened = open_store(where)
    yield opened
    opened.close()


def test_large_releases_arrive_as_they_are_and_in_small_pieces(store):
    small = (b"I agree.", {})
    feed = publish(store, [small, *LARGE.values(), small, small])
    read = pieces(feed)

    assert [json.loads(line) for line in b"".join(read).splitlines()] == whole(feed)
    assert max(map(len, read)) <= TOGETHER


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.binary(max_size=40) | st.text(max_size=60).map(str.encode),
            st.just({}) | st.just(IS_JSON) | st.just({"by": ODD * 9}),
        ),
        max_size=12,
    ),
    st.integers(300, 1500),
    st.integers(1, 13),
    st.integers(1, 14),
)
def test_wherever_they_are_cut_they_arrive_whole(monkeypatch, contents, together, first, last):
    monkeypatch.setattr(feed_formats, "TOGETHER", together)
    monkeypatch.setattr(feed_formats, "_SLICE", 3)
    monkeypatch.setattr(feed_formats, "_LETTERS", 2)
    monkeypatch.setattr(feed_formats, "_AT_ONCE", 3)
    feed = publish(open_store(":memory:"), contents)
    lines = b"".join(pieces(feed, first, last)).splitlines()

    assert [json.loads(line) for line in lines] == whole(feed, first, last)


def test_options_do_not_make_a_piece_large():
    """They are not counted beforehand."""
    feed = publish(open_store(":memory:"), [(b"x", {"by": "x" * 16_000})] * 50)

    assert max(map(len, pieces(feed))) < TOGETHER + (17 << 10)


def test_an_answer_is_bounded_in_the_bytes_that_are_sent(site):
    """Control characters are six times as long in JSON."""
    publish(site.gateway.store, [(b"\x01" * (1 << 20), {})] * 3 + [(b"\x01" * 100_000, {})] * 30)
    answers = [site.http.get(f"/v1/spaces/talk/feed{query}") for query in ("", "?after=0", "?after=3")]

    assert all(len(answer.content) <= MOST_BYTES for answer in answers)
    assert [len(answer.json()["items"]) for answer in answers] == [12, 1, 12]
    assert len(site.http.get("/v1/spaces/talk/feed.atom").content) <= MOST_BYTES


def test_of_a_large_answer_the_head_is_told_and_nothing_read(site, monkeypatch):
    publish(site.gateway.store, [(b"\x01" * 100_000, {})])
    read = Mock()
    monkeypatch.setattr(Feed, "one", read)
    answer = site.http.head("/v1/spaces/talk/feed")

    assert (answer.status_code, answer.content, read.call_count) == (200, b"", 0)


def test_what_is_the_same_for_all_is_written_once(site, monkeypatch):
    """Until something is released."""
    writes = Mock(wraps=spaces.atom_feed)
    monkeypatch.setattr(spaces, "atom_feed", writes)
    first = [site.http.get("/v1/spaces/talk/feed.atom").content for _ in range(3)]
    publish(site.gateway.store, [(b"I agree.", {})])
    second = [site.http.get("/v1/spaces/talk/feed.atom").content for _ in range(3)]

    assert writes.call_count == 2
    assert b"I agree." not in first[0]
    assert {b"I agree." in each for each in second} == {True}
