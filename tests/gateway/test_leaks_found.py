"""The comparison of `test_leaks.py` finds what leaks: each of these mistakes is seen by it."""

import logging
from functools import partial
from itertools import count

import pytest

from contracts.aimed import Wanted
from contracts.asgi import call
from contracts.watching import Town, Transcript, differences, live
from tarry.gateway.app import _HEADERS
from tarry.gateway.bodies import HealthOut
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import json_response
from tarry.gateway.limits import Limits, RateLimiter
from tarry.gateway.monitoring import metrics

A, B, C = (Wanted(name=n, actor="ann", target=f"paper {n}", at=12) for n in "abc")


def seen(
    *requests: tuple[int, tuple[Wanted, ...]], limits: Limits | None = None, loud: bool = False
) -> Transcript:
    """What a town shows in which these requests come at their ticks."""

    async def tell(town: Town) -> None:
        for tick, posts in requests:
            if tick == town.tick:
                await town.post(*posts)
        if loud and town.tick == 1:
            for _ in range(LIMITS.burst):
                await call(town.app, "GET", "/metrics", headers=town.by("noisy"))

    return live([(tick, tell) for tick in range(6)], ticks=16, limits=limits)


NEIGHBOURS = [(2, (A, B, C))], [(1, (B,)), (2, (A,)), (3, (C,))]


def test_without_a_leak_nothing_is_found():
    """These two inputs end in the same releases, and look the same."""
    one, other = (seen(*requests) for requests in NEIGHBOURS)

    assert differences(one, other) == []


def numbered_ids(patch):
    """Ids from a counter at arrival."""
    numbers = count()
    patch("contracts.aimed.Wanted.receipt", property(lambda _: f"{next(numbers):064x}"))


def order_of_arrival(patch):
    """Releases of one tick in the order in which they came."""
    came, admit, record = [], Gateway.admit, FeedOutlet.record

    def noted(self, requests):
        came.extend(each.content for request in requests for each in request.posts)
        return admit(self, requests)

    def sorted_record(self, transaction, releases):
        record(self, transaction, sorted(releases, key=lambda release: came.index(release.content)))

    patch("tarry.gateway.gateway.Gateway.admit", noted)
    patch("tarry.gateway.feed.FeedOutlet.record", sorted_record)


def counted(patch, tell):
    """Something that tells the number of admissions so far."""
    numbers, admit = [0], Gateway.admit

    def noted(self, requests):
        numbers[0] += len(requests)
        return admit(self, requests)

    patch("tarry.gateway.gateway.Gateway.admit", noted)
    tell(patch, numbers)


def count_in_metrics(patch, numbers):
    """A counter in the metrics."""
    patch("tarry.gateway.app.metrics", lambda gateway: f"{metrics(gateway)}admissions {numbers[0]}\n")


def count_in_readiness(patch, numbers):
    """A health answer that is larger when more has come."""
    patch(
        "tarry.gateway.app.json_response",
        lambda body, status=200: json_response(HealthOut(status=f"ok{numbers[0]}"), status),
    )


def count_in_a_header(patch, numbers):
    """A header of every answer."""
    patch(
        "tarry.gateway.app._HEADERS",
        {**_HEADERS, "X-Load": type("L", (str,), {"encode": lambda *_: b"%d" % numbers[0]})()},
    )


def line_in_the_log(patch):
    """A line at every admission."""
    admit = Gateway.admit

    def noted(self, requests):
        logging.getLogger("tarry").warning("admitted %d", len(requests))
        return admit(self, requests)

    patch("tarry.gateway.gateway.Gateway.admit", noted)


LIMITS = Limits(rate_per_s=0.001, burst=150)
LEAKS = {
    "ids from a counter": numbered_ids,
    "order of arrival in a tick": order_of_arrival,
    "a counter in the metrics": partial(counted, tell=count_in_metrics),
    "a counter in a health answer": partial(counted, tell=count_in_readiness),
    "a counter in a header": partial(counted, tell=count_in_a_header),
    "a line in the log": line_in_the_log,
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_what_leaks_is_found(monkeypatch, leak):
    """The same comparison sees each of these in two towns that differ in arrivals alone."""
    found = []
    for requests in NEIGHBOURS:
        with monkeypatch.context() as patch:
            leak(patch.setattr)
            found.append(seen(*requests))

    assert differences(*found) != []


def test_a_limit_that_others_use_up_is_found(monkeypatch):
    """Were there one limit for all tokens, one that asks too often would be felt by all."""
    take = RateLimiter.take
    monkeypatch.setattr(RateLimiter, "take", lambda self, _, drops=1: take(self, "all", drops))

    one, other = (seen((2, (A,)), limits=LIMITS, loud=loud) for loud in (False, True))

    assert differences(one, other) != []
