"""Clients: who asks without a token, as far as limits need to know it.

A client is a network address: of IPv6 the first half, which one customer has for all of their machines. The
address is hashed at once under a random key that changes every hour. Nothing here is logged or stored.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from tarry.core.errors import BadInput

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["KEY_S", "Clients", "Network", "Room", "client_address", "read_networks"]

Network = IPv4Network | IPv6Network
#: How long a key is used. Nothing that is counted for a client may last longer.
KEY_S = 3600.0
_NONE = "none"
_SHARED = ""  # the name of connections that many may share
_SHARES = 4


def read_networks(text: str) -> tuple[Network, ...]:
    """Addresses and networks, separated by commas; or the word none.

    >>> read_networks("127.0.0.1, 10.0.0.0/8")
    (IPv4Network('127.0.0.1/32'), IPv4Network('10.0.0.0/8'))
    >>> read_networks("proxy.example")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: trusted_proxies must be IP addresses or networks, separated by commas, or \
none, found 'proxy.example'
    """
    names = [each.strip() for each in text.split(",")]
    try:
        return tuple(ip_network(name) for name in names if name != _NONE)
    except ValueError:
        rule = "must be IP addresses or networks, separated by commas, or none"
        raise BadInput("trusted_proxies", rule, found=repr(text)) from None


def client_address(scope: "Scope", proxies: Iterable[Network] = ()) -> str:
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


class Clients:
    """Names clients by hashes that nobody can compare after an hour.

    >>> clients, scope = Clients(), {"client": ("192.0.2.1", 4711), "headers": []}
    >>> clients.name(scope) == clients.name(scope)
    True
    """

    def __init__(self, proxies: Iterable[Network] = (), now: Callable[[], float] = time.monotonic) -> None:
        self._proxies, self._now = tuple(proxies), now
        self._key, self._since = secrets.token_bytes(32), now()

    def connection(self, peer: str) -> str:
        """Whose connection this is. Behind a proxy, or on this machine, there may be many clients."""
        address = _parsed(peer)
        if address is None or address.is_loopback or any(address in each for each in self._proxies):
            return _SHARED
        return self.name({"client": (peer, 0), "headers": []})

    def name(self, scope: "Scope") -> str:
        """Whose request this is."""
        if self._now() - self._since >= KEY_S:
            self._key, self._since = secrets.token_bytes(32), self._now()
        address = client_address(scope, self._proxies)
        return blake2b(address.encode(), key=self._key, digest_size=16).hexdigest()


class Room:
    """The connections of one process: so many in all, and a quarter of them for each client.

    >>> room = Room(4, Clients())
    >>> place = room.enter("192.0.2.1")
    >>> room.enter("192.0.2.1") is None, room.enter("192.0.2.2") is None
    (True, False)
    >>> room.leave(place)
    """

    def __init__(self, most: int, clients: Clients) -> None:
        self._most, self._share, self._clients = most, max(1, most // _SHARES), clients
        self._counts: dict[str, int] = {}
        self._all = 0

    def enter(self, peer: str) -> str | None:
        """A place for somebody at this address, to be given back; None: there is none."""
        place = self._clients.connection(peer)
        if self._all >= self._most:
            return None
        if place != _SHARED and self._counts.get(place, 0) >= self._share:
            return None
        self._counts[place] = self._counts.get(place, 0) + 1
        self._all += 1
        return place

    def leave(self, place: str) -> None:
        """Somebody has gone."""
        self._all -= 1
        self._counts[place] -= 1
        if not self._counts[place]:
            del self._counts[place]


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """The address; an IPv4 one that is written as IPv6 is an IPv4 one."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
