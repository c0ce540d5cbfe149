"""Running git: no prompts, no terminal, a fixed environment and an end.

Nothing named GIT_* reaches it from our own environment. To push, it gets what decides *as whom* and *by
what way* it connects: the home folder with its configuration, the agent of ssh, proxies. A repository that
must only be reached through a proxy should say so itself (`http.proxy`, `core.sshCommand`): a keeper that
was started somewhere else has other variables. To read a history it gets less: nothing is fetched, no
pager, hook, filter or signature program is started, and git ends with its reader.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.errors import Unreachable
from tarry.net.http_call import one_line

__all__ = ["GitRun", "ask_git", "git_fields", "run_git", "run_git_outside"]

_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")  # a person's settings say whose folders git may enter
_KEPT_TO_CONNECT = (
    *("USER", "LOGNAME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
)
_FIXED = {"LC_ALL": "C", "TZ": "UTC", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1"}
_ASK_NOBODY = {
    "GIT_ASKPASS": "",  # empty: nobody is asked, whatever the configuration says
    "SSH_ASKPASS_REQUIRE": "never",
}
_FETCH_NOTHING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",  # what a partial clone lacks is not fetched behind the person's back
    "GIT_ALLOW_PROTOCOL": "none",  # nor by a git that does not know the line above
}
_QUIETLY = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.pushUpdateRejected=false")
_NO_COMPLAINT = ("hint:", "To ", "error: failed to push")
#: What git says if it did not even come to speak with a remote.
_OUTSIDE = (
    "Could not read from remote repository",
    "unable to access '",
    "unable to connect",
    "unable to look up",
    "Authentication failed for",
    "could not read Username",
    "could not read Password",
    "' not found",
)
_TO_READ = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showRoot=true", "log.follow=false")
_BLOCK, _LONGEST = 1 << 16, 1 << 16  # bytes of a block, and of one name or path


@dataclass(frozen=True)
class GitRun:
    r"""How a run of git ended.

    >>> GitRun(1, b"", b"hint: try again\nfatal: no such remote\n").words
    'fatal: no such remote'
    """

    code: int
    out: bytes
    err: bytes
    hook_refused: bool = False  # of a push: its pre-push hook ended it, and nothing was sent

    @property
    def text(self) -> str:
        """What it answered."""
        return self.out.decode("utf-8", "replace").strip()

    @property
    def words(self) -> str:
        """What it complained of, for a person."""
        lines = (line.strip() for line in self.err.decode("utf-8", "replace").splitlines())
        complaints = [line for line in lines if line and not line.startswith(_NO_COMPLAINT)]
        return "; ".join(complaints)[:500]

    @property
    def is_outside(self) -> bool:
        """Whether it failed before it spoke with the remote; anything else may have come through."""
        return any(words in self.words for words in _OUTSIDE)


def run_git(
    repository: str | Path,
    *words: str,
    stdin: bytes = b"",
    timeout_s: float = 120,
    more: Mapping[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> GitRun:
    """Run git in a repository. What it reads and writes are files: no child of its can keep us waiting.

    >>> run_git("/", "check-ref-format", "refs/heads/main").code
    0
    """
    environment = _environment(*_KEPT_TO_CONNECT) | _ASK_NOBODY | dict(more or {})
    with TemporaryFile() as content, TemporaryFile() as out, TemporaryFile() as err:
        content.write(stdin)
        content.seek(0)
        try:
            process = subprocess.Popen(
                ["git", *_QUIETLY, "-C", str(repository), *words],
                stdin=content,
                stdout=out,
                stderr=err,
                env=environment,
                cwd="/",
                pass_fds=pass_fds,
                start_new_session=True,  # no terminal to ask at, and one group to end
            )
        except FileNotFoundError:
            raise BadInput("git is not installed", "install it") from None
        try:
            code = process.wait(timeout_s)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Unreachable(f"git {words[0]} took longer than {timeout_s:g} s") from None
            raise
        out.seek(0)
        err.seek(0)
        return GitRun(code, out.read(), err.read())


def run_git_outside(repository: str | Path, *words: str, timeout_s: float) -> GitRun:
    """Run git where it connects to a server. The repository's own ssh command, and with it its key, stays.

    >>> run_git_outside("/", "ls-remote", "/no/such/repository", timeout_s=10).code
    128
    """
    command = run_git(repository, "config", "--get", "core.sshCommand").text or "ssh"
    more = {"GIT_SSH_COMMAND": f"{command} -o BatchMode=yes"} if _is_openssh(command) else {}
    # A file without a name: what git notes there names the remote, and must not outlive a crash.
    with TemporaryFile() as trace:
        more["GIT_TRACE2_EVENT"] = f"/dev/fd/{trace.fileno()}"
        try:
            ran = run_git(repository, *words, timeout_s=timeout_s, more=more, pass_fds=(trace.fileno(),))
        except Unreachable:
            # A hook that cannot even be started (its interpreter is gone) leaves git hanging.
            if not _hook_refused(trace):
                raise
            return GitRun(-1, b"", b"it cannot be run, or git hung after it", hook_refused=True)
        return replace(ran, hook_refused=_hook_refused(trace))


def _is_openssh(command: str) -> bool:
    try:
        return Path(shlex.split(command)[0]).name == "ssh"
    except (ValueError, IndexError):
        return False


def _hook_refused(trace: IO[bytes]) -> bool:
    """Whether git's own account of a push (its trace2 events) has the pre-push hook end it.

    Neither exit code nor words would tell: a hook prints what it likes, and a connection that breaks while
    git sends can end as silently as a hook. A remote with several addresses is pushed to one after
    the other, so once a hook has agreed something may have been sent. A git before 2.22 writes no events:
    then nobody knows.
    """
    trace.seek(0)
    try:
        events = [json.loads(line) for line in trace]
        ours = [event for event in events if event["sid"] == events[0]["sid"]]  # not those of its children
        hooks = {event["child_id"] for event in ours if event.get("hook_name") == "pre-push"}
        codes = [
            event["code"] for event in ours if event["event"] == "child_exit" and event["child_id"] in hooks
        ]
    except (ValueError, KeyError, TypeError):
        return False
    return bool(codes) and all(codes)


def ask_git(repository: Path, *words: str) -> str:
    """What git answers to a short question about a history.

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
        raise BadInput(
            f"{_what(repository)} {'is not a folder' if repository.exists() else 'does not exist'}",
            "give the folder of a git repository",
        )
    with TemporaryFile() as err, _child(repository, words, err.fileno()) as child:
        yield from _split(child, ended_by, repository)
        code = child.wait()
        err.seek(0)
        lines = err.read(4096).decode("utf-8", "replace").splitlines()
        failed = [line for line in lines if line.startswith(("fatal:", "error:"))]
        if code or failed:
            reason = one_line((failed or lines or [f"git ended with {code}"])[0])
            raise BadInput(f"{_what(repository)} cannot be read ({reason})", "give a sound git repository")


