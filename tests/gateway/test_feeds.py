"""The feed in its three forms: paged JSON, Atom, and server-sent events."""

import threading
from contextlib import ExitStack
from xml.etree import ElementTree as ET

import pytest
from starlette.testclient import TestClient

from tarry.gateway.app import create_app
from tarry.gateway.feed import MOST_BYTES, Feed, FeedOutlet
from tarry.gateway.limits import Limits, read_networks
from tarry.gateway.testing import small_gateway
from tarry.keep.posts import Release
from tarry.keep.sqlite import SqliteStore

LONGEST = 60
ATOM = {"a": "http://www.w3.org/2005/Atom"}


def publish(gateway, count: int, *, start=0, space="talk", content=None, **options) -> None:
    """Releases, as a worker writes them."""
    with gateway.store.transaction("working") as transaction:
        releases = [
            Release(
                id=f"{space}{n:028x}",
                target=f"p{n}",
                content=content if content is not None else f"{n}".encode(),
                options=options,
                at=1_767_225_600 + n,
            )
            for n in range(start + 1, start + count + 1)
        ]
        FeedOutlet(space).record(transaction, releases)


# --- JSON ---------------------------------------------------------------------------------------------


def test_an_empty_feed_says_where_to_begin(site):
    """Nothing, and position 0."""
    assert site.feed() == {"space": "talk", "items": [], "next": 0}


@pytest.mark.parametrize("size", [1, 7, 50, 51, 500])
def test_pages_hold_everything_once_and_in_order(site, size):
    """However large they are."""
    publish(site.gateway, 130)
    seen, place = [], 0
    while items := (page := site.feed(after=place, limit=size))["items"]:
        assert len(items) <= size
        assert page["next"] == items[-1]["position"]
        seen, place = seen + [item["position"] for item in items], page["next"]

    assert seen == list(range(1, 131))
    assert page["next"] == 130


@pytest.mark.parametrize("size", [1, 7, 50, 51, 120, 500])
def test_without_a_place_the_latest_are_told_in_order(site, size):
    """The last so many, first things first; `next` goes on from there."""
    publish(site.gateway, 130)
    page = site.feed(limit=size)

    assert [item["position"] for item in page["items"]] == list(range(max(1, 131 - size), 131))
    assert page["next"] == 130


def test_large_contents_make_smaller_pages_and_none_is_lost(site):
    """An answer has an end even where somebody has posted much."""
    publish(site.gateway, 120, content=b"x" * 200_000)
    seen, place, most = 0, 0, 0
    while items := (page := site.feed(after=place))["items"]:
        seen, place, most = seen + len(items), page["next"], max(most, len(items))
    latest = site.feed()["items"]

    assert seen == 120
    assert most * 200_000 <= MOST_BYTES
    assert [item["position"] for item in latest] == list(range(121 - len(latest), 121))
    assert 0 < len(latest) * 200_000 <= MOST_BYTES
    assert len(site.http.get("/v1/spaces/talk/feed.atom").content) < 1.1 * MOST_BYTES


def test_one_reader_never_holds_much_in_memory(site):
    """There may be many of them; a release that is larger comes alone."""
    publish(site.gateway, 3, content=b"x" * (MOST_BYTES + 1))
    feed = Feed(site.gateway.store, "talk")

    assert [item.position for item in feed.latest()] == [3]
    assert [size.position for size in feed.sizes_after(0)] == [1]
    assert [size.position for size in feed.sizes_after(1, enough=9)] == [2]
    assert feed.sizes_after(3) == []


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=9223372036854775808", "after=", "limit=0"])
def test_odd_places_and_limits_are_refused(site, query):
    """In one sentence that says what they are."""
    answer = site.http.get(f"/v1/spaces/talk/feed?{query}")

    assert answer.status_code == 422
    assert "must be a whole number from" in answer.json()["detail"]


@pytest.mark.parametrize(
    "query", ["limit=501", "limit=1e3", "limit=%D9%A1", "after=1&after=2", "limit=1&limit="]
)
def test_so_are_others(site, query):
    """Also two of them: nobody knows which one is meant."""
    assert site.http.get(f"/v1/spaces/talk/feed?{query}").status_code == 422


def test_a_place_beyond_the_end_stays_where_it_is(site):
    """Whoever asks again misses nothing."""
    publish(site.gateway, 3)

    assert site.feed(after=9)["next"] == 9


def test_content_that_is_no_text_is_told_in_base64(site):
    """Whatever an outlet was given, the feed can be read."""
    publish(site.gateway, 1, content=b"\xff\xfe")
    publish(site.gateway, 1, start=1, content=b"[1", content_type="application/json")
    told = site.feed()["items"]

    assert [item["content_base64"] for item in told] == ["//4=", "WzE="]
    assert all("content" not in item for item in told)


# --- Atom ----------------------------------------------------------------------------------------------


