"""Mastodon: a status is posted at the release, by an account of the author's.

Each pseudonym has an account of its own at the server, and an access token for it; both stand in the
accounts file. The server itself writes down when a status was made; no time is sent.

Exactly once, by looking first: before a status is posted, the account's newest ones are read. If one with
the same text, the same visibility and the same parent is there, this release has arrived. At the first try
it must not be older than the release; at a later one its age does not count, because in one person's own
store the release may have moved on since. Only public and unlisted statuses are taken: some servers list no
others, so they could not be found again.

The limits: if an answer is lost and the server takes the status only after the next try has looked, it is
there twice, unless the server knows `Idempotency-Key`, as Mastodon does. The same text twice within a few
minutes by one account is one status. A status that was deleted or edited after a lost answer is not found.

What the server learns nevertheless: the address this machine connects from, and that tarry was used.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.posts import Release
from tarry.places.checks import check_options, read_path, read_utf8
from tarry.places.http import AccountOutlet, ByAccount

from tarry_mastodon.client import Visit, account_name, read_server

__all__ = ["Mastodon"]

_VISIBILITIES = ("public", "unlisted")
_SLACK_S = 300  # how far two clocks may be apart
_MOST_CHARACTERS = 100_000  # most servers take far fewer, and say so at the release
_ID = re.compile(r"[0-9A-Za-z_-]{1,128}")
_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class _Status(ByAccount):
    """What is to be posted, and by whom."""

    visibility: str
    in_reply_to: str | None  # the id of another status


class Mastodon(AccountOutlet):
    """Posts statuses by the accounts of a file, each with about four requests.

    Options of a post: `account` (a name in the accounts file), and perhaps `visibility` (public, else
    unlisted) and `in_reply_to` (the id of a status), and in one's own store `accounts`.

    >>> from pathlib import Path
    >>> from tarry.places.accounts import Accounts
    >>> own = Mastodon(Accounts(Path("/nowhere/accounts.toml")), own=True)
    >>> own.check({"account": "nym", "visibility": "direct"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown visibility 'direct': use public, unlisted
    """

    place = "a server"
    where = "server"
    longest_s = 120

    def check_place(self, url: str) -> None:
        """Refuse what is not the address of a server."""
        read_server(url)

    def login_name(self, login: str) -> str:
        """What an account is called at its server."""
        return account_name(login)

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:  # noqa: ARG002 - for all alike
        """Refuse what is no text of a status."""
        _read_text(content)

    def deliver(self, release: Release) -> None:
        """Post it, find it posted, or say why not."""
        try:
            status, text = self.read(release.options), _read_text(release.content)
        except BadInput as error:
            raise Refused(str(error)) from error
        visit = Visit(self.account_now(status), timeout_s=self.timeout_s, tls=self.trust)
        visit.log_in()
        if _is_there(visit, status, text, release):
            return
        fields = {"status": text, "visibility": status.visibility}
        if status.in_reply_to is not None:
            # Some servers would post it all the same, as a status of its own.
            if not visit.has(status.in_reply_to):
                raise Refused("the status that this replies to is gone: withdraw it, or post it without")
            fields["in_reply_to_id"] = status.in_reply_to
        visit.post(fields, release.id)

    def read(self, options: Mapping[str, Any]) -> _Status:
        """Check the options of a status."""
        if "content_type" in options:  # how a gateway marks what was no text
            raise BadInput("a status must be text, not another kind of content", "send a string")
        known = ["account", "visibility", "in_reply_to", *(["accounts"] if self.own else [])]
        check_options(options, known, "a status")
        for name, value in options.items():
            if not isinstance(value, str) or not value or not value.isprintable():
                raise BadInput(f"{name} must be a text of one line, not {value!r:.60}")
        if "account" not in options:
            raise BadInput("no account given", "name one of the accounts file")
        visibility, parent = options.get("visibility", "public"), options.get("in_reply_to")
        if visibility not in _VISIBILITIES:
            raise BadInput(f"unknown visibility {visibility!r}", f"use {', '.join(_VISIBILITIES)}")
        if parent is not None and not _ID.fullmatch(parent):
            raise BadInput(f"in_reply_to must be the id of a status, not {parent!r}")
        return _Status(
            account=options["account"],
            accounts=read_path(options.get("accounts"), "accounts"),
            visibility=visibility,
            in_reply_to=parent,
        )


def _read_text(content: bytes) -> str:
    text = read_utf8(content, "a status")
    if any(unicodedata.category(letter) == "Cc" and letter not in "\t\n\r" for letter in set(text)):
        raise BadInput("a status must have no control characters but tabs and line ends")
    if not text.strip() or len(text) > _MOST_CHARACTERS:
        raise BadInput(f"a status must have 1 to {_MOST_CHARACTERS} characters, not {len(text.strip())}")
    return text


def _is_there(visit: Visit, status: _Status, text: str, release: Release) -> bool:
    """Whether an earlier try has arrived."""
    oldest = _START + timedelta(seconds=int(release.at) - _SLACK_S) if release.attempt == 1 else _START
    for other in visit.newest():
        if _made_at(other) < oldest:
            return False
        alike = (other.get("visibility"), other.get("in_reply_to_id")) == (
            status.visibility,
            status.in_reply_to,
        )
        if alike and _as_kept(visit.text_of(other)) == _as_kept(text):
            return True
    return False


def _made_at(status: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(status.get("created_at"))).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreachable("the server answered with a status without a time") from None


def _as_kept(text: str) -> str:
    """Servers cut off blanks at the ends, and write line ends in their own way."""
    return text.replace("\r\n", "\n").strip()