def _what(repository: Path) -> str:
    return f"the repository {(repository.name or str(repository))!r}"


@contextlib.contextmanager
def _child(repository: Path, words: tuple[str, ...], err: int) -> Iterator[subprocess.Popen[bytes]]:
    settings = [word for setting in _TO_READ for word in ("-c", setting)]
    try:
        child = subprocess.Popen(
            ["git", "--no-pager", *settings, "-C", str(repository.absolute()), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=err,
            env=_environment() | _FETCH_NOTHING,
            start_new_session=True,  # no terminal to ask at, and one group to end
        )
    except FileNotFoundError:
        raise NotPossible("git is not installed: install it to read a repository") from None
    with child:  # its pipe is closed
        try:
            yield child
        finally:
            _end(child)


def _split(child: subprocess.Popen[bytes], end: bytes, repository: Path) -> Iterator[bytes]:
    rest = b""
    while block := os.read(child.stdout.fileno(), _BLOCK) if child.stdout else b"":
        *whole, rest = (rest + block).split(end)
        yield from whole
        if len(rest) > _LONGEST:
            raise BadInput(f"{_what(repository)} must have names and paths of at most {_LONGEST:,} bytes")
    if rest:
        yield rest


def _environment(*more: str) -> dict[str, str]:
    return {name: os.environ[name] for name in (*_KEPT, *more) if name in os.environ} | _FIXED


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
