"""Who a client is: an address, or what a trusted proxy says; never what the client says itself."""

import pytest

from tarry.core.errors import BadInput
from tarry.gateway.clients import KEY_S, Clients, Room, client_address, read_networks
from tarry.gateway.limits import _MOST_BUCKETS, Buckets, Limits, TooMany

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
    clients, others = Clients(now=lambda: now[0]), Clients(now=lambda: now[0])
    first = clients.name(scope("192.0.2.1"))

    assert clients.name(scope("192.0.2.1")) == first != clients.name(scope("192.0.2.2"))
    assert others.name(scope("192.0.2.1")) != first
    assert "192" not in first
    now[0] = KEY_S - 1
    assert clients.name(scope("192.0.2.1")) == first
    now[0] = KEY_S
    assert clients.name(scope("192.0.2.1")) != first


def test_one_client_has_a_quarter_of_the_connections():
    room = Room(8, Clients(PROXIES))
    places = [room.enter("192.0.2.1") for _ in range(3)]

    assert [place is None for place in places] == [False, False, True]
    room.leave(places[0])
    assert room.enter("192.0.2.1") is not None
    assert [room.enter(f"2001:db8::{n}") is None for n in range(3)] == [False, False, True]


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.9.8.7", "", "::ffff:127.0.0.1"])
def test_a_proxy_and_this_machine_may_have_all_of_them(peer):
    """Many clients are behind them."""
    room = Room(8, Clients(PROXIES))

    assert [room.enter(peer) is None for _ in range(9)] == [False] * 8 + [True]


def test_clients_without_end_take_no_memory_without_end_and_get_nobody_refused():
    buckets = Buckets(Limits(rate_per_s=0.001, burst=1), now=lambda: 0.0)
    buckets.take("me")
    for number in range(_MOST_BUCKETS + 5):
        buckets.take(f"{number}")
        if number % 1000 == 0:
            with pytest.raises(TooMany):  # still known: whoever asks is not the one to be forgotten
                buckets.take("me")

    assert len(buckets._filled) == _MOST_BUCKETS
