"""The kinds of exports that `tarry read` knows: which function reads each, and with which options."""

import os
import stat
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tarry.core.errors import BadInput
from tarry.readers.events import Stream

__all__ = ["KINDS", "OPTIONS", "Export", "open_export"]

_LONGEST_LOGIN = 4096


class Export(NamedTuple):
    """One kind of export.

    >>> KINDS["jsonl"].needs
    ('actor', 'target', 'time')
    """

    home: str  # the module in tarry.readers.exports
    reader: str  # its function
    options: tuple[str, ...] = ()  # those that belong to it
    needs: tuple[str, ...] = ()  # those it cannot do without
    in_files: bool = False  # of which there may be several
    tells_bots: bool = False  # else names are asked later, and no column claims to know


KINDS = {
    "wiki-dump": Export("mediawiki_dump", "read_wiki_dump", in_files=True),
    "wiki": Export(
        "mediawiki_api", "read_wiki", ("what", "category", "page", "since", "until"), tells_bots=True
    ),
    "stack-exchange": Export("stack_exchange", "read_stack_exchange", in_files=True, tells_bots=True),
    "git": Export("git_log", "read_git", ("by", "clock"), tells_bots=True),
    "github": Export("github", "read_github", in_files=True, tells_bots=True),
    "gerrit": Export("gerrit", "read_gerrit", ("change",), in_files=True, tells_bots=True),
    "openreview": Export("openreview", "read_openreview", ("invitation", "login"), in_files=True),
    "bitcoin": Export("bitcoin_node", "read_bitcoin", ("cookie", "login", "blocks", "mempool")),
    "jsonl": Export(
        "json_lines",
        "read_json_lines",
        ("actor", "target", "time", "track", "time-unit", "utc"),
        needs=("actor", "target", "time"),
        in_files=True,
    ),
}
#: What each option takes (nothing for a switch, dots for one that may be given again), and what it means.
OPTIONS = {
    "what": (
        "WHAT",
        "recentchanges, or revisions of --page or --category (default: by whether these are given)",
    ),
    "category": ("NAME", "the revisions of all pages in it"),
    "page": ("TITLE...", "the revisions of this page; may be given again"),
    "since": ("TIME", "the first moment that counts"),
    "until": ("TIME", "the first moment that no longer counts"),
    "by": ("TARGET", "the target is the repository (default) or the path"),
    "clock": ("CLOCK", "the author's (default) or the committer's"),
    "change": ("ID", "the change of a file that has only comments, as project~number"),
    "invitation": ("ID", "the notes that answer it"),
    "cookie": ("FILE", "the node's own .cookie file"),
    "login": ("FILE", "a private file with user:password"),
    "blocks": ("FROM-TO", "the payments in these blocks"),
    "mempool": ("", "those that wait in the node's mempool, with the time it first saw them"),
    "actor": ("WAY", "where the actor stands in an object, such as user.login or {site}/{user.id}"),
    "target": ("WAY", "where the target stands"),
    "time": ("WAY", "where the time stands"),
    "track": ("WAY", "where the track stands, if there are tracks"),
    "time-unit": ("UNIT", "of times that are numbers: s, ms, us, ns, or iso for none (else as they look)"),
    "utc": ("", "times without a zone are UTC"),
}
_ARGUMENTS = {"page": "pages", "time-unit": "time_unit"}


def open_export(kind: str, sources: Sequence[str], given: Mapping[str, Any]) -> tuple[Stream, bool]:
    """The events of an export, and whether they tell who is a bot.

    >>> open_export("git", ["."], {"category": "People"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --category must be left out with tarry read git, found it: it ...
    """
    if kind not in KINDS:
        raise BadInput("the kind of export", f"is one of {', '.join(KINDS)}", found=repr(kind))
    export = KINDS[kind]
    for name in given:
        if name not in export.options:
            owner = next(other for other, its in KINDS.items() if name in its.options)
            rule, fix = f"must be left out with tarry read {kind}", f"it belongs to {owner}"
            raise BadInput(f"--{name}", rule, found="it", fix=fix)
    if len(sources) > 1 and not export.in_files:
        fix = "read them one by one"
        raise BadInput(f"tarry read {kind}", "must be told one SOURCE", found=len(sources), fix=fix)
    for name in export.needs:
        if name not in given:
            raise BadInput(f"tarry read {kind}", f"must be told --{name}", found="none")
    arguments = {_ARGUMENTS.get(name, name): value for name, value in given.items()}
    if "login" in arguments:
        arguments["login"] = _login(Path(arguments["login"]))
    reader = getattr(import_module(f"tarry.readers.exports.{export.home}"), export.reader)
    of_revisions = given.get("what") == "revisions" or "page" in given or "category" in given
    stream = reader(sources[0] if len(sources) == 1 else sources, **arguments)
    return stream, export.tells_bots and not of_revisions


def _login(path: Path) -> tuple[str, str]:
    """User and password from a file that is nobody else's to read; never shown."""
    what = "the file that --login names"
    try:
        with path.open(encoding="utf-8") as file:
            rights = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            user, colon, password = file.read(_LONGEST_LOGIN).strip().partition(":")
    except OSError as error:
        raise BadInput(what, "must be a file that can be read", found=error.strerror) from None
    except UnicodeDecodeError:
        user = colon = password = ""
    if rights & (stat.S_IRWXG | stat.S_IRWXO):
        fix = f"chmod go= {str(path)!r}"
        raise BadInput(what, "must be closed to everybody else", found=f"rights {rights:o}", fix=fix)
    if not (user and colon and password) or "\n" in password:
        raise BadInput(what, "must hold user:password", found="none in it")
    return user, password
