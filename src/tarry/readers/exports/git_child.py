"""Running git to read a repository: no settings of anybody's change the answer.

Nothing is fetched, no pager, hook, filter or signature program is started, and git ends with its reader.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.faults import clip

__all__ = ["ask_git", "git_fields"]

_KEPT = (
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
)  # the person's settings say whose folders git may enter
_FIXED = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # what a partial clone lacks is not fetched behind the person's back
    "GIT_ALLOW_PROTOCOL": "none",  # nor by a git that does not know the line above
}
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showRoot=true", "log.follow=false")
_BLOCK, _LONGEST = 1 << 16, 1 << 16  # bytes of a block, and of one name or path
_MOST_WORDS = 4096


def ask_git(repository: Path, *words: str) -> str:
    """What git answers to a short question.

    >>> ask_git(Path("/"), "check-ref-format", "--branch", "main")
    'main'
    """
    return b"\n".join(git_fields(repository, *words, ended_by=b"\n")).decode("utf-8", "replace")


def git_fields(repository: Path, *words: str, ended_by: bytes = b"\0") -> Iterator[bytes]:
    r"""The fields that git prints, one at a time; its own failure is refused with its own words.

    >>> list(git_fields(Path("/"), "check-ref-format", "--branch", "main", ended_by=b"\n"))
    [b'main']
    """
    if not repository.is_dir():
        found = "no such folder" if not repository.exists() else "what is not a folder"
        raise BadInput(_what(repository), "must be a git repository", found=found)
    with TemporaryFile() as err, _child(repository, words, err.fileno()) as child:
        yield from _split(child, ended_by, repository)
        code = child.wait()
        err.seek(0)
        said = err.read(_MOST_WORDS).decode("utf-8", "replace").splitlines()
        failed = [line for line in said if line.startswith(("fatal:", "error:"))]
        if code or failed:
            found = clip((failed or said or [f"git ended with {code}"])[0], 200)
            raise BadInput(_what(repository), "must be a sound git repository", found=found)


def _what(repository: Path) -> str:
    return f"the repository {clip(repository.name or repository, 60)}"


@contextlib.contextmanager
def _child(repository: Path, words: tuple[str, ...], err: int) -> Iterator[subprocess.Popen[bytes]]:
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        child = subprocess.Popen(
            ["git", "--no-pager", *settings, "-C", str(repository.absolute()), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            env={**environment, **_FIXED},
            start_new_session=True,  # no terminal to ask at, and one group to end
        )
    except FileNotFoundError:
        raise NotPossible("git is not installed, and reading a repository needs it") from None
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def _split(child: subprocess.Popen[bytes], end: bytes, repository: Path) -> Iterator[bytes]:
    rest = b""
    while block := os.read(child.stdout.fileno(), _BLOCK) if child.stdout else b"":
        *whole, rest = (rest + block).split(end)
        yield from whole
        if len(rest) > _LONGEST:
            found = f"one of more than {_LONGEST:,} bytes"
            raise BadInput(_what(repository), "must have names and paths of bounded length", found=found)
    if rest:
        yield rest
