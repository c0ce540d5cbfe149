"""The accounts that posts leave by: a file that only its owner reads, with one table for each pseudonym.

    [nym]
    login = "Nym@tarry"
    password = "..."
    at = "https://wiki.example/api.php"

The name of a table is what a post says in its option `account`. `at` is where the account is; it may be
left out where the outlet knows one place only, as a space of a gateway does. The file is read at every
delivery: a password that is changed there holds from then on, and none is ever in the store.
"""

import argparse
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.plugins import Option
from tarry.readers.kind import check_private

__all__ = ["ACCOUNTS", "Account", "Accounts", "add_accounts", "named_account", "with_accounts"]

#: The option of a space whose outlet logs in.
ACCOUNTS = Option(
    flag="accounts",
    metavar="FILE",
    help="the logins that posts leave by: a private TOML file, one table for each pseudonym",
    rule="private file",
    required=True,
)
_KNOWN = ("login", "password", "at")
_SHAPE = "write login, password and perhaps at"


@dataclass(frozen=True, kw_only=True)
class Account:
    """One account.

    >>> Account(login="Nym@tarry", password="secret", at="https://wiki.example/api.php").login
    'Nym@tarry'
    """

    login: str
    password: str = field(repr=False)
    at: str  # where it is


class Accounts:
    """The accounts of one file; `place`, if given, is where all of them are.

    >>> Accounts(Path("/nowhere/accounts.toml")).check()
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file '/nowhere/accounts.toml' does not exist: write it, or \
give another one
    """

    def __init__(self, path: Path, *, place: str | None = None) -> None:
        self.path, self.place = path, place
        self._last: tuple[bytes, dict[str, Account]] = (b"", {})  # what stood there, and what it meant

    def check(self) -> None:
        """Refuse a file that is not there, open to others, or not well formed, in one sentence."""
        self._read()

    def account(self, name: str) -> Account:
        """One of them, as the file has it now; `BadInput` if it has none of this name."""
        accounts = self._read()
        if name not in accounts:
            # Where the place is the operator's, where the file lies is no business of who posts.
            where = str(self.path) if self.place is None else "the accounts file of this space"
            raise BadInput(f"there is no account {name!r} in {where}", "name another one")
        return accounts[name]

    @property
    def names(self) -> list[str]:
        """What posts may call them, as the file has them now."""
        return list(self._read())

    def _read(self) -> dict[str, Account]:
        what = f"the accounts file {str(self.path)!r}"
        try:
            mode = self.path.stat().st_mode
            text = self.path.read_bytes()
            tables = None if text == self._last[0] else tomllib.loads(text.decode())
        except FileNotFoundError:
            raise BadInput(f"{what} does not exist", "write it, or give another one") from None
        except OSError as error:
            raise BadInput(
                f"{what} cannot be read ({error.strerror})", "check its path and rights"
            ) from None
        except UnicodeDecodeError:
            raise BadInput(f"{what} is not UTF-8 text", "save it as UTF-8") from None
        except tomllib.TOMLDecodeError as error:  # its text tells the line, and nothing that stands there
            raise BadInput(f"{what} is not TOML ({error})", "mend that line") from None
        check_private(self.path, mode, "the accounts file")
        if tables is not None:  # many posts may ask at once: it is parsed when it changes
            self._last = (text, {name: self._account(name, table) for name, table in tables.items()})
        return self._last[1]

    def _account(self, name: str, table: Any) -> Account:
        what = f"the account {name!r} in {self.path}"
        if not isinstance(table, Mapping):
            raise BadInput(f"{what} is a bare value", f"make it a table: {_SHAPE}")
        if not {"login", "password"} <= set(table) <= set(_KNOWN):
            names = [name for name in _KNOWN if name in table]
            # A word that is no name here may be a password.
            has = ", ".join([*names, *["another name"][: len(table) - len(names)]]) or "nothing"
            raise BadInput(f"{what} has {has}", _SHAPE)
        if not all(isinstance(value, str) and value for value in table.values()):
            raise BadInput(f"{what} must be made of texts that are not empty")
        at = table.get("at", self.place)
        if at is None:
            raise BadInput(f"{what} does not say where it is", 'add at = "https://..."')
        if self.place is not None and at != self.place:
            raise BadInput(f"{what} must be at {self.place}, not elsewhere", "leave its at out")
        return Account(login=table["login"], password=table["password"], at=at)


def add_accounts(parser: argparse.ArgumentParser) -> None:
    """The option of a command that names the accounts file.

    >>> parser = argparse.ArgumentParser()
    >>> add_accounts(parser)
    >>> parser.parse_args(["--accounts", "nyms.toml"]).accounts
    'nyms.toml'
    """
    parser.add_argument(
        "--accounts", metavar="FILE", help="the accounts file (default accounts.toml beside your policy)"
    )


def with_accounts(arguments: argparse.Namespace, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a post that are set, and where the accounts are, whatever folder a keeper works in.

    >>> with_accounts(argparse.Namespace(accounts="/a.toml"), {"account": "nym", "base": None})
    {'account': 'nym', 'accounts': '/a.toml'}
    """
    accounts = str(_path(arguments)) if arguments.accounts else None
    return {name: value for name, value in {**options, "accounts": accounts}.items() if value is not None}


def named_account(arguments: argparse.Namespace) -> Account:
    """The account that a command names, as its file has it now.

    >>> named_account(argparse.Namespace(account="nym", accounts="/nowhere/a.toml"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file '/nowhere/a.toml' does not exist: write it, or give \
another one
    """
    return Accounts(_path(arguments)).account(arguments.account)


def _path(arguments: argparse.Namespace) -> Path:
    from tarry.keep.home import Home  # noqa: PLC0415 - commands alone need it

    return Path(arguments.accounts).absolute() if arguments.accounts else Home.of(os.environ).accounts_path
