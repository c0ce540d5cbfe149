"""Limits: how much one request, one answer and one token may ask of a gateway.

None of them depends on what others do: a refusal must not tell how busy anybody else is.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from tarry.core.errors import BadInput, TarryError

__all__ = ["Buckets", "Limits", "TooDeep", "TooMany", "check_nesting"]


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


class TooDeep(BadInput):
    """JSON that is nested too deeply for whoever will read it.

    >>> print(TooDeep(32))
    a request's JSON is nested at most 32 deep, found more
    """

    def __init__(self, most: int) -> None:
        super().__init__("a request's JSON", f"is nested at most {most} deep", found="more")


class Buckets:
    """A bucket for each token: it fills at a steady rate, and a request takes a drop out.

    >>> buckets = Buckets(Limits(rate_per_s=1, burst=1), now=lambda: 0.0)
    >>> buckets.take("ab")
    >>> buckets.take("ab")
    Traceback (most recent call last):
    tarry.gateway.limits.TooMany: this token asks too often: try again in 1 s
    """

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._now = limits.rate_per_s, float(limits.burst), now
        self._filled: dict[str, tuple[float, float]] = {}  # how full, and when that was

    def take(self, token: str, drops: int = 1) -> None:
        """Take some out, or refuse."""
        now = self._now()
        level, then = self._filled.get(token, (self._most, now))
        level = min(self._most, level + (now - then) * self._rate)
        # A request larger than the bucket needs a full one: it is slow, and not impossible.
        if level < min(drops, self._most):
            raise TooMany(max(1, -int(-(min(drops, self._most) - level) // self._rate)))
        self._filled[token] = (level - drops, now)


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
