"""Running git for the keeper: no prompts, no terminal, a fixed environment and an end.

Nothing named GIT_* reaches it from the keeper's own environment. What decides *as whom* and *by what way*
a push connects does: the home folder with its configuration, the agent of ssh, proxies. A repository that
must only be reached through a proxy should say so itself (`http.proxy`, `core.sshCommand`): a keeper that
was started somewhere else has other variables.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from tarry.core.errors import BadInput
from tarry.keep.errors import Unreachable

__all__ = ["Ran", "run_git", "run_git_outside"]

_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SSH_AUTH_SOCK"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_FIXED = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",  # empty: nobody is asked, whatever the configuration says
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
_QUIETLY = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.pushUpdateRejected=false")
_MOST_WORDS = 500
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
_LOCAL_S = 120.0


@dataclass(frozen=True)
class Ran:
    r"""How a run of git ended.

    >>> Ran(1, b"", b"hint: try again\nfatal: no such remote\n").words
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
        told = [
            line
            for line in lines
            if line and not line.startswith(("hint:", "To ", "error: failed to push"))
        ]
        return "; ".join(told)[:_MOST_WORDS]

    @property
    def is_outside(self) -> bool:
        """Whether it failed before it spoke with the remote; anything else may have come through."""
        return any(words in self.words for words in _OUTSIDE)


def run_git(
    repository: str | Path,
    *words: str,
    stdin: bytes = b"",
    timeout_s: float = _LOCAL_S,
    more: Mapping[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> Ran:
    """Run git in a repository. What it reads and writes are files: no child of its can keep us waiting.

    >>> run_git("/", "check-ref-format", "refs/heads/main").code
    0
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                ["git", *_QUIETLY, "-C", str(repository), *words],
                stdin=given,
                stdout=out,
                stderr=err,
                env={**environment, **_FIXED, **(more or {})},
                cwd="/",
                pass_fds=pass_fds,
                start_new_session=True,  # no terminal to ask at, and one group to end
            )
        except FileNotFoundError:
            raise BadInput("git", "is installed", found="no program of that name") from None
        try:
            code = process.wait(timeout_s)
        except BaseException as error:
            _end(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Unreachable(f"git {words[0]} took longer than {timeout_s:g} s") from None
            raise
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read(), err.read())


def run_git_outside(repository: str | Path, *words: str, timeout_s: float) -> Ran:
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
            return Ran(-1, b"", b"it cannot be run, or git hung after it", hook_refused=True)
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


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
