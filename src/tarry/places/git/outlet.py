"""A git push of a commit that was named at admission, whatever becomes of the branch meanwhile.

What a push shows, beside its content: names and addresses of authors and committers, which are the user's
own choice, and their dates with the time zone, which tell when the work was done. With `redate` the commits
that nobody has seen yet are dated to the release (+0000) when they leave; signed ones are refused, for
a signature holds the date. Commits that are public already keep theirs. The server sees who connects, from
where, and with what program: two pseudonyms with one key are linked without any clock. Nothing connects to
it before the release. Reflogs, and what `refs/tarry` remembers of redated commits, stay in the repository:
do not push with `--mirror`, which would send them too.

Exactly once: a second try finds the commit there, or below what was pushed since. It never forces. After a
push with `redate` the local branch moves to the redated commits if it still stands where it stood; if it
has gone on, the next waiting push builds on them.

How commits are dated anew: every commit that no remote-tracking branch contains is written again, parents
first, with the release as the date of its author and of its committer; names, addresses, trees, messages,
encodings and all other headers stay byte for byte. The result follows from the commits and the release
alone. `refs/tarry/redated/OLD` remembers which commit an old one was published as, so that later commits on
top of the old one are put on top of the new one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release
from tarry.places.checks import check_options, never_taken
from tarry.places.git.client import GitRun, run_git, run_git_outside

__all__ = [
    "REDATED",
    "Git",
    "check_redatable",
    "redate",
    "redated_before",
    "redated_commit",
    "unpublished",
    "waiting_push",
]

REDATED = "refs/tarry/redated/"
_LEAVING = "refs/tarry/leaving/"  # what a try has pushed, or was about to
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ELSEWHERE = re.compile(r"[^/]*:")  # a URL, or host:path as ssh has it
_USER_IN_URL = re.compile(r"(?<=://)[^/@]*(?=@)")
_IDENT = re.compile(rb"(author|committer) (.*>) -?\d+ [+-]\d+")
_SIGNED = (b"gpgsig ", b"gpgsig-sha256 ")
_NEEDED = {"repository": str, "remote": str, "branch": str, "commit": str, "redate": bool}
_KINDS = {str: "a text", bool: "true or false"}
_PUSH = (
    "push",
    "--porcelain",
    "--no-progress",
    "--no-follow-tags",
    "--no-signed",
    "--recurse-submodules=no",
)
_FETCH = ("fetch", "--no-tags", "--no-write-fetch-head", "--refmap=", "--recurse-submodules=no", "--quiet")
#: Rejections that may pass: somebody else was in the way, or the answer was lost.
_PASSING = ("[remote failure]", "cannot lock ref", "failed to update ref", "unpacker error")


@dataclass(frozen=True)
class _Push:
    """The options, once they are known to be well formed."""

    repository: str
    remote: str
    branch: str  # without refs/heads/
    commit: str
    redate: bool
    address: str | None  # of the remote, with a hash instead of a user

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


def waiting_push(
    repository: str | Path, remote: str, branch: str | None = None, *, redate: bool = False
) -> dict[str, Any]:
    """The options of a push of what a branch (the one checked out, if none is named) holds now.

    Looks at the repository alone: asking the server would show it an arrival.

    >>> waiting_push("/", "origin", "main")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: / is not in a git repository: go to one
    """
    top = run_git(repository, "rev-parse", "--show-toplevel")
    if top.code:  # a bare one has no working tree
        top = run_git(repository, "rev-parse", "--absolute-git-dir")
    if top.code:
        raise BadInput(f"{repository} is not in a git repository", "go to one")
    if branch is None:
        head = run_git(top.text, "symbolic-ref", "--quiet", "HEAD")
        if head.code:
            raise BadInput("no branch is checked out", "name one: tarry git push REMOTE BRANCH")
        branch = head.text
    short = branch.removeprefix("refs/heads/")
    commit = run_git(top.text, "rev-parse", "--verify", "--quiet", f"refs/heads/{short}^{{commit}}")
    if commit.code:
        raise BadInput(f"there is no branch {branch!r} in the repository", "name another one")
    options = {
        "repository": top.text,
        "remote": remote,
        "branch": short,
        "commit": commit.text,
        "redate": redate,
        "address": _address(top.text, remote),
    }
    Git().check(options)
    return options


class Git(Outlet):
    """Pushes a commit: `repository`, `remote`, `branch`, `commit`, `redate` and, to make sure, `address`.

    >>> Git().delivery
    'exactly once'
    """

    delivery: Delivery = "exactly once"

    def __init__(self, *, timeout_s: float = 300) -> None:
        self._timeout_s = timeout_s

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what is not there, what is out already, and what cannot be dated anew."""
        push = _read(options)
        _look(push)
        tracked = f"refs/remotes/{push.remote}/{push.branch}"
        if not run_git(push.repository, "merge-base", "--is-ancestor", push.commit, tracked).code:
            raise BadInput("there is nothing to push: the remote has this commit", "commit something first")
        if push.redate:
            _check_tracked(push)
            check_redatable(push.repository, push.commit)

    @never_taken()
    def deliver(self, release: Release) -> None:
        """Push, or raise why not."""
        try:
            push = _read(release.options)
            _look(push)
            if push.redate:
                self._push_redated(push, release)
            else:
                self._push(push, push.commit)
        except OSError as error:  # perhaps after the push
            raise Unreachable(f"git cannot be run: {error}", sent=True) from error

    def _push_redated(self, push: _Push, release: Release) -> None:
        names = redate(push.repository, push.commit, self._date(push, release))
        tip = names.get(push.commit, push.commit)
        _update_refs(push, [f"update {_LEAVING}{push.commit} {tip}"])
        self._push(push, tip)
        seen = [f"update {REDATED}{old} {new}" for old, new in names.items()]
        _update_refs(push, [*seen, f"delete {_LEAVING}{push.commit}"], pushed=True)
        # Only if it still stands where it stood; the trees are the same, so no file changes.
        run_git(push.repository, "update-ref", "-m", "tarry: redated", push.ref, tip, push.commit)

    def _date(self, push: _Push, release: Release) -> int:
        """The release; but a try that came through and was cut off afterwards has set the date for good."""
        if release.attempt > 1:
            before = run_git(push.repository, "show", "-s", "--format=%H %ct", _LEAVING + push.commit, "--")
            if not before.code:
                tip, date = before.text.split()
                if self._is_there(push, tip):
                    return int(date)
        return int(release.at)

    def _push(self, push: _Push, tip: str) -> None:
        try:
            ran = run_git_outside(
                push.repository, *_PUSH, push.remote, f"{tip}:{push.ref}", timeout_s=self._timeout_s
            )
        except Unreachable as error:  # it was ended in the middle
            raise Unreachable(str(error), sent=True) from error
        if not ran.code:
            return
        if ran.hook_refused:
            output = "; ".join(filter(None, (*ran.text.splitlines(), ran.words)))
            raise Refused(f"the pre-push hook of your repository refused it: {output or 'it said nothing'}")
        rejected = [line for line in ran.text.splitlines() if line.startswith("!")]
        if not rejected:
            words = ran.words or f"it ended with {ran.code} and did not say why"
            raise Unreachable(f"git cannot push now: {words}", sent=not ran.is_outside)
        reason = rejected[0].split("\t")[-1]
        if any(passing in reason for passing in _PASSING):
            raise Unreachable(
                f"git cannot push now: {reason}; {ran.words}",
                sent="[remote failure]" in reason,  # it has not said what became of it
            )
        if reason.startswith("[rejected]") and self._is_there(push, tip):
            return
        raise Refused(f"the push was rejected: {'; '.join(filter(None, (reason, ran.words)))}")

    def _is_there(self, push: _Push, commit: str) -> bool:
        """Whether the remote's branch contains a commit."""
        there = self._ask_remote(push, "ls-remote", push.remote, push.ref)
        tips = [line.split("\t")[0] for line in there.text.splitlines() if line.endswith(f"\t{push.ref}")]
        if not tips:
            return False
        if tips[0] != commit:
            self._ask_remote(push, *_FETCH, push.remote, push.ref)
        return not run_git(push.repository, "merge-base", "--is-ancestor", commit, tips[0]).code

    def _ask_remote(self, push: _Push, *words: str) -> GitRun:
        ran = run_git_outside(push.repository, *words, timeout_s=self._timeout_s)
        if ran.code:
            raise Unreachable(f"git cannot ask the remote now: {ran.words}")
        return ran


