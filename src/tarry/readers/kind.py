"""What there is to know of a reader before it is loaded: the descriptor of an export's kind."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.plugins import Option, resolve
from tarry.readers.events import Stream

__all__ = ["ReaderKind", "check_private", "read_login"]


@dataclass(frozen=True, kw_only=True)
class ReaderKind:
    """One kind of export. `read` names its function, as `module:function`.

    The function takes the source (a path, an address; several paths where `in_files`), and the options by
    their keys. It returns a stream of events, and holds no more than a part of the export in memory.

    >>> git = ReaderKind(name="git", summary="a git repository", read="tarry.places.git.reader:read_git")
    >>> git.open(["one", "two"], {})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: tarry read git takes one SOURCE, not 2: read them one by one
    """

    name: str  # of `tarry read`, and of the entry point
    summary: str  # what the source is, in a few words
    read: str
    options: tuple[Option, ...] = ()
    in_files: bool = False  # of which there may be several
    tells_bots: bool = False  # else names are asked later, and no column claims to know
    no_bots_with: tuple[str, ...] = ()  # options with which it does not tell

    def open(self, sources: Sequence[str], options: Mapping[str, Any]) -> tuple[Stream, bool]:
        """The events of an export, and whether they tell who is a bot. Options are given by their keys."""
        if len(sources) > 1 and not self.in_files:
            raise BadInput(
                f"tarry read {self.name} takes one SOURCE, not {len(sources)}", "read them one by one"
            )
        arguments = dict(options)
        for option in self.options:
            if option.required and option.key not in options:
                raise BadInput(
                    f"tarry read {self.name} has no --{option.flag}",
                    f"give --{option.flag} {option.metavar}",
                )
            if option.rule == "login file" and option.key in options:
                arguments[option.key] = read_login(Path(options[option.key]))
        stream: Stream = resolve(self.read)(sources[0] if len(sources) == 1 else sources, **arguments)
        return stream, self.tells_bots and not any(key in options for key in self.no_bots_with)


def read_login(path: Path) -> tuple[str, str]:
    """User and password from a file that is nobody else's to read; no sentence shows them.

    >>> read_login(Path("/nowhere/login"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the login file '/nowhere/login' cannot be read (No such file or \
directory): give a private file with user:password
    """
    fix = "give a private file with user:password"
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            user, colon, password = file.read(4096).strip().partition(":")
    except OSError as error:
        raise BadInput(f"the login file {str(path)!r} cannot be read ({error.strerror})", fix) from None
    except UnicodeDecodeError:
        user = colon = password = ""
    check_private(path, mode, "the login file")
    if not (user and colon and password) or "\n" in password:
        raise BadInput(f"the login file {str(path)!r} does not hold user:password", "write it in one line")
    return user, password


def check_private(path: Path, mode: int, what: str) -> None:
    """Refuse a file with secrets that others than its owner may read or change.

    >>> check_private(Path("/home/ann/login"), 0o640, "the login file")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the login file must be closed to everybody else, not have rights 640: \
chmod go= '/home/ann/login'
    """
    rights = stat.S_IMODE(mode)
    if rights & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadInput(
            f"{what} must be closed to everybody else, not have rights {rights:o}",
            f"chmod go= {str(path)!r}",
        )
