"""Limits: what one request, one token, one client and one connection may ask of a gateway.

None of them depends on what others do: a refusal must not tell how busy anybody else is. Only the caps of a
whole server do, on connections, streams and audits, of which each client has a share that is far smaller;
and the bound on unfinished work, past which everybody gets one and the same answer. What is counted for
this, `counters.py` counts over all processes of a server.

A client is a network address: of IPv6 the first half, which one customer has for all of their machines. The
address is hashed at once under a random key that changes every hour. Nothing here is logged or stored. That
is why all of this is written here: libraries for rate limits remember addresses.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from tarry.core.errors import BadInput, TarryError
from tarry.gateway.counters import Levels, Places, RotatingKey, Sum, own_counters

__all__ = [
    "KEY_S",
    "Backlog",
    "ClientNames",
    "ConnectionSlots",
    "Limits",
    "Network",
    "Overloaded",
    "RateLimiter",
    "TooDeep",
    "TooManyRequests",
    "check_nesting",
    "client_address",
    "read_networks",
]

Network = IPv4Network | IPv6Network
#: How long a key is used. Nothing that is counted for a client may last longer.
KEY_S = 3600.0
_SHARED = ""  # the name of connections that many clients may share
_TOO_OFTEN = "this token sends too many requests"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one gateway allows.

    >>> Limits().batch_posts
    100
    """

    body_bytes: int = 1 << 20  # of one request
    body_s: float = 30.0  # within which it has come
    nesting: int = 32  # of its JSON
    batch_posts: int = 100  # in one request
    rate_per_s: float = 200.0  # requests of one token, in the long run
    burst: int = 400  # and at once
    open_streams: int = 200  # of server-sent events, in one server
    client_streams: int = 20  # of one client among them
    client_posts_per_min: int = 30  # of one client on boards, in the long run
    client_burst: int = 30  # and at once
    connections: int = 2000  # to one server
    unfinished_posts: int = 1000  # that wait for the disk, in one server
    trusted_proxies: tuple[Network, ...] = ()  # that report the client's address


class TooManyRequests(TarryError):
    """One token or client asks more often than it may, or too many streams are open.

    >>> print(TooManyRequests(2))
    this token sends too many requests: try again in 2 s
    """

    def __init__(self, wait_s: int, reason: str = _TOO_OFTEN) -> None:
        self.wait_s = wait_s
        super().__init__(f"{reason}: try again in {wait_s} s")


class Overloaded(TarryError):
    """More work has begun than a public bound allows: said in the same words to all, whoever's it is.

    >>> print(Overloaded())
    this gateway has more unfinished work than it takes: try again in 5 s
    """

    wait_s = 5

    def __init__(self) -> None:
        super().__init__(
            f"this gateway has more unfinished work than it takes: try again in {self.wait_s} s"
        )


class Backlog:
    """Posts that have come in and are not on the disk yet: at the bound no more are let in, of nobody.

    A request that is let in is never turned away for its own size: whether one is refused depends on the
    others alone, and not on what it asks.

    >>> backlog = Backlog(2)
    >>> with backlog.of(500):
    ...     backlog.check()
    Traceback (most recent call last):
    tarry.gateway.limits.Overloaded: this gateway has more unfinished work than it takes: try again in 5 s
    """

    def __init__(self, most: int, posts: Sum | None = None) -> None:
        self._most, self._posts = most, posts or own_counters().unfinished

    def check(self) -> None:
        """Refuse, if the bound is reached."""
        if self._posts.total() >= self._most:
            raise Overloaded

    @contextmanager
    def of(self, posts: int) -> Iterator[None]:
        """Some posts that are unfinished as long as the block runs."""
        self.check()
        self._posts.add(posts)
        try:
            yield
        finally:
            self._posts.add(-posts)


class TooDeep(BadInput):
    """JSON that is nested too deeply for whoever will read it.

    >>> print(TooDeep(32))
    the JSON of a request must be nested at most 32 deep
    """

    def __init__(self, most: int) -> None:
        super().__init__(f"the JSON of a request must be nested at most {most} deep")