def _read(options: Mapping[str, Any]) -> _Push:
    check_options(options, {*_NEEDED, "address"}, "a push")
    for name, kind in _NEEDED.items():
        value = options.get(name)
        if not isinstance(value, kind) or (isinstance(value, str) and not _is_text(value)):
            raise BadInput(f"the {name} of a push must be {_KINDS[kind]}, not {value!a}")
    push = _Push(**{**options, "address": options.get("address")})
    if not Path(push.repository).is_absolute():
        raise BadInput(f"the repository of a push must be an absolute path, not {push.repository!r}")
    if not _HASH.fullmatch(push.commit):
        raise BadInput(f"the commit of a push must be a whole hash, not {push.commit!r}")
    short = push.branch.removeprefix("refs/heads/")
    if short.startswith(("-", "refs/")) or run_git("/", "check-ref-format", f"refs/heads/{short}").code:
        raise BadInput(f"the branch of a push must be the name of a branch, not {push.branch!r}")
    return replace(push, branch=short)


def _is_text(value: str) -> bool:
    """Whether a program can be given it as a word."""
    return bool(value) and "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _look(push: _Push) -> None:
    """All that can be seen without asking anybody else."""
    if run_git(push.repository, "rev-parse", "--git-dir").code:
        raise BadInput(f"{push.repository} is not a git repository any more", "put it back")
    address = _address(push.repository, push.remote)
    if push.address not in {None, address}:
        raise BadInput(
            f"the remote {push.remote!r} has another address now: {address}",
            "if that is right, withdraw the push and hand it in again",
        )
    if run_git(push.repository, "cat-file", "-e", f"{push.commit}^{{commit}}").code:
        raise BadInput(
            f"the commit {push.commit} is not in the repository", "bring it back, or withdraw this"
        )


