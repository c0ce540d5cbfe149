"""The outlets of spaces: how each kind is made, and all of them as the keeper wants them."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.gateway.book import Book, Space
from tarry.gateway.feed import FeedOutlet
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.outlets.outlet import Outlet
from tarry.keep.outlets.webhook import Webhook

__all__ = ["KINDS", "SpaceOutlets", "make_outlet", "webhook_secret"]

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


#: Where the posts of a space may go.
KINDS: dict[str, Callable[[Space, Keys], Outlet]] = {"feed": _feed, "webhook": _webhook}


def make_outlet(space: Space, keys: Keys) -> Outlet:
    """The outlet of a space, or why it cannot work.

    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "pigeon"}, versions=())
    >>> make_outlet(space, Keys(bytes(32)))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the outlet of a space is one of feed, webhook, found 'pigeon'
    """
    kind = space.outlet.get("kind")
    if kind not in KINDS:
        raise BadInput("the outlet of a space", f"is one of {', '.join(KINDS)}", found=repr(kind))
    return KINDS[kind](space, keys)


def _only(space: Space, known: set[str]) -> None:
    if unknown := set(space.outlet) - known - {"kind"}:
        kind = space.outlet["kind"]
        rule = f"knows {', '.join(sorted(known))}" if known else "has no settings"
        raise BadInput(f"an outlet of kind {kind}", rule, found=", ".join(sorted(unknown)))


class SpaceOutlets(Mapping[str, Outlet]):
    """The outlet of each space, by the space's name; new spaces appear within a second.

    >>> dict(SpaceOutlets(lambda: Book(generation=1), Keys(bytes(32))))
    {}
    """

    def __init__(
        self, reread: Callable[[], Book], keys: Keys, own: Mapping[str, Outlet] | None = None
    ) -> None:
        self._reread, self._keys, self._own = reread, keys, own or {}
        self._made: dict[str, tuple[str, Outlet]] = {}
        self._read_at = float("-inf")

    def __getitem__(self, space: str) -> Outlet:
        if space not in self._made:
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
            config = json.dumps(dict(space.outlet), sort_keys=True)
            if self._made.get(space.name, ("", None))[0] != config:
                outlet: Any = self._own.get(space.name) or make_outlet(space, self._keys)
                self._made[space.name] = (config, outlet)
        self._read_at = time.monotonic()