def test_the_atom_feed_is_valid(site):
    """It parses, and every element that RFC 4287 wants is there, with ids of their own."""
    publish(site.gateway, 70)
    answer = site.http.get("/v1/spaces/talk/feed.atom")
    feed = ET.fromstring(answer.content)  # noqa: S314 - we have made it
    entries = feed.findall("a:entry", ATOM)
    ids = [entry.findtext("a:id", namespaces=ATOM) for entry in entries]

    assert answer.headers["content-type"] == "application/atom+xml"
    assert len(entries) == len(set(ids)) == 50
    assert entries[0].findtext("a:title", namespaces=ATOM) == "p70"
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"a:{name}", ATOM)) == 1, name
    assert feed.findtext("a:author/a:name", namespaces=ATOM) == "talk"
    assert feed.find("a:link[@rel='self']", ATOM).get("href") == "/v1/spaces/talk/feed.atom"
    assert feed.findtext("a:updated", namespaces=ATOM) == entries[0].findtext("a:updated", namespaces=ATOM)


def test_an_empty_atom_feed_is_valid_too(site):
    """It has an id, a title and a moment all the same."""
    feed = ET.fromstring(site.http.get("/v1/spaces/talk/feed.atom").content)  # noqa: S314 - we have made it

    assert feed.findtext("a:updated", namespaces=ATOM) == "1970-01-01T00:00:00Z"
    assert feed.findall("a:entry", ATOM) == []


HOSTILE = (
    "\0\x01\x08\x0b\x1f\x7f\x85\u2028\ufffe\uffff]]><script>&amp;</entry><![CDATA[\u202e\U0001f600\r\n"
)


def test_nothing_in_a_post_breaks_the_atom_feed(site):
    """Control characters are replaced, markup is text."""
    site.receipt(target="t" + HOSTILE.replace("\0", ""), content=HOSTILE)
    site.pass_ticks(LONGEST)
    feed = ET.fromstring(site.http.get("/v1/spaces/talk/feed.atom").content)  # noqa: S314 - we have made it
    (entry,) = feed.findall("a:entry", ATOM)

    assert "]]><script>&amp;</entry><![CDATA[" in entry.findtext("a:content", namespaces=ATOM)
    assert "\ufffd" in entry.findtext("a:title", namespaces=ATOM)
    assert len(entry) == 4


@pytest.mark.parametrize("host", ["[", "a b", "evil.example", "\x01"])
def test_the_host_header_has_no_say_in_the_atom_feed(site, host):
    """The same bytes, whatever it is."""
    plain = site.http.get("/v1/spaces/talk/feed.atom")
    odd = site.http.get("/v1/spaces/talk/feed.atom", headers={"Host": host})

    assert odd.status_code == 200
    assert odd.content == plain.content


# --- server-sent events -------------------------------------------------------------------------------


@pytest.fixture
def served(tmp_path, new_server):
    """A gateway over a file behind a real server; gives its address and the gateway."""
    gateway = small_gateway(store=SqliteStore(tmp_path / "store", ("tarry.keep", "tarry.gateway")))
    server = new_server(create_app(gateway, limits=Limits(open_streams=3)))
    return server, gateway


@pytest.fixture
def listen(served):
    """Opens streams, and hangs up in the end."""
    server, _ = served
    with ExitStack() as opened:
        client = opened.enter_context(server.client())

        def begin(query="", **headers):
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            stream = client.stream("GET", f"/v1/spaces/talk/feed/events{query}", headers=named)
            return opened.enter_context(stream)

        yield begin


def test_a_listener_hears_what_is_released_from_now_on(served, listen, events):
    """And nothing from before, when it names no place."""
    publish(served[1], 2)
    stream = events(listen())
    stream.comment("here")
    wait_for_looker(served)
    publish(served[1], 2, start=2)

    assert [number for number, _ in stream.take(2)] == [3, 4]


def wait_for_looker(served):
    """Until the newest listener has read where the feed ends: a second listener has been answered."""
    server, _ = served
    with server.client() as client, client.stream("GET", "/v1/spaces/talk/feed/events?after=0") as answer:
        next(answer.iter_lines())


def test_an_event_tells_what_the_feed_tells(served, listen, events):
    """The number is the position, and the data one line of JSON."""
    publish(served[1], 3, content=("line\r\ndata: forged\n\nid: 9\n\n" + HOSTILE + "x" * 100_000).encode())
    stream = events(listen("?after=0"))
    with served[0].client() as client:
        items = client.get("/v1/spaces/talk/feed?after=0").json()["items"]

    assert stream.take(3) == [(item["position"], item) for item in items]


def test_a_listener_who_comes_back_misses_nothing_and_hears_nothing_twice(served, listen, events):
    """Over many reconnections with Last-Event-ID, while releases go on."""
    stopped = threading.Event()

    def work():
        for start in range(0, 300, 10):
            publish(served[1], 10, start=start)
            stopped.wait(0.02)

    worker = threading.Thread(target=work)
    worker.start()
    heard, last, turns = [], "0", [1, 7, 30, 2, 60, 11, 50, 39, 100]
    for count in turns:
        answer = listen(Last_Event_ID=last)
        heard += [number for number, _ in events(answer).take(count)]
        last = str(heard[-1])
        answer.close()
    worker.join()

    assert heard == list(range(1, 301))


