"""Alerts for an operator who is not looking: what waits for a person, by webhook or mail, at full hours.

They are caused by parked posts, outlets that are late, and the keeper, never by arrivals. They are sent
when an hour begins, and say space and count: no target, reason or content of a post is in them. The same
alert is not sent twice until there is more to say, or the server has been restarted.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from tarry.core.errors import BadInput, TarryError
from tarry.core.exact import format_duration
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.monitoring import Log, lateness
from tarry.gateway.upkeep import parked_posts
from tarry.keep.closing import hour_ticks
from tarry.keep.errors import Unavailable
from tarry.keep.posts import Release
from tarry.keep.store import MICROS, advance, last_past_tick, snapshot
from tarry.net.address import read_address
from tarry.net.http_call import call
from tarry.places.mail.outlet import Mail, read_letter

__all__ = ["Alerts", "Way", "alert_ways"]

_LOOK_S = 1.0
_WAIT_S = 10
_SLACK_S = 30  # by which ticks and deliveries may be behind, without a word
_SUBJECT = "tarry needs you"
#: How an alert goes out: it gets the hour (seconds since 1970) and what is the matter.
Way = Callable[[Fraction, Mapping[str, Any]], None]


class _Trouble(NamedTuple):
    """What is the matter, as the hour begins."""

    parked: Mapping[str, frozenset[int]]  # keys of posts by space; they are compared, and shown to nobody
    kinds: frozenset[str]  # closing, outlets, store


class Alerts:
    """Looks when an hour begins, and sends what is new since the last alert.

    >>> from tarry.gateway.testing import small_gateway
    >>> gateway, sent = small_gateway(), []
    >>> alerts = Alerts(gateway, [lambda at, what: sent.append(what)], print)
    >>> alerts.look()
    >>> gateway.clock.sleep(3600)
    >>> alerts.look()
    alert sent
    >>> sent
    [{'text': 'Ticks are closed 1h late: does a keeper run?', 'parked': {}, 'late': ['closing']}]
    """

    def __init__(self, gateway: Gateway, ways: list[Way], log: "Log | Callable[..., None]") -> None:
        self._gateway, self._ways, self._log = gateway, ways, log
        self._hour: int | None = None  # the one that was looked at last; the first is not: it has begun
        self._told = _Trouble({}, frozenset())
        self._hour_s = Fraction(3600)

    def run(self, ended: threading.Event) -> None:
        """Look once a second, until it is over."""
        while not ended.wait(_LOOK_S):
            self.look()

    def look(self) -> None:
        """Tell what is the matter, if an hour has begun since the last look."""
        try:
            hour, trouble, lag = self._read()
        except Unavailable:  # it is looked at again when it is back
            return
        if hour == self._hour:
            return
        is_first, self._hour = self._hour is None, hour
        if is_first:  # this hour has begun already
            return
        new = trouble.kinds - self._told.kinds or any(
            keys - self._told.parked.get(space, frozenset()) for space, keys in trouble.parked.items()
        )
        self._told = trouble
        if new:
            self._tell(hour * self._hour_s, _message(trouble, lag))

    def _read(self) -> tuple[int, _Trouble, Fraction]:
        with self._gateway.store.transaction("reading") as transaction:
            here = snapshot(transaction)
            now = advance(here.anchor, self._gateway.clock.read(here.now)).time
            parked = parked_posts(transaction)
            late = lateness(transaction, here, now)
        tick, last = here.settings.tick, last_past_tick(now, here.settings.tick)
        self._hour_s = hour_ticks(here.settings) * tick
        lag = max(0, last - here.closed) * tick
        slack = max(Fraction(_SLACK_S), 2 * tick)
        kinds = {
            name
            for name, behind in (("closing", lag), ("outlets", late))
            if behind > slack and not here.settings.paused
        }
        by_space = {
            space: frozenset(post.post for post in parked if post.space == space)
            for space in Counter(post.space for post in parked)
        }
        return int(Fraction(now, MICROS) // self._hour_s), _Trouble(by_space, frozenset(kinds)), lag

    def _tell(self, at: Fraction, message: Mapping[str, Any]) -> None:
        for way in self._ways:
            try:
                way(at, message)
            except TarryError as error:
                self._log("alert", f"was not sent: {type(error).__name__}")
            else:
                self._log("alert", "sent")


def _message(trouble: _Trouble, lag: Fraction) -> dict[str, Any]:
    counts = {space: len(keys) for space, keys in sorted(trouble.parked.items())}
    sentences = [
        f"{count} {'post is' if count == 1 else 'posts are'} parked in {space}."
        for space, count in counts.items()
    ]
    if "closing" in trouble.kinds:
        sentences.append(
            f"Ticks are closed {format_duration(Fraction(round(lag)))} late: does a keeper run?"
        )
    if "outlets" in trouble.kinds:
        sentences.append("Posts leave late: is an outlet away, or too slow?")
    return {"text": " ".join(sentences), "parked": counts, "late": sorted(trouble.kinds)}


# --- where they go ----------------------------------------------------------------------------------------


def alert_ways(config: Config) -> list[Way]:
    """The ways that the settings name; refuses what could never work, while somebody reads why.

    >>> alert_ways(Config())
    []
    >>> alert_ways(Config(alert_mail_to="me@example.org"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: alert_mail_to needs alert_mail_from and alert_mail_server: set them too
    """
    ways: list[Way] = []
    if config.alert_webhook != "none":
        ways.append(_webhook(config.alert_webhook))
    mail = {
        name: getattr(config, name) for name in ("alert_mail_to", "alert_mail_from", "alert_mail_server")
    }
    given = [name for name, value in mail.items() if value != "none"]
    if given:
        missing = [name for name in mail if name not in given]
        if missing:
            raise BadInput(f"{given[0]} needs {' and '.join(missing)}", "set them too")
        ways.append(_mail(config))
    return ways


def _webhook(url: str) -> Way:
    address = read_address(url, "alert_webhook")

    def send(_: Fraction, message: Mapping[str, Any]) -> None:
        headers = {"Content-Type": "application/json"}
        answer = call(
            address, headers, json.dumps(message).encode(), timeout_s=_WAIT_S, who="alert_webhook"
        )
        if not 200 <= answer.status < 300:
            raise BadInput(f"alert_webhook answered {answer}", "look at its address")

    return send


def _mail(config: Config) -> Way:
    options = {
        "server": config.alert_mail_server,
        "from": config.alert_mail_from,
        "to": [each.strip() for each in config.alert_mail_to.split(",")],
        "subject": _SUBJECT,
    }
    if config.alert_mail_password_file != "none":  # noqa: S105 - no password, but that there is no file
        options["password_file"] = config.alert_mail_password_file
    read_letter(options)

    def send(at: Fraction, message: Mapping[str, Any]) -> None:
        content = f"{message['text']}\n".encode()
        Mail(timeout_s=_WAIT_S).deliver(
            Release(id=f"tarry-alert-{int(at)}", target="", content=content, options=options, at=at)
        )

    return send
