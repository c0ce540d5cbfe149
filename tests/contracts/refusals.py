"""Collects what tarry refuses while a test runs, and reads each sentence as a person would.

A refusal says what is wrong and what to do, in one line, and shows nobody's secret. Each one that the
source makes in any test is read; what a test makes itself is its own business.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import tarry
from tarry.core.errors import TarryError
from tarry.keep.posts import Post
from tarry.places.accounts import Account

__all__ = ["Refusals", "faults"]

_SOURCE = Path(tarry.__file__).parent
#: These tell what another machine did, or what a post has become: there is nothing to be done.
REPORTS = {
    "BadStatus",
    "LockedOut",
    "NoAnswer",
    "NodeError",
    "Refusal",
    "Refused",
    "TooLate",
    "Unavailable",
    "Unreachable",
}
#: What to do is said with *must*, or with one of these words at the beginning of a part of the sentence.
_VERB = re.compile(
    r"("
    r"add|allow|ask|begin|call|change|check|chmod|choose|collect|convert|copy|"
    r"correct|delete|did|do|end|export|git|give|go|if|install|leave|let|load|look|make|"
    r"mark|mend|move|name|open|pause|pip|push|put|reach|read|remove|rename|renew|"
    r"repair|repeat|run|save|say|see|send|set|show|sign|start|stop|take|tarry|try|"
    r"uninstall|unpack|upload|use|wait|withdraw|write"
    r")\b"
)
_PARTS = re.compile(r": |; |, or |, then |, and |\. ")
_LONGEST = 600
#: A token, a receipt or a key, whole. Transactions and commits have public names of that length.
_SECRET = re.compile(r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{48}")
_HAVE_LONG_NAMES = ("places/bitcoin/", "places/git/", "paper/")


class Refusals:
    """Notes every error that the source makes between `begin` and `faults`."""

    def __init__(self) -> None:
        self._patch = pytest.MonkeyPatch()
        self._made: dict[tuple[str, str], str] = {}  # by kind and sentence: the file it was made in
        self._secrets: set[str] = set()

    def start(self) -> None:
        """Listen from now on."""
        refusals = self

        def note(error: TarryError, *texts: object) -> None:
            super(TarryError, error).__init__(*texts)
            refusals._note(error, sys._getframe(1))

        self._patch.setattr(TarryError, "__init__", note)
        self._hear_secrets(Account, lambda account: account.password, shortest=6)
        # A short one may be any word of a sentence.
        self._hear_secrets(Post, lambda post: post.content, shortest=20)

    def stop(self) -> None:
        """Listen no longer."""
        self._patch.undo()

    def begin(self) -> None:
        """Another test begins."""
        self._made.clear()
        self._secrets.clear()

    def faults(self) -> list[str]:
        """What is wrong with the refusals so far."""
        return [
            f"{where}: {kind} {fault}: {sentence!r}"
            for (kind, sentence), where in list(self._made.items())
            for fault in faults(kind, sentence, where, self._secrets)
        ]

    def _note(self, error: TarryError, frame: FrameType | None) -> None:
        # Those that make errors for others, and not the place that refuses.
        while frame is not None and frame.f_code.co_name in {"__init__", "require", "require_possible"}:
            frame = frame.f_back
        path = Path(frame.f_code.co_filename) if frame is not None else Path()
        if path.is_relative_to(_SOURCE):
            self._made[type(error).__name__, str(error)] = str(path.relative_to(_SOURCE))

    def _hear_secrets(self, kind: type, read: Callable[[Any], str | bytes], *, shortest: int) -> None:
        make = kind.__init__

        def made(thing: object, *values: object, **named: object) -> None:
            make(thing, *values, **named)
            secret = read(thing)
            text = secret if isinstance(secret, str) else bytes(secret).decode(errors="ignore")
            if len(text) >= shortest:
                self._secrets.add(text)

        self._patch.setattr(kind, "__init__", made)


def faults(kind: str, sentence: str, where: str = "", secrets: set[str] = frozenset()) -> list[str]:
    """What is wrong with one refusal."""
    broken = {
        "is empty": not sentence.strip(),
        "has several lines": "\n" in sentence,
        "is too long to be read": len(sentence) > _LONGEST,
        "does not say what to do": kind not in REPORTS and not _says_what_to_do(sentence),
        "shows a secret": any(secret in sentence for secret in secrets)
        or (not where.startswith(_HAVE_LONG_NAMES) and _SECRET.search(sentence) is not None),
    }
    return [fault for fault, is_so in broken.items() if is_so]


def _says_what_to_do(sentence: str) -> bool:
    if "must" in sentence.split() or "there is nothing to" in sentence:
        return True
    return any(map(_VERB.match, _PARTS.split(sentence)))