def test_the_place_a_listener_names_holds_for_nobody_else(served, listen, events):
    """One who waits beyond the end does not deafen the others."""
    far = events(listen("?after=9000000000000000000"))
    far.comment("here")
    near = events(listen("?after=0"))
    near.comment("here")
    publish(served[1], 3)

    assert [number for number, _ in near.take(3)] == [1, 2, 3]


def test_the_last_event_id_goes_before_the_place_in_the_address(served, listen, events):
    """A browser repeats the address it was given, and adds the header; an odd one is as good as none."""
    publish(served[1], 4)

    assert events(listen("?after=0", Last_Event_ID="3")).take(1)[0][0] == 4
    assert events(listen("?after=1", Last_Event_ID="three")).take(1)[0][0] == 2


def test_a_slow_listener_gets_everything_in_the_end(served, listen, events):
    """It holds nobody up meanwhile, and nothing is kept for it: it reads on from where it was."""
    slow = listen("?after=0")
    for start in range(0, 400, 100):
        publish(served[1], 100, start=start, content=b"x" * 60_000)
    quick = events(listen("?after=0"))

    assert [number for number, _ in quick.take(400)] == list(range(1, 401))
    assert [number for number, _ in events(slow).take(400)] == list(range(1, 401))


def test_one_listener_too_many_is_told_to_come_back(served, listen, wait_until):
    """And when somebody has gone there is room again."""
    server, _ = served
    streams = server.app.state.service.streams
    answers = [listen() for _ in range(3)]
    wait_until(lambda: streams.listeners == 3)
    with server.client() as client:
        refused = client.get("/v1/spaces/talk/feed/events")

        assert refused.status_code == 429
        assert refused.json()["detail"] == "too many streams are open at this moment: try again in 60 s"
        assert refused.headers["retry-after"] == "60"

        answers[0].close()
        wait_until(lambda: streams.listeners == 2)
        assert listen().status_code == 200


def test_one_client_has_a_share_of_the_streams(tmp_path, new_server, wait_until):
    """Others still find room, and are told apart by the proxy that the operator trusts."""
    gateway = small_gateway(store=SqliteStore(tmp_path / "store", ("tarry.keep", "tarry.gateway")))
    limits = Limits(open_streams=3, client_streams=2, trusted_proxies=read_networks("127.0.0.1"))
    server = new_server(create_app(gateway, limits=limits))
    streams, path = server.app.state.service.streams, "/v1/spaces/talk/feed/events"
    mine, yours = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.1, 192.0.2.2"}
    with server.client() as client, ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(client.stream("GET", path, headers=mine))
        wait_until(lambda: streams.listeners == 2)
        refused = client.get(path, headers=mine)
        assert refused.status_code == 429
        assert "too many streams are open from your network address" in refused.json()["detail"]
        assert opened.enter_context(client.stream("GET", path, headers=yours)).status_code == 200
    wait_until(lambda: streams.listeners == 0)

    assert streams._places.total() == 0


def test_a_stream_ends_before_its_client_is_forgotten(served, listen, events, monkeypatch):
    """It would be counted for nobody; whoever comes back goes on where they were."""
    monkeypatch.setattr("tarry.gateway.feed_formats.LONGEST_S", 0.0)
    monkeypatch.setattr("tarry.gateway.feed_formats._COMMENT_S", 0.01)

    assert list(listen().iter_lines()) == [": here", ""]


def test_whoever_goes_is_forgotten(served, listen, wait_until):
    """No listener, no task is left."""
    streams = served[0].app.state.service.streams
    answer = listen()
    wait_until(lambda: streams.listeners == 1)
    answer.close()
    wait_until(lambda: streams.listeners == 0)
    wait_until(lambda: all(looker.done() for looker in streams._lookers.values()))


def test_a_server_that_ends_lets_its_listeners_go(served, listen, wait_until):
    """They would keep it from ending for ever."""
    answer = listen()
    wait_until(lambda: served[0].app.state.service.streams.listeners == 1)
    served[0].stop()

    assert list(answer.iter_lines()) == [": here", ""]


def test_asking_for_the_head_of_a_stream_ends(site):
    """Headers, and no stream that nobody reads."""
    answer = site.http.head("/v1/spaces/talk/feed/events")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert site.app.state.service.streams.listeners == 0


@pytest.mark.parametrize("path", ["feed", "feed.atom", "feed/events"])
def test_a_feed_of_no_space_is_not_there(site, path):
    """404, in one sentence."""
    answer = site.http.get(f"/v1/spaces/nowhere/{path}")

    assert answer.status_code == 404
    assert answer.json()["detail"] == "this gateway has no space 'nowhere': check its name"


def test_the_feed_is_open_to_everybody(site):
    """No token is needed, and none is looked at."""
    anybody = TestClient(site.app)
    for path in ("feed", "feed.atom"):
        assert anybody.get(f"/v1/spaces/talk/{path}").status_code == 200
