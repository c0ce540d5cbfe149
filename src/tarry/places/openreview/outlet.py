"""OpenReview: a comment, a review or another note is posted at the release, as a note edit of API 2.

OpenReview itself writes down, to the millisecond, when a note was made (`tcdate`); no date is sent. A post
names an account of the accounts file: one login stands for all the anonymous names of a person
(Reviewer_abcd on one paper, Reviewer_wxyz on another), which is why a login that fails is that person's
outage and moves everything that waits for the account.

Exactly once, by looking first: before a note is posted, the notes of that forum are read, and if one of the
same words, by the same signature, in reply to the same note is there, this release has arrived. At the
first try it must not be older than the release; at a later one its age does not count, because in one
person's own store the release may have moved on since. There are two limits. If an answer is lost and
OpenReview takes the note only after the next try has looked, it is there twice. And if the very same words
stood there before, a second try takes them for its own.

The requests follow from the release and the accounts file alone. What OpenReview learns nevertheless: who
the author is, the address this machine connects from, and when.
"""

import ssl
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.places.accounts import Accounts
from tarry.places.openreview.client import OpenReviewVisit, openreview_address
from tarry.places.openreview.note import NoteOptions, is_there, note_edit, read_fields, read_options

if TYPE_CHECKING:
    from tarry.keep.home import Home

__all__ = ["OpenReview"]

_LONGEST_S = 30
_SLACK_S = 300  # how far two clocks may be apart
# Without the error's own words: they may name an account, be it another one than this note's.
_BAD_FILE = "the accounts file is not there, open to others, or not well formed"
_NO_ACCOUNT = (
    "the accounts file has no such account any more, or no good address for it: add it, then repeat this"
)


class OpenReview(Outlet):
    """Posts notes by the accounts of a file. `timeout_s` bounds each request; there are three.

    Options of a post: `account` (a name in the accounts file), `invitation`, `signature`, `forum`, and
    perhaps `replyto` (else the forum), `readers` (a list) and `field` (else comment), which gets the text.
    With `content_type` application/json the content is an object of fields, and each value is wrapped as
    OpenReview wants it. In one's `own` store a post may name another accounts file, in `accounts`, and
    there need be none before a post wants it.

    >>> OpenReview(Accounts(Path("/nowhere/accounts.toml"), place="https://openreview.net"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of OpenReview must be that of its API 2: use https://api2.openreview.net
    """

    delivery: Delivery = "exactly once"

    def __init__(
        self,
        accounts: Accounts,
        *,
        own: bool = False,
        timeout_s: float = 20,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not 0 < timeout_s <= _LONGEST_S:
            raise BadInput(
                f"the timeout of OpenReview must be above 0 and at most {_LONGEST_S} s, not {timeout_s}"
            )
        if accounts.place is not None:
            openreview_address(accounts.place)
        if not own:
            accounts.check()
        self._accounts, self._own = accounts, own
        self._timeout_s, self._tls = timeout_s, tls

    @classmethod
    def for_home(cls, home: "Home") -> Self:
        """The accounts file lies beside the policy, unless a post names another."""
        return cls(Accounts(home.accounts_path), own=True)

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:  # noqa: ARG003 - not needed
        """All accounts are at the place that the operator has chosen."""
        return cls(Accounts(Path(settings["accounts"]), place=settings["api"]))

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what can be known to be wrong without asking anybody: asking would show an arrival."""
        place = read_options(options, own=self._own)
        openreview_address(self._file(place.accounts).account(place.account).at)

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:
        """Refuse what is no text, or no object of fields."""
        read_fields(read_options(options, own=self._own).field, content)

    def account(self, options: Mapping[str, Any]) -> str | None:
        """The account that these options need, with where it is; None while its file cannot be read."""
        try:
            place = read_options(options, own=self._own)
            account = self._file(place.accounts).account(place.account)
        except BadInput:
            return None
        return f"{account.at.rstrip('/')} {account.login.lower()}"  # an e-mail address

    def deliver(self, release: Release) -> None:
        """Post it, unless it is there; or raise why not."""
        try:
            place = read_options(release.options, own=self._own)
            fields = read_fields(place.field, release.content)
        except BadInput as error:
            raise Refused(str(error)) from error
        visit = self._visit(place, fields)
        visit.log_in()
        since_ms = int((release.at - _SLACK_S) * 1000) if release.attempt == 1 else 0
        if _look(visit, place, fields, since_ms):
            return
        try:
            visit.post(note_edit(place, fields))
        except Refused:
            # An earlier try that got no answer may have been obeyed only now: then this is one too many.
            if not _look(visit, place, fields, since_ms):
                raise

    def _visit(self, place: NoteOptions, fields: Mapping[str, Any]) -> OpenReviewVisit:
        file = self._file(place.accounts)
        try:
            file.check()
        except BadInput as error:  # whoever keeps the file will mend it: nothing is wrong with this note
            raise Unreachable(_BAD_FILE) from error
        try:
            account = file.account(place.account)
            hidden = [place.signature, *filter(_is_long, fields.values())]
            return OpenReviewVisit(account, timeout_s=self._timeout_s, tls=self._trust, hidden=hidden)
        except BadInput as error:
            raise Refused(_NO_ACCOUNT) from error

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        """Made once, and only if something leaves: reading all that the system trusts takes long."""
        return self._tls or ssl.create_default_context()

    def _file(self, named: Path | None) -> Accounts:
        return self._accounts if named is None else Accounts(named)


def _look(visit: OpenReviewVisit, place: NoteOptions, fields: Mapping[str, Any], since_ms: int) -> bool:
    """Whether the note is there, among the newest thousand of its kind in this forum."""
    query = {"forum": place.forum, "invitation": place.invitation, "sort": "tcdate:desc", "limit": "1000"}
    return any(is_there(note, place, fields, since_ms) for note in visit.notes(query))


def _is_long(value: Any) -> bool:
    """Whether a value is long enough to be somebody's words; a rating stays readable in sentences."""
    return isinstance(value, str) and len(value) > 3
