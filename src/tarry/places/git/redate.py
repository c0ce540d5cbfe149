"""Dating commits to a release: their own dates would tell when they were made.

Every commit that no remote-tracking branch contains is written anew, parents first, with the release as
the date of its author and of its committer; names, addresses, trees, messages, encodings and all other
headers stay byte for byte. The result follows from the commits and the release alone. What was published is
never touched.

`refs/tarry/redated/OLD` remembers which commit an old one was published as, so that later commits on top of
the old one are put on top of the new one.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.places.git.client import run_git

__all__ = ["REDATED", "check_redatable", "redate", "redated_before", "redated_commit", "unpublished"]

REDATED = "refs/tarry/redated/"
_IDENT = re.compile(rb"(author|committer) (.*>) -?\d+ [+-]\d+")
_SIGNED = (b"gpgsig ", b"gpgsig-sha256 ")


def unpublished(repository: str | Path, commit: str) -> list[str]:
    """The commits that no remote has, as far as is known here; parents first.

    Every remote counts, not only the one that is pushed to: what was merged from another is public too.

    >>> unpublished("/", "HEAD")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: ...
    """
    ran = run_git(repository, "rev-list", "--topo-order", "--reverse", commit, "--not", "--remotes")
    if ran.code:
        raise BadInput(f"git cannot list the commits ({ran.words})", "check the branch and the repository")
    return ran.text.split()


def redated_before(repository: str | Path) -> dict[str, str]:
    """The commits that were published under another date: the old name, and the new one.

    >>> redated_before("/")
    {}
    """
    ran = run_git(repository, "for-each-ref", "--format=%(refname) %(objectname)", REDATED)
    pairs = (line.split(" ") for line in ran.text.splitlines())
    return {name.removeprefix(REDATED): new for name, new in pairs}


def check_redatable(repository: str | Path, commit: str) -> None:
    """Refuse what cannot be dated anew: signed commits, and a push of nothing new.

    >>> check_redatable("/", "HEAD")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: ...
    """
    before = redated_before(repository)
    fresh = [old for old in unpublished(repository, commit) if old not in before]
    if not fresh:
        raise BadInput(
            "there is nothing to redate: a remote has all of these commits", "push without redate"
        )
    for old in fresh:
        redated_commit(_read(repository, old), 0, {})


def redate(repository: str | Path, commit: str, at: int) -> dict[str, str]:
    """Write the unpublished commits anew with this date; the new name of each.

    >>> redate("/", "HEAD", 0)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: ...
    """
    before, names = redated_before(repository), dict[str, str]()
    for old in unpublished(repository, commit):
        names[old] = before.get(old) or _write(
            repository, redated_commit(_read(repository, old), at, names)
        )
    return names


def redated_commit(raw: bytes, at: int, names: Mapping[str, str]) -> bytes:
    r"""A commit as git stores it, with another date, on top of parents under their new names.

    >>> print(redated_commit(b"tree 1\nparent 2\nauthor A <a> 9 +0100\n\nHi", 60, {"2": "3"}).decode())
    tree 1
    parent 3
    author A <a> 60 +0000
    <BLANKLINE>
    Hi
    """
    head, gap, message = raw.partition(b"\n\n")
    lines = []
    for line in head.split(b"\n"):
        if line.startswith(_SIGNED):
            fix = "push it without redate, or without its signature"
            raise BadInput("a signed commit cannot be dated anew", fix)
        lines.append(_line(line, at, names))
    return b"\n".join(lines) + gap + message


def _line(line: bytes, at: int, names: Mapping[str, str]) -> bytes:
    word, _, rest = line.partition(b" ")
    if word == b"parent":
        return b"parent " + names.get(rest.decode(), rest.decode()).encode()
    if word in {b"author", b"committer"}:
        if not (ident := _IDENT.fullmatch(line)):
            fix = "push it without redate, or amend it"
            raise BadInput("a commit to redate must have a well-formed author and committer", fix)
        return b"%s %s %d +0000" % (ident[1], ident[2], at)
    return line


def _read(repository: str | Path, commit: str) -> bytes:
    ran = run_git(repository, "cat-file", "commit", commit)
    if ran.code:
        raise BadInput(f"git cannot read a commit ({ran.words})", "check the branch and the repository")
    return ran.out


def _write(repository: str | Path, raw: bytes) -> str:
    ran = run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)
    if ran.code:
        raise Refused(
            f"a commit cannot be dated anew ({ran.words}): look why, then repeat or withdraw this"
        )
    return ran.text
