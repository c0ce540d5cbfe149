"""Statuses of accounts, or of everybody on a server, with the times that the server itself wrote down.

The actor is the account. The target is the status that is answered; what begins a conversation has itself
as its target.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tarry.core.errors import BadInput, NotPossible
from tarry.net.address import Address
from tarry.net.web import WebRequest, ask
from tarry.readers.events import Event, EventStream
from tarry.readers.faults import Faults

from tarry_mastodon.client import account_id, original, read_server

__all__ = ["read_mastodon"]

_WHO = "the server"
_PAGE = 40  # the most statuses that Mastodon gives at once
_ACCOUNT = re.compile(r"@?[\w.-]{1,64}(@[\w.:-]{1,255})?", re.ASCII)
_START, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_NOTES = (
    "times are the server's own; many servers write whole seconds",
    "boosts are left out: some servers give them the time of what is boosted",
    "statuses that only followers see, and those that were deleted, are missing",
)
_ADVICE = {401: "give a login (--login)", 403: "it does not let this reader in", 429: "try again later"}
_Row = Mapping[str, Any]


def read_mastodon(
    source: str,
    *,
    accounts: Sequence[str] = (),
    login: tuple[str, str] | None = None,
    since: str | None = None,
    until: str | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> EventStream:
    """Read statuses, the newest first: of these accounts, or of the server's public timeline.

    `source` is the address of the server. `login` is an account with its token: some servers show nobody
    else the statuses of an account. `since` is the first moment that counts, `until` the first that does
    not. One page of statuses is held at a time.

    >>> read_mastodon("https://social.example", since="yesterday")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: since must be a moment with a zone, not 'yesterday': write it as \
2024-05-01T10:00:00Z
    """
    address = read_server(source)
    for account in accounts:
        if not _ACCOUNT.fullmatch(account):
            raise BadInput(f"an account must be nym or nym@server, not {account!r:.60}")
    first, end = (_bound(name, text) for name, text in (("since", since), ("until", until)))
    headers = {"Accept": "application/json", "User-Agent": "tarry"}
    if login:
        if not (login[1].isascii() and login[1].isprintable()):  # no message shows it
            raise BadInput("the token of the login must be printable ASCII")
        headers["Authorization"] = f"Bearer {login[1]}"
    server = _Server(address, headers, wait)
    faults = Faults(_WHO)
    return EventStream(_events(_timelines(server, accounts), first, end, faults), faults, _NOTES)


@dataclass(frozen=True)
class _Server:
    address: Address
    headers: Mapping[str, str]
    wait: Callable[[float], None]

    def get(self, path: str, query: Mapping[str, str], *, missing: str = "check the address") -> Any:
        """One answer. `missing` is what to do where the server knows no such thing."""
        address = replace(self.address, path=f"{path}?{urlencode(query)}")
        response = ask(WebRequest(who=_WHO, address=address, headers=self.headers), self.wait)
        if response.status != 200:
            fix = _ADVICE.get(response.status, missing if response.status == 404 else "try again later")
            raise NotPossible(f"the server answered {response}: {fix}")
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise BadInput(
                "the server answered with something that is no JSON", "check the address"
            ) from None

    def statuses(self, path: str, query: Mapping[str, str]) -> Iterator[_Row]:
        """Page after page, the newest first."""
        query = {**query, "limit": str(_PAGE)}
        while page := self.get(path, query):
            if not isinstance(page, list) or not all(isinstance(status, dict) for status in page):
                raise BadInput("the server's answer is no list of statuses", "check the address")
            yield from page
            last = str(page[-1].get("id"))
            if last == query.get("max_id"):
                raise NotPossible("the server gives the same statuses again and again: try again later")
            query["max_id"] = last

    def account(self, name: str) -> str:
        """The id of an account."""
        missing = f"there is no account {name} there, check its name"
        profile = self.get("/api/v1/accounts/lookup", {"acct": name.lstrip("@")}, missing=missing)
        number = profile.get("id") if isinstance(profile, dict) else None
        if not isinstance(number, str):
            raise BadInput(f"the server's answer about {name} is no account", "check the address")
        return number


def _timelines(server: _Server, accounts: Sequence[str]) -> Iterator[Iterator[_Row]]:
    if not accounts:
        yield server.statuses("/api/v1/timelines/public", {"local": "true"})
    for name in accounts:
        number = server.account(name)
        rows = server.statuses(f"/api/v1/accounts/{number}/statuses", {"exclude_reblogs": "true"})
        yield (row for row in rows if account_id(original(row)) == number)


def _events(
    timelines: Iterable[Iterable[_Row]], first: int | None, end: int | None, faults: Faults
) -> Iterator[Event]:
    boosted: set[object] = set()  # a status may be listed beside its boosts, or in their place
    number = 0
    for timeline in timelines:
        for row in timeline:
            number += 1
            status = original(row)
            if status.get("id") in boosted:
                continue
            if status is not row:
                boosted.add(status.get("id"))
            event = _event(status)
            if isinstance(event, str):
                faults.add(number, event)
            elif first is not None and event.time < first:
                if status is row:
                    break  # the others are older still
            elif end is None or event.time < end:
                yield event


def _event(status: _Row) -> Event | str:
    """What a status tells, or why it tells nothing."""
    account, own_id = status.get("account"), status.get("id")
    if not isinstance(account, dict) or not isinstance(account.get("acct"), str):
        return "it has no account"
    target = status.get("in_reply_to_id") or own_id
    if not isinstance(target, str) or not target:
        return "it has no id"
    at = _microseconds(status.get("created_at"))
    if at is None:
        return "created_at is no moment with a zone"
    return Event(account["acct"], target, at, is_bot=account.get("bot") is True)


def _bound(name: str, text: str | None) -> int | None:
    at = None if text is None else _microseconds(text)
    if text is not None and at is None:
        fix = "write it as 2024-05-01T10:00:00Z"
        raise BadInput(f"{name} must be a moment with a zone, not {text!r:.60}", fix)
    return at


def _microseconds(text: object) -> int | None:
    """Since 1970; None if the text is no moment with a zone."""
    try:
        at = datetime.fromisoformat(str(text))
        return None if at.tzinfo is None else (at - _START) // _MICROSECOND
    except ValueError:
        return None
