"""MediaWiki: edits a page, creates one, or appends a section to one, by an account of the author's.

Each pseudonym has an account of its own at the wiki, and a bot password for it; both stand in the accounts
file. A visit at the release logs in, looks at the page, and makes one change.

Exactly once: a marker made of the release's id stands at the end of the summary, and every visit looks for
it among the account's changes first, for any try may come after one that succeeded. An edit whose page has
another newest revision than the one it was made from is refused: a person takes the new text, nothing is
overwritten. So is what would write into a page that was moved, deleted or made a redirect meanwhile, and a
second try to create a page that has been deleted.

What the wiki learns nevertheless: the address this machine connects from, and that tarry was used.
"""

import hashlib
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.keep.store import moment
from tarry.places.accounts import Account, Accounts
from tarry.places.mediawiki.change import WikiChange, marked, read_change, read_text
from tarry.places.mediawiki.client import WikiPage, WikiVisit, wiki_address

if TYPE_CHECKING:
    from tarry.keep.home import Home

__all__ = ["MediaWiki"]

_LONGEST_S = 120
_LONG_AGO_S = 366 * 86_400  # no post is tried for so long: a deletion before that was of another's page


class MediaWiki(Outlet):
    """Changes pages by the accounts of a file. `timeout_s` bounds each question; there are about four.

    Options: `account`, `page`, `action` ("edit" with its `base_revision`, "create", or "append" with its
    `heading`), `summary`, `minor`. In one's `own` store a post may name another accounts file, in
    `accounts`, and there need be none before a post wants it.

    >>> MediaWiki(Accounts(Path("/nowhere/accounts.toml"), place="https://wiki.example/w/api.php"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file '/nowhere/accounts.toml' does not exist: write it, or \
give another one
    """

    delivery: Delivery = "exactly once"

    def __init__(
        self,
        accounts: Accounts,
        *,
        own: bool = False,
        timeout_s: float = 30,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not 0 < timeout_s <= _LONGEST_S:
            raise BadInput(
                f"the timeout of a wiki must be above 0 and at most {_LONGEST_S} s, not {timeout_s}"
            )
        if accounts.place is not None:
            wiki_address(accounts.place)
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
        """Refuse what no wiki takes, and an account that is not there. No wiki is asked."""
        change = self._change(options)
        wiki_address(self._accounts_of(change).account(change.account).at)

    def check_content(self, _options: Mapping[str, Any], content: bytes) -> None:
        """Refuse what is no text that a wiki could keep."""
        read_text(content)

    def account(self, options: Mapping[str, Any]) -> str | None:
        """The account that a post needs, with its wiki."""
        try:
            change = self._change(options)
            account = self._accounts_of(change).account(change.account)
        except BadInput:
            return None
        return f"{account.at} {account.login}"

    def deliver(self, release: Release) -> None:
        """Make the change, find it made, or raise why not."""
        try:
            change, text = self._change(release.options), read_text(release.content)
        except BadInput as error:
            raise Refused(str(error)) from error
        visit = WikiVisit(self._account_now(change), timeout_s=self._timeout_s, tls=self._tls)
        visit.log_in()
        page = visit.look(change.page)
        summary, marker = marked(change.summary, release.id)
        if page.shows(marker):
            return
        _refuse_another_page(change, page)
        if change.action == "create" and page.newest is None and release.attempt > 1:
            _refuse_deleted(visit.deleted_at(change.page), release)
        try:
            visit.save(_fields(change, page, text, summary, moment(int(release.at))), page.token)
        except Refused:
            # An earlier try that got no answer may have been obeyed only now: then this one met its traces.
            if not visit.look(change.page).shows(marker):
                raise

    def _change(self, options: Mapping[str, Any]) -> WikiChange:
        return read_change(options, own=self._own)

    def _accounts_of(self, change: WikiChange) -> Accounts:
        return self._accounts if change.accounts is None else Accounts(change.accounts)

    def _account_now(self, change: WikiChange) -> Account:
        """The account at a delivery. These sentences are kept with the post, and name nobody."""
        accounts = self._accounts_of(change)
        try:
            accounts.check()
        except BadInput as error:  # somebody is writing it, or will mend it
            raise Unreachable("the accounts file cannot be used as it is now") from error
        try:
            account = accounts.account(change.account)
            wiki_address(account.at)
        except BadInput as error:
            raise Refused(
                "the accounts file has no account for this post that is at a wiki: add it, then repeat this"
            ) from error
        return account


def _refuse_another_page(change: WikiChange, page: WikiPage) -> None:
    """What the author has not seen is not written over."""
    if change.action == "create":
        return  # the wiki itself refuses to create what is there
    if page.newest is None:
        why = "there is no such page: it may have been moved or deleted, or has to be created"
        raise Refused(why)
    if change.action == "edit" and page.newest != change.base_revision:
        why = "the page has changed since the revision that this edit was made from, and was left as it is"
        raise Refused(f"{why}: take the new text and hand yours in again")
    if change.action == "append" and page.is_redirect:
        why = "the page is a redirect now, where nobody would see a new section"
        raise Refused(f"{why}: hand it in again for the page that it leads to")


def _refuse_deleted(deleted: str | None, release: Release) -> None:
    """An earlier try may have made the page, and an administrator have deleted it since.

    Nobody else sees by whom a deleted page was. Nor does it help that the wiki itself compares the deletion
    with the release: that may have moved on.
    """
    if deleted is not None and deleted >= moment(int(release.at) - _LONG_AGO_S):
        why = "the page has been deleted, perhaps after an earlier try had created it"
        raise Refused(f"{why}: look why, then withdraw this, or hand it in again")


def _fields(change: WikiChange, page: WikiPage, text: str, summary: str, at: str) -> dict[str, str]:
    """The form of a change, in its fixed order. It follows from the release and the page alone."""
    fields = {"title": change.page}
    if change.heading is not None:
        fields |= {"section": "new", "sectiontitle": change.heading}
    fields |= {"text": text, "summary": summary}
    fields["minor" if change.minor else "notminor"] = "1"  # whatever the account's preferences say
    if change.action == "create":
        # Created, and deleted since the release: it is not brought back.
        fields |= {"createonly": "1", "starttimestamp": at}
    else:
        # Also of a section: so the wiki notices one that it has just been given by an earlier try.
        fields |= {"nocreate": "1", "baserevid": str(page.newest)}
    md5 = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()  # what the wiki compares with
    return fields | {"watchlist": "nochange", "md5": md5}