def _check_tracked(push: _Push) -> None:
    """Without remote-tracking branches all of history would look unseen, and be dated anew."""
    if run_git(push.repository, "config", "--get-all", f"remote.{push.remote}.fetch").code:
        fetch = f"git config remote.{push.remote}.fetch '+refs/heads/*:refs/remotes/{push.remote}/*'"
        raise BadInput(
            f"the remote {push.remote!r} has no tracking branches, which redate needs",
            f"{fetch}, and fetch",
        )


def _address(repository: str, remote: str) -> str:
    """Where a remote is, with a hash of who logs in: names and passwords are not the store's business."""
    known = run_git(repository, "remote").text.splitlines()
    if remote not in known:
        raise BadInput(
            f"there is no remote {remote!r}",
            f"use {', '.join(known)}" if known else "add one with git remote add",
        )
    address = run_git(repository, "remote", "get-url", "--push", remote).text
    if not _ELSEWHERE.match(address):  # a path, which may be meant from the repository
        return str(Path(repository, address).resolve())
    return _USER_IN_URL.sub(lambda user: blake2b(user[0].encode(), digest_size=8).hexdigest(), address)


def _update_refs(push: _Push, commands: list[str], *, pushed: bool = False) -> None:
    ran = run_git(push.repository, "update-ref", "--stdin", stdin="\n".join([*commands, ""]).encode())
    if ran.code:
        raise Unreachable(f"the repository cannot be written: {ran.words}", sent=pushed)


def unpublished(repository: str | Path, commit: str) -> list[str]:
    """The commits that no remote has, as far as is known here; parents first.

    Every remote counts, not only the one that is pushed to: what was merged from another is public too.

    >>> unpublished("/", "HEAD")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: ...
    """
    return _look_up(
        repository,
        "list the commits",
        "rev-list",
        "--topo-order",
        "--reverse",
        commit,
        "--not",
        "--remotes",
    ).text.split()


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
        redated_commit(_commit(repository, old), 0, {})


def redate(repository: str | Path, commit: str, at: int) -> dict[str, str]:
    """Write the unpublished commits anew with this date; the new name of each.

    >>> redate("/", "HEAD", 0)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: ...
    """
    before, names = redated_before(repository), dict[str, str]()
    for old in unpublished(repository, commit):
        names[old] = before.get(old) or _write(
            repository, redated_commit(_commit(repository, old), at, names)
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
    lines = head.split(b"\n")
    if any(line.startswith(_SIGNED) for line in lines):
        raise BadInput(
            "a signed commit cannot be dated anew", "push it without redate, or without its signature"
        )
    return b"\n".join(_line(line, at, names) for line in lines) + gap + message


def _line(line: bytes, at: int, names: Mapping[str, str]) -> bytes:
    word, _, rest = line.partition(b" ")
    if word == b"parent":
        return b"parent " + names.get(rest.decode(), rest.decode()).encode()
    if word in {b"author", b"committer"}:
        if not (ident := _IDENT.fullmatch(line)):
            raise BadInput(
                "a commit to redate must have a well-formed author and committer",
                "push it without redate, or amend it",
            )
        return b"%s %s %d +0000" % (ident[1], ident[2], at)
    return line


def _commit(repository: str | Path, name: str) -> bytes:
    return _look_up(repository, "read a commit", "cat-file", "commit", name).out


def _look_up(repository: str | Path, what: str, *words: str) -> GitRun:
    ran = run_git(repository, *words)
    if ran.code:
        raise BadInput(f"git cannot {what} ({ran.words})", "check the branch and the repository")
    return ran


def _write(repository: str | Path, raw: bytes) -> str:
    ran = run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)
    if ran.code:
        raise Refused(
            f"a commit cannot be dated anew ({ran.words}): look why, then repeat or withdraw this"
        )
    return ran.text
