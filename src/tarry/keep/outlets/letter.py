"""The options of a mail, read and checked: a letter."""

import ipaddress
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from email.errors import MessageError
from email.headerregistry import Address
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tarry.core.errors import BadInput

__all__ = ["Letter", "read_letter"]

_KNOWN = {"server", "from", "to", "subject", "password_file"}
_PORTS = {"smtp": 587, "smtps": 465}
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]{1,253}")
_MAILBOX = re.compile(r'"?(?P<name>[^<>"]*)"?\s*<(?P<within>[^<>]*)>|(?P<alone>[^<>]*)')
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_MOST_RECIPIENTS, _MOST_TEXT = 100, 900


@dataclass(frozen=True)
class Letter:
    """Where a mail goes, by what server, and how it is headed.

    >>> letter = {"from": "a@example.org", "to": ["b@example.org"], "subject": "Hello"}
    >>> read_letter({**letter, "server": "smtp://mail.example.org"}).port
    587
    """

    tls: bool  # from the first byte
    host: str
    port: int
    user: str | None
    password_file: Path | None
    sender: Address
    to: tuple[Address, ...]
    subject: str

    @property
    def local(self) -> bool:
        """Whether the server is this machine itself."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_letter(options: Mapping[str, Any]) -> Letter:
    """Check the options of a mail.

    >>> letter = {"server": "smtp://localhost:25", "from": "a@example.org", "to": ["b@example.org"]}
    >>> read_letter({**letter, "subject": "Hello" + chr(10) + "Bcc: c@example.org"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the subject of a mail is one line of at most 900 characters, found another
    """
    if unknown := set(options) - _KNOWN:
        raise BadInput("an option of a mail", f"is one of {', '.join(sorted(_KNOWN))}", found=min(unknown))
    to = options.get("to")
    if not isinstance(to, list | tuple) or not 0 < len(to) <= _MOST_RECIPIENTS:
        raise BadInput(
            "the recipients of a mail", f"are a list of 1 to {_MOST_RECIPIENTS}", found="another"
        )
    file = options.get("password_file")
    tls, host, port, user = _server(options.get("server"))
    if (user is None) != (file is None):
        raise BadInput("a mail", "has both a user in its server and a password_file, or none", found="one")
    if file is not None and (not isinstance(file, str) or not Path(file).is_absolute()):
        raise BadInput("the password_file of a mail", "is an absolute path", found=repr(file))
    return Letter(
        tls,
        host,
        port,
        user,
        None if file is None else Path(file),
        _address(options.get("from"), "the sender of a mail"),
        tuple(_address(each, "a recipient of a mail") for each in to),
        _one_line(options.get("subject"), "the subject of a mail"),
    )


def _server(url: Any) -> tuple[bool, str, int, str | None]:
    """Whether encrypted from the start, host, port, user."""
    try:
        parts = urlsplit(_one_line(url, "the server of a mail"))
        host, port = parts.hostname or "", parts.port
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput("the server of a mail", "is a URL", found=str(error)) from None
    user = None if parts.username is None else unquote(parts.username)
    if parts.scheme not in _PORTS or parts.path.strip("/") or parts.query or parts.fragment or port == 0:
        rule = "is smtp://host:port or smtps://host:port, with user@ before the host or without"
        raise BadInput("the server of a mail", rule, found="another")
    if parts.password is not None:
        fix = "put it into a file of your own and give its path as password_file"
        raise BadInput("the server of a mail", "holds no password", found="one", fix=fix)
    if not (_HOST.fullmatch(host) and len(host) <= 253) and ":" not in host:
        raise BadInput("the server of a mail", "has a host in ASCII", found=repr(host))
    if user is not None and not (user and user.isascii() and user.isprintable()):
        raise BadInput("the user of a mail server", "is written in ASCII", found="another")
    return parts.scheme == "smtps", host, port or _PORTS[parts.scheme], user


def _address(text: Any, what: str) -> Address:
    """`ann@example.org` or `Ann <ann@example.org>`."""
    mailbox = _MAILBOX.fullmatch(_one_line(text, what).strip())
    spec = (mailbox["within"] or mailbox["alone"] or "") if mailbox else ""
    if mailbox is None or not _ADDRESS.fullmatch(spec):
        raise BadInput(what, "is one address in ASCII, such as Ann <ann@example.org>", found="another")
    try:
        return Address((mailbox["name"] or "").strip(), addr_spec=spec)
    except (ValueError, MessageError, IndexError):
        raise BadInput(what, "is a well-formed address", found="another") from None


def _one_line(text: Any, what: str) -> str:
    """A header of its own making would be a letter of somebody else's."""
    if (
        not isinstance(text, str)
        or len(text) > _MOST_TEXT
        or any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in text)
    ):
        raise BadInput(what, f"is one line of at most {_MOST_TEXT} characters", found="another")
    return text
