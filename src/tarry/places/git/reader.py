"""The history of a git repository: who changed it, or which of its files, and when."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tarry.core.errors import BadInput
from tarry.places.git.client import ask_git, git_fields
from tarry.readers.events import Event, Stream
from tarry.readers.exports import Numbered, event_of, events_in, is_bot_name
from tarry.readers.faults import Faults, clip
from tarry.readers.moments import counted_us

__all__ = ["read_git"]

_CLOCKS = {"author": "%at", "committer": "%ct"}
_NOTES = {
    "author": "author dates are those of the author's own clock, to the second, and anybody may set them",
    "committer": "committer dates are those of whoever wrote the commit last: a rebase moves them",
}
# Stashes and notes are no part of what a push shows.
_REFS = ("--exclude=refs/stash", "--exclude=refs/notes/*", "--exclude=refs/replace/*", "--all")
_LOG = ("log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--no-decorate", "--encoding=UTF-8")
# A file that was moved as it is counts under its new name alone; to find more would need all contents.
_PATHS = (
    *("--name-only", "--find-renames=100%", "--no-diff-merges", "--no-ext-diff", "--no-textconv"),
    *("--no-relative", "--ignore-submodules=none", "-O/dev/null"),
)
_seconds = partial(counted_us, unit="s")
_HEAD = 4  # fields of a commit before its paths


def read_git(repository: str | Path, *, by: str = "repository", clock: str = "author") -> Stream:
    """Read all commits of a repository: the author's address and the repository, or each path changed.

    Addresses and names are those of the mailmap. By path, the track is the repository, a merge has no
    paths, and a submodule is one. `clock` chooses the author's date or the committer's. A fault's line is
    the place of its commit, counted from the newest.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     read_git(folder)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the repository ... cannot be read (fatal: ...): give a sound git repository
    """
    for flag, value, known in (("--by", by, ("repository", "path")), ("--clock", clock, tuple(_CLOCKS))):
        if value not in known:
            raise BadInput(f"{flag} must be {' or '.join(known)}, not {clip(value)!r}")
    path = Path(repository)
    common, _, is_shallow = ask_git(
        path, "rev-parse", "--path-format=absolute", "--git-common-dir", "--is-shallow-repository"
    ).rpartition("\n")
    folder = Path(common)
    # What people call it: the folder around `.git`, or a bare repository's own without its ending.
    name = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
    faults = Faults(f"the repository {clip(name, 60)}")
    notes = (
        _NOTES[clock],
        "commits pushed with `tarry git push --redate` carry their release, not when they were made",
        *(("the clone is shallow: older commits are missing",) if is_shallow == "true" else ()),
    )
    return Stream(events_in(_events(path, name, by=by, clock=clock), faults), faults, notes)


def _events(path: Path, name: str, *, by: str, clock: str) -> Iterator[Numbered]:
    shown = f"--format=%x00%H%x00%aE%x00%aN%x00{_CLOCKS[clock]}"
    words = (*_LOG, shown, *(_PATHS if by == "path" else ()), *_REFS)
    for number, (head, paths) in enumerate(_commits(git_fields(path, *words)), 1):
        commit, address, author, time = head
        event: Event | str = "the author has neither address nor name"
        if actor := address or author:
            event = event_of(actor, name, time, is_bot=is_bot_name(address, author), read=_seconds)
        if isinstance(event, str):
            yield number, f"commit {commit[:12]}: {event}"
        elif by == "repository":
            yield number, event
        else:
            yield from ((number, event._replace(target=changed, track=name)) for changed in paths)


def _commits(fields: Iterator[bytes]) -> Iterator[tuple[list[str], list[str]]]:
    """The head and the paths of each commit: an empty field, the head, the paths after a line break."""
    head: list[str] = []
    paths: list[str] = []
    for field in fields:
        # Bytes that are no UTF-8 are written out, so that two names of them stay two.
        text = field.decode("utf-8", "backslashreplace")
        if len(head) < _HEAD:
            if head or text:
                head.append(text)
        elif text:
            paths.append(text if paths else text.removeprefix("\n"))
        else:
            yield head, paths
            head, paths = [], []
    if head:
        yield head, paths
