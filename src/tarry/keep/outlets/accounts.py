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
        self.path, self._place = path, place

    def check(self) -> None:
        """Refuse a file that is not there, open to others, or not well formed, in one sentence."""
        self._read()

    def account(self, name: str) -> Account:
        """One of them, as the file has it now; `BadInput` if it has none of this name."""
        accounts = self._read()
        if name not in accounts:
            raise BadInput("the account of a post", f"is in {self.path}", found=f"none called {name!r}")
        return accounts[name]

    def _read(self) -> dict[str, Account]:
        try:
            rights = stat.S_IMODE(self.path.stat().st_mode)
            text = self.path.read_text(encoding="utf-8")
            tables = tomllib.loads(text)
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
        return {name: self._account(name, table) for name, table in tables.items()}

    def _account(self, name: str, table: Any) -> Account:
        what = f"the account {name!r} in {self.path}"
        if not isinstance(table, Mapping) or not {"login", "password"} <= set(table) <= set(_KNOWN):
            found = ", ".join(sorted(table)) if isinstance(table, Mapping) else "a bare value"
            raise BadInput(what, "has a login, a password and perhaps an at", found=found or "nothing")
        if not all(isinstance(value, str) and value for value in table.values()):
            raise BadInput(what, "is made of texts that are not empty", found="something else")
        at = table.get("at", self._place)
        if at is None:
            raise BadInput(what, "says where it is", found="no at", fix='add at = "https://..."')
        if self._place is not None and at != self._place:
            raise BadInput(what, f"is at {self._place}", found="another at", fix="leave it out")
        return Account(login=table["login"], password=table["password"], at=at)
