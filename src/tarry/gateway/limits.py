"""Limits: how much one request, one answer, one token and one client may ask of a gateway.

None of them depends on what others do: a refusal must not tell how busy anybody else is. Only the caps of a
whole process do, on connections, streams and audits; each client has a share of them that is far smaller.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tarry.core.errors import BadInput, TarryError
from tarry.gateway.clients import Network

__all__ = ["Buckets", "Limits", "TooDeep", "TooMany", "check_nesting"]

#: Buckets that are remembered: some memory, and more clients than most gateways have in an hour.
_MOST_BUCKETS = 100_000


class TooMany(TarryError):
    """One token asks more often than it may, or too many listen.

    >>> print(TooMany(2))
    this token asks too often: try again in 2 s
    """

    def __init__(self, wait_s: int, why: str = "this token asks too often") -> None:
        self.wait_s = wait_s
        super().__init__(f"{why}: try again in {wait_s} s")


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
    open_streams: int = 200  # of server-sent events, in one process
    client_streams: int = 20  # of one client among them
    client_posts_per_min: int = 30  # of one client on boards, in the long run
    client_burst: int = 30  # and at once
    connections: int = 2000  # to one process
    trusted_proxies: tuple[Network, ...] = ()  # whose word on the client's address is taken


class TooDeep(BadInput):
    """JSON that is nested too deeply for whoever will read it.

    >>> print(TooDeep(32))
    a request's JSON is nested at most 32 deep, found more
    """

    def __init__(self, most: int) -> None:
        super().__init__("a request's JSON", f"is nested at most {most} deep", found="more")


class Buckets:
    """A bucket for each token or client: it fills at a steady rate, and a request takes a drop out.

    >>> buckets = Buckets(Limits(rate_per_s=1, burst=1), now=lambda: 0.0)
    >>> buckets.take("ab")
    >>> buckets.take("ab")
    Traceback (most recent call last):
    tarry.gateway.limits.TooMany: this token asks too often: try again in 1 s
    """

    def __init__(
        self,
        limits: Limits,
        now: Callable[[], float] = time.monotonic,
        *,
        why: str = "this token asks too often",
    ) -> None:
        self._rate, self._most, self._now, self._why = limits.rate_per_s, float(limits.burst), now, why
        self._filled: dict[str, tuple[float, float]] = {}  # how full, and when that was

    def take(self, owner: str, drops: int = 1) -> None:
        """Take some out, or refuse."""
        now = self._now()
        level, then = self._filled.pop(owner, (self._most, now))
        level = min(self._most, level + (now - then) * self._rate)
        # A request larger than the bucket needs a full one: it is slow, and not impossible.
        if level < min(drops, self._most):
            self._filled[owner] = (level, now)
            raise TooMany(max(1, -int(-(min(drops, self._most) - level) // self._rate)), self._why)
        self._filled[owner] = (level - drops, now)
        if len(self._filled) > _MOST_BUCKETS:
            # The one that was used longest ago. Its owner is refused less, and nobody is refused more.
            del self._filled[next(iter(self._filled))]


def check_nesting(value: object, most: int) -> None:
    """Refuse JSON that is nested too deeply for whoever will read it.

    >>> check_nesting({"a": [1]}, most=2)
    >>> check_nesting([[[1]]], most=2)
    Traceback (most recent call last):
    tarry.gateway.limits.TooDeep: a request's JSON is nested at most 2 deep, found more
    """
    level = [value]
    for _ in range(most + 1):
        containers = [each for each in level if isinstance(each, dict | list)]
        if not containers:
            return
        level = [x for each in containers for x in (each.values() if isinstance(each, dict) else each)]
    raise TooDeep(most)
