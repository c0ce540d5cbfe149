"""Limits: bytes, nesting, seconds, requests of a token, connections and posts of a client."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.gateway.counters import MOST_OWNERS
from tarry.gateway.limits import (
    KEY_S,
    ClientNames,
    ConnectionSlots,
    Limits,
    RateLimiter,
    TooManyRequests,
    check_nesting,
    client_address,
    read_networks,
)

POST = {"actor": "ann", "target": "p1", "content": ""}


def send(site, body: bytes, *, chunks=0, path="posts"):
    """Send bytes, with their length told or in chunks."""
    headers = {"Content-Type": "application/json"}
    parts = (body[i : i + chunks] for i in range(0, len(body), chunks)) if chunks else body
    return site.http.post(f"/v1/spaces/talk/{path}", content=parts, headers=headers)


def padded(size: int) -> bytes:
    """A post of so many bytes."""
    body = json.dumps(POST).encode()
    return body + b" " * (size - len(body))


# --- sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [0, 7, 1000])
def test_a_request_may_be_as_large_as_the_limit_and_no_larger(new_site, chunks):
    """Whether or not it tells its length."""
    site = new_site(limits=Limits(body_bytes=2000))

    assert send(site, padded(2000), chunks=chunks).status_code == 202
    answer = send(site, padded(2001), chunks=chunks)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "a request must have at most 2000 bytes"


@pytest.mark.parametrize("path", ["posts", "batches", "withdrawals"])
def test_every_address_that_reads_has_the_limit(new_site, path):
    """Not just the first one."""
    site = new_site(limits=Limits(body_bytes=2000))

    assert send(site, padded(2001), path=path).status_code == 413


# --- nesting and counts -------------------------------------------------------------------------------


def nested(depth: int) -> list:
    """Lists in lists."""
    made: list = []
    for _ in range(depth - 1):
        made = [made]
    return made


@pytest.mark.parametrize("field", ["content", "options"])
def test_json_may_be_nested_as_deep_as_the_limit_and_no_deeper(site, field):
    """32 deep, whatever it is made of."""
    wrap = (lambda made: made) if field == "content" else (lambda made: {"a": made})
    most = 32 if field == "content" else 31

    assert site.post(**{field: wrap(nested(most))}).status_code == 202
    answer = site.post(**{field: wrap(nested(most + 1))})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "the JSON of a request must be nested at most 32 deep"


def test_a_replacement_has_the_same_limit(site):
    """Content and options."""
    receipt = site.receipt()

    assert site.ask(receipt, "PUT", json={"content": nested(33)}).status_code == 422
    assert site.ask(receipt, "PUT", json={"content": "", "options": {"a": nested(32)}}).status_code == 422
    assert site.ask(receipt, "PUT", json={"content": nested(32)}).status_code == 200


@given(
    st.recursive(
        st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
    )
)
def test_depth_is_the_longest_way_down(made):
    """As one would count it."""

    def depth(value) -> int:
        if not isinstance(value, list | dict):
            return 0
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)

    check_nesting(made, depth(made))
    if depth(made):
        with pytest.raises(ValueError, match="nested"):
            check_nesting(made, depth(made) - 1)


def test_a_batch_has_at_most_so_many_posts(new_site):
    """And at least one."""
    site = new_site(limits=Limits(batch_posts=3))

    def status(count: int) -> int:
        return site.http.post("/v1/spaces/talk/batches", json={"posts": [POST] * count}).status_code

    assert [status(count) for count in (0, 1, 3, 4, 1001)] == [422, 202, 202, 422, 422]


# --- rates -------------------------------------------------------------------------------------------


def test_a_token_that_asks_too_often_is_told_when_to_come_back(new_site):
    """429 with a time; others are not touched."""
    site = new_site(limits=Limits(rate_per_s=0.01, burst=3))
    mine, yours = site.as_("submit"), site.as_("submit")
    statuses = [site.post(headers=mine).status_code for _ in range(5)]
    refused = site.post(headers=mine)

    assert statuses == [202, 202, 202, 429, 429]
    assert 1 <= int(refused.headers["retry-after"]) <= 100
    assert refused.json()["detail"].startswith("this token sends too many requests")
    assert [site.post(headers=yours).status_code for _ in range(4)] == [202, 202, 202, 429]


def test_a_post_costs_the_same_alone_and_in_a_batch(new_site):
    """Nobody is quicker by sending many at once; a batch that is too large costs only its request."""
    site = new_site(limits=Limits(rate_per_s=0.001, burst=10, batch_posts=5))
    mine = site.as_("submit")

    def status(count: int) -> int:
        sent = {"posts": [POST] * count}
        return site.http.post("/v1/spaces/talk/batches", json=sent, headers=mine).status_code

    assert [status(count) for count in (4, 6, 5, 1)] == [202, 422, 202, 429]


def test_a_refused_token_spends_its_own_rate_too(new_site):
    """Asking for what one may not have is asking."""
    site = new_site(limits=Limits(rate_per_s=0.001, burst=2))
    mine = site.as_("submit")

    assert [site.http.get("/v1/tokens", headers=mine).status_code for _ in range(3)] == [403, 403, 429]


@given(
    mine=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 12)), min_size=1, max_size=20),
    others=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 12)), max_size=40),
)
def test_what_a_token_is_answered_depends_on_nobody_else(mine, others):
    """The same requests at the same moments get the same answers, whatever others ask in between."""

    def answers(asked) -> list[bool]:
        now, got = [0.0], []
        buckets = RateLimiter(Limits(rate_per_s=2, burst=10), now=lambda: now[0])
        for at, who, drops in sorted(asked, key=lambda each: (each[0], each[1])):
            now[0] = at
            try:
                buckets.take(who, drops)
            except TooManyRequests as refusal:
                got.append((who, refusal.wait_s))
            else:
                got.append((who, 0))
        return [what for who, what in got if who == "mine"]

    alone = [(at, "mine", drops) for at, drops in mine]
    crowd = [(at, f"other {n % 3}", drops) for n, (at, drops) in enumerate(others)]

    assert answers(alone) == answers(alone + crowd)


@given(st.integers(1, 100), st.floats(0.1, 100), st.integers(1, 300))
def test_whoever_waits_as_long_as_told_gets_in(burst, rate, drops):
    """The time in the refusal is enough, also for a request that is larger than the bucket."""
    now = [0.0]
    buckets = RateLimiter(Limits(rate_per_s=rate, burst=burst), now=lambda: now[0])
    buckets.take("me", burst)
    with pytest.raises(TooManyRequests) as refusal:
        buckets.take("me", drops)
    now[0] += refusal.value.wait_s + 1e-6
    buckets.take("me", drops)


PROXIES = read_networks("127.0.0.1, 10.0.0.0/8, fd00::/8")


def scope(peer, *forwarded):
    """A request from an address, with these headers X-Forwarded-For."""
    headers = [(b"x-forwarded-for", each.encode("latin-1")) for each in forwarded]
    return {"type": "http", "client": (peer, 4711) if peer else None, "headers": headers}


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", [], "2001:db8:1:2::/64"),
        ("192.0.2.1", ["198.51.100.9"], "192.0.2.1"),
        ("127.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("::ffff:127.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("10.1.2.3", ["6.6.6.6, 198.51.100.9"], "198.51.100.9"),
        ("10.1.2.3", ["6.6.6.6", "198.51.100.9"], "198.51.100.9"),
        ("fd00::1", ["6.6.6.6,2001:db8::5"], "2001:db8::/64"),
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", [""], "10.1.2.3"),
        ("10.1.2.3", ["198.51.100.9, unknown"], "10.1.2.3"),
        ("10.1.2.3", ["198.51.100.9,\xff"], "10.1.2.3"),
        ("testclient", ["198.51.100.9"], "testclient"),
        ("", ["198.51.100.9"], ""),
    ],
)
def test_a_client_is_its_address_or_what_a_trusted_proxy_has_written(peer, forwarded, address):
    assert client_address(scope(peer, *forwarded), PROXIES) == address


@pytest.mark.parametrize("text", ["", "localhost", "10.0.0.1/8", "10.0.0.0/8 127.0.0.1", "127.0.0.1,"])
def test_a_proxy_is_named_by_its_address(text):
    with pytest.raises(BadInput, match="trusted_proxies must be IP addresses or networks"):
        read_networks(text)


def test_nobody_can_tell_an_address_from_its_name_or_compare_names_after_an_hour():
    now = [0.0]
    clients, others = ClientNames(now=lambda: now[0]), ClientNames(now=lambda: now[0])
    first = clients.name(scope("192.0.2.1"))

    assert clients.name(scope("192.0.2.1")) == first != clients.name(scope("192.0.2.2"))
    assert others.name(scope("192.0.2.1")) != first
    assert "192" not in first
    now[0] = KEY_S - 1
    assert clients.name(scope("192.0.2.1")) == first
    now[0] = KEY_S
    assert clients.name(scope("192.0.2.1")) != first


def test_one_client_has_a_quarter_of_the_connections():
    room = ConnectionSlots(8, ClientNames(PROXIES))
    places = [room.enter("192.0.2.1") for _ in range(3)]

    assert [place is None for place in places] == [False, False, True]
    room.leave(places[0])
    assert room.enter("192.0.2.1") is not None
    assert [room.enter(f"2001:db8::{n}") is None for n in range(3)] == [False, False, True]


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.9.8.7", "", "::ffff:127.0.0.1"])
def test_a_proxy_and_this_machine_may_have_all_of_them(peer):
    """Many clients are behind them."""
    room = ConnectionSlots(8, ClientNames(PROXIES))

    assert [room.enter(peer) is None for _ in range(9)] == [False] * 8 + [True]


def test_clients_without_end_take_no_memory_without_end_and_get_nobody_refused():
    buckets = RateLimiter(Limits(rate_per_s=0.001, burst=1), now=lambda: 0.0)
    buckets.take("me")
    for number in range(MOST_OWNERS + 5):
        buckets.take(f"{number}")
        if number % 1000 == 0:
            with pytest.raises(TooManyRequests):  # still known: whoever asks is not the one to be forgotten
                buckets.take("me")

    assert len(buckets._levels._levels) == MOST_OWNERS
