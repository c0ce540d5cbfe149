"""An outlet that needs files of the operator's, in a gateway that must not end when one of them goes bad.

A file that is removed, opened to others or misspelt while the gateway runs is one space's trouble: what it
should deliver is tried again later, what is handed in for it is asked to wait, and everything else goes on.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Paused, Unreachable
from tarry.keep.lockouts import account_of
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release

__all__ = ["Guarded"]

#: Without the error's own words: they name files, and perhaps accounts.
_LATER = "what this space needs to deliver is out of order: its operator has to look, try again later"
_BAD_FILES = (
    "this space's outlet cannot work with its files as they are now: tarry worker tells why at its start"
)


class Guarded(Outlet):
    """Makes its outlet as soon as that can be made. It stands before outlets that deliver exactly once.

    >>> def make() -> Outlet:
    ...     raise BadInput("the accounts file", "can be read", found="no such file")
    >>> Guarded(make).check({})
    Traceback (most recent call last):
    tarry.keep.errors.Paused: what this space needs to deliver is out of order: its operator has to look, \
try again later
    """

    delivery: Delivery = "exactly once"

    def __init__(self, make: Callable[[], Outlet]) -> None:
        self._make = make
        self._made: Outlet | None = None

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what could never be delivered; but it is not the author's fault if the files are bad."""
        self._ask(lambda outlet: outlet.check(options))

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:
        """Refuse content that could never be delivered."""
        self._ask(lambda outlet: outlet.check_content(options, content))

    def account(self, options: Mapping[str, Any]) -> str | None:
        """The account that a post needs, if the outlet logs in."""
        try:
            return account_of(self._outlet(), options)
        except BadInput:
            return None

    def deliver(self, release: Release) -> None:
        """Deliver, if the files are good; and later, if not."""
        try:
            outlet = self._outlet()
        except BadInput as error:
            raise Unreachable(_BAD_FILES) from error
        outlet.deliver(release)

    def _outlet(self) -> Outlet:
        if self._made is None:
            self._made = self._make()
        return self._made

    def _ask(self, question: Callable[[Outlet], None]) -> None:
        try:
            question(self._outlet())
        except BadInput:
            self._check_files()
            raise

    def _check_files(self) -> None:
        try:
            self._make()
        except BadInput:
            raise Paused(_LATER) from None
