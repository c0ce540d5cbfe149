"""The outlets of spaces: how each kind is made, and all of them as the keeper wants them.

What a space's outlet needs (an address, the path of a file) is the operator's and stands in the database;
passwords stand in files of their own, which are checked when a space is made or changed, and when a server
or worker starts. What becomes of a file later is `guarded`'s business.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.gateway.catalog import Catalog, Space
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.guarded import Guarded
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.outlets.accounts import Accounts
from tarry.keep.outlets.bitcoin import Bitcoin
from tarry.keep.outlets.mediawiki import MediaWiki
from tarry.keep.outlets.openreview import OpenReview
from tarry.keep.outlets.openreview_session import read_place
from tarry.keep.outlets.webhook import Webhook

__all__ = ["KINDS", "SpaceOutlets", "check_outlets", "make_outlet", "may_take_over", "webhook_secret"]

_FRESH_S = 1.0


def webhook_secret(keys: Keys, space: Space) -> bytes:
    """The secret that signs what a space's webhook is sent. Kept nowhere: it follows from the store's key.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "webhook"}, versions=())
    >>> len(webhook_secret(Keys(bytes(32)), space))
    32
    """
    return keys.secret(f"webhook of {space.name}, {space.outlet.get('turn', 0)}")


def _feed(space: Space, _: Keys) -> Outlet:
    _only(space, set())
    return FeedOutlet(space.name)


def _webhook(space: Space, keys: Keys) -> Outlet:
    _only(space, {"url", "turn"})
    return Webhook(str(space.outlet.get("url", "")), webhook_secret(keys, space), space=space.name)


def _mediawiki(space: Space, _: Keys) -> Outlet:
    return MediaWiki(_accounts(space))


def _openreview(space: Space, _: Keys) -> Outlet:
    accounts = _accounts(space)
    read_place(accounts.place or "")
    accounts.check()
    return OpenReview(accounts)


def _bitcoin(space: Space, _: Keys) -> Outlet:
    _only(space, {"node", "cookie", "login", "strict"})
    strict = space.outlet.get("strict", False)
    if not isinstance(strict, bool):
        raise BadInput("strict", "is true or false", found="another")
    node, cookie, login = (space.outlet.get(name) for name in ("node", "cookie", "login"))
    return Bitcoin(str(node or ""), cookie=cookie, login=login, strict=strict)


def _accounts(space: Space) -> Accounts:
    """The accounts of a space: all at the one place that its operator has chosen."""
    _only(space, {"api", "accounts"})
    api, path = (space.outlet.get(name) for name in ("api", "accounts"))
    what = f"an outlet of kind {space.outlet['kind']}"
    if not isinstance(api, str) or not isinstance(path, str):
        raise BadInput(what, "has an address and an accounts file", found="one of them alone")
    if "\0" in path or not Path(path).is_absolute():
        raise BadInput(what, "has an accounts file by its absolute path", found="another")
    return Accounts(Path(path), place=api)


#: Where the posts of a space may go.
KINDS: dict[str, Callable[[Space, Keys], Outlet]] = {
    "feed": _feed,
    "webhook": _webhook,
    "mediawiki": _mediawiki,
    "openreview": _openreview,
    "bitcoin": _bitcoin,
}
#: Those that need files beside the database.
_WITH_FILES = {"mediawiki", "openreview", "bitcoin"}
#: Those that show a post as it is, with its options: in the feed, or to whom the operator sends it.
_SHOWING = {"feed", "webhook"}


def make_outlet(space: Space, keys: Keys) -> Outlet:
    """The outlet of a space, or why it cannot work.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "pigeon"}, versions=())
    >>> make_outlet(space, Keys(bytes(32)))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the outlet of a space is one of feed, webhook, mediawiki, openreview, \
bitcoin, found 'pigeon'
    """
    kind = space.outlet.get("kind")
    if kind not in KINDS:
        raise BadInput("the outlet of a space", f"is one of {', '.join(KINDS)}", found=repr(kind))
    return KINDS[kind](space, keys)


def may_take_over(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether what was handed in for one outlet may leave by another, as its author meant it.

    A feed would show everybody which account a post for a wiki names; another wiki is another place, where
    nobody would find what was done before. A transaction says itself where it belongs, whatever node it is
    given to.

    >>> wiki = {"kind": "mediawiki", "api": "https://wiki.example/api.php", "accounts": "/old.toml"}
    >>> may_take_over(wiki, {"kind": "feed"}), may_take_over(wiki, {**wiki, "accounts": "/new.toml"})
    (False, True)
    """
    kinds = {old.get("kind"), new.get("kind")}
    if kinds <= _SHOWING:
        return True
    return len(kinds) == 1 and old.get("api") == new.get("api")


def check_outlets(book: Catalog, keys: Keys) -> None:
    """Refuse, with the space's name, an outlet that cannot work: before a server or a worker starts.

    >>> outlet = {"kind": "mediawiki", "api": "https://wiki.example/api.php", "accounts": "/nowhere"}
    >>> space = Space(name="talk", title="Talk", circle="all", outlet=outlet, versions=())
    >>> check_outlets(Catalog(generation=1, spaces={"talk": space}), Keys(bytes(32)))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: space 'talk': the accounts file can be read, \
found no such file: /nowhere
    """
    for space in book.spaces.values():
        try:
            make_outlet(space, keys)
        except BadInput as error:
            raise error.within(f"space '{space.name}'") from None


def _only(space: Space, known: set[str]) -> None:
    if unknown := set(space.outlet) - known - {"kind"}:
        kind = space.outlet["kind"]
        rule = f"knows {', '.join(sorted(known))}" if known else "has no settings"
        raise BadInput(f"an outlet of kind {kind}", rule, found=", ".join(sorted(unknown)))


class SpaceOutlets(Mapping[str, Outlet]):
    """The outlet of each space, by the space's name; new spaces appear within a second.

    >>> dict(SpaceOutlets(lambda: Catalog(generation=1), Keys(bytes(32))))
    {}
    """

    def __init__(
        self, reread: Callable[[], Catalog], keys: Keys, own: Mapping[str, Outlet] | None = None
    ) -> None:
        self._reread, self._keys, self._own = reread, keys, own or {}
        self._made: dict[str, tuple[Mapping[str, Any], Outlet]] = {}
        self._read_at = float("-inf")

    def __getitem__(self, space: str) -> Outlet:
        made, now = self._made.get(space), self._reread().spaces.get(space)
        # A post is admitted for the outlet that its space has, and not for the one it had a second ago.
        if made is None or (now is not None and made[0] != now.outlet):
            self._look()
        return self._made[space][1]

    def __iter__(self) -> Iterator[str]:
        if time.monotonic() - self._read_at > _FRESH_S:
            try:
                self._look()
            except Unavailable:  # whoever asks next meets it too
                self._read_at = time.monotonic()
        return iter(tuple(self._made))

    def __len__(self) -> int:
        return len(self._made)

    def _look(self) -> None:
        for space in self._reread().spaces.values():
            made = self._made.get(space.name)
            if made is None or made[0] != space.outlet:
                self._made[space.name] = (space.outlet, self._own.get(space.name) or self._make(space))
        self._read_at = time.monotonic()

    def _make(self, space: Space) -> Outlet:
        make = partial(make_outlet, space, self._keys)
        return Guarded(make) if space.outlet.get("kind") in _WITH_FILES else make()
