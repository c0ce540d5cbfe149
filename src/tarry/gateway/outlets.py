"""The outlets of spaces: each is made from its descriptor, and all of them are given to the keeper.

What a space's outlet needs (an address, the path of a file) is the operator's and stands in the database;
passwords stand in files of their own, which are checked when a space is made or changed, and when a server
or worker starts. A file that goes bad later is one space's trouble: `GuardedOutlet` tells how it ends.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.plugins import load, load_all, names
from tarry.gateway.catalog import Catalog, Space
from tarry.keep.errors import Paused, Unavailable, Unreachable
from tarry.keep.keys import Keys
from tarry.keep.lockouts import account_of
from tarry.keep.outlet import Delivery, Outlet, OutletKind
from tarry.keep.posts import Release

__all__ = [
    "GuardedOutlet",
    "SpaceOutlets",
    "check_outlets",
    "make_outlet",
    "may_take_over",
    "outlet_kind",
    "space_kinds",
    "space_secret",
]

_FRESH_S = 1.0


def space_secret(keys: Keys, space: Space) -> bytes:
    """A secret of a space's outlet, which signs what its webhook is sent. It follows from the store's key.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "webhook"}, versions=())
    >>> len(space_secret(Keys(bytes(32)), space))
    32
    """
    return keys.secret(f"{space.outlet.get('kind')} of {space.name}, {space.outlet.get('turn', 0)}")


def outlet_kind(outlet: Mapping[str, Any]) -> OutletKind:
    """The descriptor of a space's outlet.

    >>> outlet_kind({"kind": "mediawiki"}).words
    'its wiki'
    >>> outlet_kind({"kind": "pigeon"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown outlet 'pigeon': use feed, webhook, feed-file, mediawiki, \
openreview, bitcoin
    """
    name = str(outlet.get("kind"))
    if name in names("outlet"):
        kind: OutletKind = load("outlet", name)  # a package that cannot be loaded says why
        if kind.option is not None:
            return kind
    raise BadInput(f"unknown outlet {name!r}", f"use {', '.join(space_kinds())}")


def space_kinds() -> dict[str, OutletKind]:
    """Where the posts of a space may go: ours, and those of installed packages.

    >>> [kind.name for kind in space_kinds().values() if kind.needs_files]
    ['feed-file', 'mediawiki', 'openreview', 'bitcoin']
    """
    return {name: kind for name, kind in load_all("outlet").items() if kind.option is not None}


def make_outlet(space: Space, keys: Keys) -> Outlet:
    """The outlet of a space, or why it cannot work.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "webhook"}, versions=())
    >>> make_outlet(space, Keys(bytes(32)))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: outlet webhook has no url: give --webhook URL
    """
    kind = outlet_kind(space.outlet)
    kind.check_settings(space.outlet)
    settings = {name: value for name, value in space.outlet.items() if name != "kind"}
    return kind.load().for_space(settings, space=space.name, secret=space_secret(keys, space))


def may_take_over(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether what was handed in for one outlet may leave by another, as its author meant it.

    A feed would show everybody which account a post for a wiki names; another wiki is another place, where
    nobody would find what was done before. A transaction says itself where it belongs, whatever node it is
    given to.

    >>> wiki = {"kind": "mediawiki", "api": "https://wiki.example/api.php", "accounts": "/old.toml"}
    >>> may_take_over(wiki, {"kind": "feed"}), may_take_over(wiki, {**wiki, "accounts": "/new.toml"})
    (False, True)
    """
    return outlet_kind(old).may_take_over(old, outlet_kind(new), new)


def check_outlets(book: Catalog, keys: Keys) -> None:
    """Refuse, with the space's name, an outlet that cannot work: before a server or a worker starts.

    >>> outlet = {"kind": "mediawiki", "api": "https://wiki.example/api.php", "accounts": "/nowhere"}
    >>> space = Space(name="talk", title="Talk", circle="all", outlet=outlet, versions=())
    >>> check_outlets(Catalog(generation=1, spaces={"talk": space}), Keys(bytes(32)))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: space 'talk': the accounts file '/nowhere' does not exist: write it, or \
give another one
    """
    for space in book.spaces.values():
        try:
            make_outlet(space, keys)
        except BadInput as error:
            raise error.within(f"space '{space.name}'") from None


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
        try:
            kind = outlet_kind(space.outlet)
        except BadInput:  # of a package that is not installed here
            return GuardedOutlet(make, "at least once")
        return GuardedOutlet(make, kind.delivery) if kind.needs_files else make()


class GuardedOutlet(Outlet):
    """An outlet that needs the operator's files, in a gateway that must not end when one of them goes bad.

    It makes its outlet as soon as that can be made. A file that is removed, opened to others or misspelt
    while the gateway runs is one space's trouble: what it should deliver is tried again later, what is
    handed in for it is asked to wait, and everything else goes on.

    >>> def make() -> Outlet:
    ...     raise BadInput("the accounts file '/nowhere' does not exist", "write it")
    >>> GuardedOutlet(make, "exactly once").check({})
    Traceback (most recent call last):
    tarry.keep.errors.Paused: this space cannot deliver now: try again later, its operator has to repair \
its files
    """

    def __init__(self, make: Callable[[], Outlet], delivery: Delivery) -> None:
        self._make, self.delivery = make, delivery

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what could never be delivered; but it is not the author's fault if the files are bad."""
        self._refuse_or_pause(lambda outlet: outlet.check(options))

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:
        """Refuse content that could never be delivered."""
        self._refuse_or_pause(lambda outlet: outlet.check_content(options, content))

    def account(self, options: Mapping[str, Any]) -> str | None:
        """The account that a post needs, if the outlet logs in."""
        try:
            return account_of(self._outlet, options)
        except BadInput:
            return None

    def deliver(self, release: Release) -> None:
        """Deliver, if the files are good; and later, if not."""
        try:
            outlet = self._outlet
        except BadInput as error:
            raise Unreachable(
                "this space's outlet cannot work with its files as they are now: "
                "tarry worker says why when it starts"
            ) from error
        outlet.deliver(release)

    @cached_property
    def _outlet(self) -> Outlet:
        return self._make()

    def _refuse_or_pause(self, check: Callable[[Outlet], None]) -> None:
        try:
            check(self._outlet)
        except BadInput:
            try:
                self._make()
            except BadInput:
                # Without the error's own words: they name files, and perhaps accounts.
                raise Paused(
                    "this space cannot deliver now: try again later, its operator has to repair its files"
                ) from None
            raise