class RateLimiter:
    """A bucket for each token or client: it fills at a steady rate, and a request takes a drop out.

    >>> limiter = RateLimiter(Limits(rate_per_s=1, burst=1), now=lambda: 0.0)
    >>> limiter.take("ab")
    >>> limiter.take("ab")
    Traceback (most recent call last):
    tarry.gateway.limits.TooManyRequests: this token sends too many requests: try again in 1 s
    """

    def __init__(
        self,
        limits: Limits,
        now: Callable[[], float] = time.monotonic,
        *,
        reason: str = _TOO_OFTEN,
        levels: Levels | None = None,
    ) -> None:
        self._rate, self._most = limits.rate_per_s, float(limits.burst)
        self._now, self._reason = now, reason
        self._levels = levels or own_counters().rates

    def take(self, owner: str, drops: int = 1) -> None:
        """Take some drops out, or refuse."""
        with self._levels.turn:
            now = self._now()
            level, then = self._levels.get(owner) or (self._most, now)
            level = min(self._most, level + (now - then) * self._rate)
            # A request larger than the bucket needs a full one: it is slow, and not impossible.
            missing = min(drops, self._most) - level
            self._levels.set(owner, level if missing > 0 else level - drops, now)
        if missing > 0:
            raise TooManyRequests(max(1, -int(-missing // self._rate)), self._reason)


def check_nesting(value: object, most: int) -> None:
    """Refuse JSON that is nested too deeply for whoever will read it.

    >>> check_nesting({"a": [1]}, most=2)
    >>> check_nesting([[[1]]], most=2)
    Traceback (most recent call last):
    tarry.gateway.limits.TooDeep: the JSON of a request must be nested at most 2 deep
    """
    level = [value]
    for _ in range(most + 1):
        containers = [each for each in level if isinstance(each, dict | list)]
        if not containers:
            return
        level = [x for each in containers for x in (each.values() if isinstance(each, dict) else each)]
    raise TooDeep(most)


# --- clients: who sends a request without a token -------------------------------------------------


def read_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, separated by commas; or the word none.

    >>> read_networks("127.0.0.1, 10.0.0.0/8")
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))
    >>> read_networks("proxy.example")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: trusted_proxies must be IP addresses or networks, separated by commas, or \
none, not 'proxy.example'
    """
    try:
        return tuple(ip_network(each.strip()) for each in text.split(",") if each.strip() != "none")
    except ValueError:
        raise BadInput(
            f"trusted_proxies must be IP addresses or networks, separated by commas, or none, not {text!r}"
        ) from None


def client_address(scope: Mapping[str, Any], proxies: Iterable[Network] = ()) -> str:
    """The address that a request came from, or the network of an IPv6 address.

    Where the peer is a proxy that the operator trusts, the last address in X-Forwarded-For counts: that one
    the proxy has written itself. Those before it are whatever its client has sent.

    >>> peer = {"type": "http", "client": ("2001:db8::7", 4711), "headers": []}
    >>> client_address(peer)
    '2001:db8::/64'
    >>> proxied = {"client": ("127.0.0.1", 4711), "headers": [(b"x-forwarded-for", b"6.6.6.6, 192.0.2.1")]}
    >>> client_address(proxied), client_address(proxied, read_networks("127.0.0.1"))
    ('127.0.0.1', '192.0.2.1')
    """
    peer = (scope.get("client") or ("",))[0]
    address = _parsed(peer)
    if address is not None and any(address in network for network in proxies):
        lists = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
        last = b",".join(lists).rpartition(b",")[2].decode("latin-1").strip()
        address = _parsed(last) or address
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address) >> 64 << 64, 64)))
    return peer if address is None else str(address)


class ClientNames:
    """Names clients by hashes that nobody can compare after an hour.

    >>> clients, scope = ClientNames(), {"client": ("192.0.2.1", 4711), "headers": []}
    >>> clients.name(scope) == clients.name(scope)
    True
    """

    def __init__(
        self,
        proxies: Iterable[Network] = (),
        now: Callable[[], float] = time.monotonic,
        *,
        key: RotatingKey | None = None,
    ) -> None:
        self._proxies, self._now = tuple(proxies), now
        self._key = key or own_counters().client_key

    def connection(self, peer: str) -> str:
        """The client of a connection. Behind a proxy, or on this machine, there may be many."""
        address = _parsed(peer)
        if address is None or address.is_loopback or any(address in each for each in self._proxies):
            return _SHARED
        return self.name({"client": (peer, 0), "headers": []})

    def name(self, scope: Mapping[str, Any]) -> str:
        """The client of a request."""
        address = client_address(scope, self._proxies).encode()
        return blake2b(address, key=self._key.get(self._now(), KEY_S), digest_size=16).hexdigest()


class ConnectionSlots:
    """The connections of one server: a number in all, and a quarter of them for each client.

    >>> slots = ConnectionSlots(4, ClientNames())
    >>> client = slots.enter("192.0.2.1")
    >>> slots.enter("192.0.2.1") is None, slots.enter("192.0.2.2") is None
    (True, False)
    >>> slots.leave(client)
    """

    def __init__(self, most: int, clients: ClientNames, places: Places | None = None) -> None:
        self._most, self._share, self._clients = most, max(1, most // 4), clients
        self._places = places or own_counters().connections

    def enter(self, peer: str) -> str | None:
        """Take a slot: the name of its client, to be given back; None: there is no slot left."""
        client = self._clients.connection(peer)
        share = self._most if client == _SHARED else self._share
        return client if self._places.take(client, share, self._most) else None

    def leave(self, client: str) -> None:
        """Give a slot back."""
        self._places.give(client)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """The address; an IPv4 one that is written as IPv6 is an IPv4 one."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
