"""What outlets check in the same way, and say in the same words: options, paths, texts and time limits."""

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused

__all__ = ["check_options", "check_timeout", "is_one_line", "never_taken", "read_path", "read_utf8"]

_NOT_IN_LINES = {"Cc", "Cs", "Zl", "Zp"}  # controls, halves of characters, ends of lines and paragraphs


@contextmanager
def never_taken() -> Iterator[None]:
    """Around a delivery: what breaks a rule now will break it at every try.

    >>> with never_taken():
    ...     read_utf8(bytes([255]), "the content of a note")
    Traceback (most recent call last):
    tarry.keep.errors.Refused: the content of a note must be UTF-8 text
    """
    try:
        yield
    except BadInput as error:
        raise Refused(str(error)) from error


def check_options(options: Mapping[str, Any], known: Collection[str], what: str) -> None:
    """Refuse an option that nobody knows.

    >>> check_options({"bcc": "ann@example.org"}, {"to", "subject"}, "a mail")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a mail has no option 'bcc': use subject, to
    """
    if unknown := [repr(name) for name in options if name not in known]:
        raise BadInput(f"{what} has no option {min(unknown)}", f"use {', '.join(sorted(known))}")


def check_timeout(timeout_s: float, longest_s: float, what: str) -> None:
    """Refuse a time limit for a request that is none, or that would hold a worker up.

    >>> check_timeout(60, 30, "a webhook")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the timeout of a webhook must be above 0 and at most 30 s, not 60
    """
    if not 0 < timeout_s <= longest_s:
        raise BadInput(f"the timeout of {what} must be above 0 and at most {longest_s} s, not {timeout_s}")


def read_path(path: Any, what: str) -> Path | None:
    """A path that means the same in whatever folder a keeper works; None where none is given.

    What is refused may be a secret that was put in the wrong place: it is not repeated.

    >>> read_path("accounts.toml", "accounts")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: accounts must be an absolute path: begin it with /
    """
    if path is None:
        return None
    if not isinstance(path, str | Path) or "\0" in str(path) or not Path(path).is_absolute():
        raise BadInput(f"{what} must be an absolute path", "begin it with /")
    return Path(path)


def read_utf8(content: bytes, what: str) -> str:
    """The text that a content is.

    >>> read_utf8(bytes([255]), "the content of a note")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the content of a note must be UTF-8 text
    """
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{what} must be UTF-8 text") from None


def is_one_line(text: str) -> bool:
    """Whether a text has no line ends and no control characters.

    >>> is_one_line("Paper 3"), is_one_line("Paper 3" + chr(10) + "Bcc: ann@example.org")
    (True, False)
    """
    return not any(unicodedata.category(letter) in _NOT_IN_LINES for letter in text)
