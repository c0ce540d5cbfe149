"""What outlets over HTTP share: one bounded call in their words, and logins by the accounts file."""

import re
import ssl
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.net import http_call
from tarry.net.address import Address
from tarry.net.http_call import NoAnswer, Response
from tarry.places.accounts import Account, Accounts
from tarry.places.checks import check_timeout

if TYPE_CHECKING:
    from tarry.keep.home import Home

__all__ = ["PASSING", "AccountOutlet", "ByAccount", "call", "check_status", "only_asking", "wait_of"]

#: Of the answers from 400 to 499 those that a later try may change: too slow, too early, too many.
PASSING = frozenset({408, 425, 429})
_PART_OF_WAIT = re.compile(r"\b([0-9]{1,6}) (second|minute|hour|day)s?\b")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@contextmanager
def only_asking() -> Iterator[None]:
    """Around what only asks: a login, a look. Whatever goes wrong there, nothing that acts was sent.

    >>> try:
    ...     with only_asking():
    ...         raise Unreachable("the wiki hung up", sent=True)
    ... except Unreachable as trouble:
    ...     trouble.sent
    False
    """
    try:
        yield
    except Unreachable as trouble:
        trouble.sent = False
        raise


def call(address: Address, headers: Mapping[str, str], body: bytes, **bounds: Any) -> Response:
    """Ask once, as `tarry.net.http_call` does: no answer is `Unreachable`, and is tried again.

    Its `sent` tells whether the request had gone out. Where the request does not act, that means nothing:
    see `only_asking`.

    >>> nowhere = Address(tls=False, host="127.0.0.1", port=9, path="/")
    >>> call(nowhere, {}, b"", timeout_s=5, who="the wiki")
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot be reached: Connection refused
    """
    try:
        return http_call.call(address, headers, body, **bounds)
    except NoAnswer as error:
        raise Unreachable(str(error), sent=error.sent) from error


def check_status(
    response: Response, who: str, *, refused: str, final: str = "address", untaken: Collection[int] = ()
) -> None:
    """Raise what any answer but one from 200 to 299 means: for a person, or for a later try.

    `refused` is what a person can do, `final` what to give in place of what redirects. Who answers one of
    the `untaken` has not taken it; behind any other a proxy may have lost the real answer.

    >>> check_status(Response(status=404), "the webhook", refused="look why")
    Traceback (most recent call last):
    tarry.keep.errors.Refused: the webhook answered 404 Not Found: look why
    """
    if 300 <= response.status < 400:
        raise Refused(f"{who} answered {response}: redirects are not followed, give the final {final}")
    if 400 <= response.status < 500 and response.status not in PASSING:
        raise Refused(f"{who} answered {response}: {refused}")
    if not 200 <= response.status < 300:
        raise Unreachable(f"{who} answered {response}", sent=response.status not in untaken)


def wait_of(number: object, words: object, usual: int, longest: int = 2 * 86_400) -> int:
    """How many seconds a server wants to be left alone: by a number, in its words, or as usual.

    >>> wait_of("30", None, 60), wait_of(None, "Please wait 5 minutes.", 60)
    (30, 300)
    """
    if re.fullmatch(r"[0-9]{1,9}", str(number)):
        return min(int(str(number)), longest)
    wait_s = sum(int(count) * _SECONDS[unit] for count, unit in _PART_OF_WAIT.findall(str(words)))
    return min(wait_s, longest) or usual


@dataclass(frozen=True, kw_only=True)
class ByAccount:
    """What the options of a post say about who acts; each place adds what it needs to know.

    >>> ByAccount(account="nym").accounts is None
    True
    """

    account: str  # a table of the accounts file
    accounts: Path | None = None  # another accounts file: in one's own store only


class AccountOutlet(Outlet):
    """An outlet that logs in by an accounts file, which it reads at every delivery.

    `timeout_s` bounds each request. In one's `own` store a post may name another accounts file, in
    `accounts`, and there need be none before a post wants it. A place derives from it, says what it is
    called, reads its options, checks addresses, and delivers by the `account_now`.

    >>> class Loft(AccountOutlet):
    ...     place, longest_s = "a loft", 60
    ...
    ...     def read(self, options):
    ...         return ByAccount(account=options["account"])
    ...
    ...     def check_place(self, url):
    ...         pass
    ...
    ...     def deliver(self, release):
    ...         print(self.account_now(self.read(release.options)).login)
    >>> Loft(Accounts(Path("/nowhere/accounts.toml"), place="https://loft.example"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file '/nowhere/accounts.toml' does not exist: write it, or \
give another one
    """

    delivery: Delivery = "exactly once"
    place: ClassVar[str]  # what sentences call it
    where: ClassVar[str] = "api"  # the setting of a space that says where all accounts are
    usual_s: ClassVar[float] = 30
    longest_s: ClassVar[float]

    def __init__(
        self,
        accounts: Accounts,
        *,
        own: bool = False,
        timeout_s: float | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.timeout_s = self.usual_s if timeout_s is None else timeout_s
        check_timeout(self.timeout_s, self.longest_s, self.place)
        if accounts.place is not None:
            self.check_place(accounts.place)
        if not own:
            accounts.check()
        self._accounts, self.own, self._tls = accounts, own, tls

    @classmethod
    def for_home(cls, home: "Home") -> Self:
        """The accounts file lies beside the policy, unless a post names another."""
        return cls(Accounts(home.accounts_path), own=True)

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:  # noqa: ARG003 - not needed
        """All accounts are at the place that the operator has chosen."""
        return cls(Accounts(Path(settings["accounts"]), place=settings[cls.where]))

    @abstractmethod
    def read(self, options: Mapping[str, Any]) -> ByAccount:
        """Check the options of a post."""

    @abstractmethod
    def check_place(self, url: str) -> object:
        """Refuse an address that is none of such a place."""

    def login_name(self, login: str) -> str:
        """One name for one account, however its login is written."""
        return login

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what no place takes, and an account that is not there.

        Nobody is asked: a question would show an arrival.
        """
        self.check_place(self._account(self.read(options)).at)

    def account(self, options: Mapping[str, Any]) -> str | None:
        """The account that a post needs, with where it is; None while its file cannot be read."""
        try:
            account = self._account(self.read(options))
        except BadInput:
            return None
        return f"{account.at.rstrip('/')} {self.login_name(account.login)}"

    def account_now(self, named: ByAccount) -> Account:
        """The account at a delivery.

        What is raised is kept with the post, and names nobody: the file's own errors may.
        """
        try:
            self._file(named).check()
        except BadInput as error:  # whoever keeps the file will mend it: nothing is wrong with this post
            raise Unreachable(
                "the accounts file is not there, open to others, or not well formed"
            ) from error
        try:
            account = self._account(named)
            self.check_place(account.at)
        except BadInput as error:
            raise Refused(
                f"the accounts file has no account for this post that is at {self.place}: add it, then "
                "repeat this"
            ) from error
        return account

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """Made once, and only if something leaves: reading all that the system trusts takes long."""
        return self._tls or ssl.create_default_context()

    def _account(self, named: ByAccount) -> Account:
        return self._file(named).account(named.account)

    def _file(self, named: ByAccount) -> Accounts:
        return self._accounts if named.accounts is None else Accounts(named.accounts)
