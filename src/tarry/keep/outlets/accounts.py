"""The accounts that posts leave by: a file that only its owner reads, with one table for each pseudonym.

    [nym]
    login = "Nym@tarry"
    password = "..."
    at = "https://wiki.example/api.php"

The name of a table is what a post says in its option `account`. `at` is where the account is; it may be
left out where the outlet knows one place only, as a space of a gateway does. The file is read at every
delivery: a password that is changed there holds from then on, and none is ever in the store.
"""

import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput

__all__ = ["Account", "Accounts"]

_WHAT = "the accounts file"
_KNOWN = ("login", "password", "at")


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
    tarry.core.errors.BadInput: the accounts file can be read, found no such file: /nowhere/accounts.toml
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
            where = self.path if self.place is None else "the accounts file of its space"
            raise BadInput("the account of a post", f"is in {where}", found=f"none called {name!r}")
        return accounts[name]

    def _read(self) -> dict[str, Account]:
        try:
            rights = stat.S_IMODE(self.path.stat().st_mode)
            text = self.path.read_bytes()
            tables = None if text == self._last[0] else tomllib.loads(text.decode())
        except FileNotFoundError:
            raise BadInput(_WHAT, "can be read", found=f"no such file: {self.path}") from None
        except OSError as error:
            raise BadInput(_WHAT, "can be read", found=f"{error.strerror}: {self.path}") from None
        except UnicodeDecodeError:
            raise BadInput(_WHAT, "is UTF-8 text", found=f"other bytes in {self.path}") from None
        except tomllib.TOMLDecodeError as error:  # its text tells the line, and nothing that stands there
            raise BadInput(_WHAT, "is TOML", found=f"{error} in {self.path}") from None
        if rights & (stat.S_IRWXG | stat.S_IRWXO):
            fix = f"chmod go= {str(self.path)!r}"
            raise BadInput(_WHAT, "is closed to everybody else", found=f"rights {rights:o}", fix=fix)
        if tables is not None:  # many posts may ask at once: it is parsed when it changes
            self._last = (text, {name: self._account(name, table) for name, table in tables.items()})
        return self._last[1]

    def _account(self, name: str, table: Any) -> Account:
        what = f"the account {name!r} in {self.path}"
        if not isinstance(table, Mapping) or not {"login", "password"} <= set(table) <= set(_KNOWN):
            rule, found = "has a login, a password and perhaps an at", "a bare value"
            if isinstance(table, Mapping):  # a word that is no name here may be a password
                names = [name for name in _KNOWN if name in table]
                found = ", ".join([*names, *["another"][: len(table) - len(names)]]) or "nothing"
            raise BadInput(what, rule, found=found)
        if not all(isinstance(value, str) and value for value in table.values()):
            raise BadInput(what, "is made of texts that are not empty", found="something else")
        at = table.get("at", self.place)
        if at is None:
            raise BadInput(what, "says where it is", found="no at", fix='add at = "https://..."')
        if self.place is not None and at != self.place:
            raise BadInput(what, f"is at {self.place}", found="another at", fix="leave it out")
        return Account(login=table["login"], password=table["password"], at=at)
