"""Metrics, in the text format that Prometheus reads. Not one of them changes at an arrival.

Admissions are counted by the hour, and an hour is told when it is over and its arrivals are erased. Nothing
is told of the process itself: its processor time moves with every request.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tarry.gateway.door import Door, check_host
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Gateway
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest, refuse
from tarry.keep.clock import MICROS
from tarry.keep.closing import erased_up_to, hour_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.store import Transaction, snapshot

__all__ = ["create_metrics_app", "last_hour", "metrics"]

_MEDIA = "text/plain; version=0.0.4"


class _Family(NamedTuple):
    name: str
    kind: str
    meaning: str
    samples: Sequence[tuple[str, float]]  # labels, and a number


def metrics(gateway: Gateway) -> str:
    """All metrics of a gateway. They are read from the store: every server tells the same.

    >>> from tarry.gateway.testing import small_gateway
    >>> print(metrics(small_gateway()).splitlines()[0])
    # HELP tarry_releases_total Posts that have been published in the feed.
    """
    spaces = gateway.refresh().spaces
    released = [(_label(name), Feed(gateway.store, name).last_position()) for name in spaces]
    with gateway.store.transaction("reading") as transaction:
        here, hour = snapshot(transaction), last_hour(transaction)
        now = gateway.vault.now(transaction) / MICROS
        parked = {row["outlet"]: row["posts"] for row in transaction.all("parked_counts")}
        overdue = transaction.one("overdue")
    late = overdue["release"] if overdue is not None else None
    tick = float(here.settings.tick)
    found = [
        _Family("releases_total", "counter", "Posts that have been published in the feed.", released),
        _Family("parked", "gauge", "Posts that a person has to look at.", _by_space(spaces, parked)),
        _Family(
            "closing_lag_seconds",
            "gauge",
            "Time since the last closed tick.",
            [("", now - here.closed * tick)],
        ),
        _Family(
            "overdue_seconds",
            "gauge",
            "How late the first post is that is due and has not left.",
            [("", 0.0 if late is None else max(0.0, now - late * tick))],
        ),
        _Family("paused", "gauge", "1: nothing comes in or leaves.", [("", float(here.settings.paused))]),
        _Family(
            "admissions_of_an_hour", "gauge", "Admissions of the last hour that is told.", [("", hour[1])]
        ),
        _Family("admissions_hour_start_seconds", "gauge", "When that hour began.", [("", hour[0])]),
    ]
    return "".join(_text(family) for family in found)


def last_hour(transaction: Transaction) -> tuple[float, int]:
    """The last hour whose arrivals are all erased: its beginning in seconds, and how many there were.

    >>> from tarry.gateway.testing import small_gateway
    >>> with small_gateway().store.transaction("reading") as transaction:
    ...     last_hour(transaction)[1]
    0
    """
    here = snapshot(transaction)
    ticks, settings = hour_ticks(here.settings), here.settings
    hour = (erased_up_to(settings, here.closed) + 1) // ticks - 1
    rows = transaction.all("hours", before=hour + 1, most=1)
    arrivals = rows[0]["arrivals"] if rows and rows[0]["hour"] == hour else 0
    return float(hour * ticks * settings.tick), int(arrivals)


@operation("GET", "/metrics", scope="operate", media="text/plain")
async def read_metrics(door: Door, request: Request) -> Response:
    """What an operator watches. Not one number changes at an arrival."""
    door.token(request, "operate")
    return Response(await door.call(lambda: metrics(door.gateway)), media_type=_MEDIA)


def create_metrics_app(gateway: Gateway, hosts: Collection[str] = ()) -> Starlette:
    """The metrics alone, without a token: for a second listener that only the operator reaches.

    >>> from tarry.gateway.testing import small_gateway
    >>> [route.path for route in create_metrics_app(small_gateway()).routes]
    ['/metrics']
    """

    def read(request: Request) -> Response:
        try:
            check_host(request, hosts)
            return Response(metrics(gateway), media_type=_MEDIA)
        except BadRequest as error:
            return refuse(error)
        except Unavailable:
            return Response(status_code=503)

    return Starlette(routes=[Route("/metrics", read, methods=["GET"])])


def _by_space(spaces: Iterable[str], counts: dict[str, int]) -> list[tuple[str, float]]:
    return [(_label(name), counts.get(name, 0)) for name in spaces]


def _label(space: str) -> str:
    return f'{{space="{space}"}}'


def _text(family: _Family) -> str:
    name = f"tarry_{family.name}"
    lines = [f"# HELP {name} {family.meaning}", f"# TYPE {name} {family.kind}"]
    lines += [f"{name}{labels} {number!r}" for labels, number in family.samples]
    return "\n".join(lines) + "\n"
