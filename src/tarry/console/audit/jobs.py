"""Audits under way: whose they are, which one runs next, and when everything about them is deleted.

Uploads are in a private folder, which is deleted with its owner; after a crash, at the next start.
"""

import contextlib
import fcntl
import hmac
import os
import secrets
import shutil
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tarry.console.audit.process import ChildLimits, Ending, run_child
from tarry.console.pages import require, texts
from tarry.gateway.problems import BadRequest

if TYPE_CHECKING:
    import subprocess

__all__ = ["Audits", "Job", "PrivateFolder", "remove_abandoned"]


JobState = Literal["coming", "looking", "ready", "running", "done", "failed"]


@dataclass(eq=False, kw_only=True)
class Job:
    """One upload and what becomes of it.

    >>> Job(id="x", owner="somebody's session", token="ab", folder=Path()).is_of("another one's")
    False
    """

    id: str  # 256 random bits
    owner: str  # the session that made it
    token: str  # and the token that it was signed in with
    folder: Path
    state: JobState = "coming"
    path: Path | None = None  # the upload, as long as it is there
    name: str = ""  # what it was called
    problem: str = ""  # one sentence
    progress: dict[str, Any] = field(default_factory=dict)  # the last message about it
    look: dict[str, Any] = field(default_factory=dict)  # the columns and a guess
    fields: dict[str, str] = field(default_factory=dict)  # the form as it was sent last
    answer: dict[str, Any] = field(default_factory=dict)  # what the page shows at the end
    expires_at: float = 0.0  # seconds since 1970
    process: "subprocess.Popen[bytes] | None" = None
    timer: threading.Timer | None = None
    is_gone: bool = False

    @property
    def upload_folder(self) -> Path:
        """Where the upload goes, away from what is made of it."""
        return self.folder / "upload"

    def is_of(self, owner: str) -> bool:
        """Whether this session has made it."""
        return hmac.compare_digest(self.owner.encode(), owner.encode())


class Audits:
    """The audits of one server: two at a time, the others in a queue.

    >>> audits = Audits(ChildLimits(seconds=120, memory_bytes=4 << 30))
    >>> job = audits.new("somebody's session", "a token")
    >>> audits.find("another one's", job.id)
    Traceback (most recent call last):
    tarry.gateway.problems.BadRequest: there is no such audit, or its hour is over: upload the file again
    >>> audits.close()
    """

    def __init__(
        self,
        limits: ChildLimits,
        *,
        at_once: int = 2,
        most: int = 10,
        share: int = 5,  # of one token among them
        kept_s: float = 3600.0,  # results
        untouched_s: float = 900.0,  # uploads that nobody goes on with
        program: str = "tarry.console.audit.process",
    ) -> None:
        self._limits, self._program = limits, program
        self._at_once, self._most, self._share = at_once, most, share
        self._kept_s, self._untouched_s = kept_s, untouched_s
        self._lock = threading.RLock()
        self._folder: PrivateFolder | None = None
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[tuple[Job, dict[str, Any]]] = deque()
        self._running = 0
        remove_abandoned()

    def new(self, owner: str, token: str) -> Job:
        """Make room for an upload. Nobody can take all of it: signing in again gives the same token."""
        with self._lock:
            own = sum(job.token == token for job in self._jobs.values())
            require(own < self._share, 429, "audit", "too_many_own", most=self._share)
            require(len(self._jobs) < self._most, 429, "audit", "too_many", most=self._most)
            self._folder = self._folder or PrivateFolder()
            job = Job(
                id=secrets.token_urlsafe(32),
                owner=owner,
                token=token,
                folder=self._folder.path / secrets.token_hex(16),
            )
            for folder in (job.folder, job.upload_folder):
                folder.mkdir(mode=0o700)
            self._jobs[job.id] = job
            self._expire(job, self._untouched_s)
            return job

    def find(self, owner: str, number: str) -> Job:
        """A job of this session."""
        job = self._jobs.get(number)
        if job is None or not job.is_of(owner):
            raise BadRequest(404, texts()["audit"]["gone"])
        return job

    def of(self, owner: str) -> list[Job]:
        """The jobs of a session, the newest first."""
        jobs = reversed(list(self._jobs.values()))
        return [job for job in jobs if job.is_of(owner) and job.state != "coming"]

    def place(self, job: Job) -> int:
        """Its place in the queue, from 1; 0: it is being worked on."""
        with self._lock:
            return next((n for n, (each, _) in enumerate(self._waiting, 1) if each is job), 0)

    def look(self, job: Job, path: Path) -> None:
        """Find out which columns an upload has."""
        job.path, job.name = path, path.name
        self._queue(job, "looking", {"do": "look", "path": str(path)})

    def run(self, job: Job, choices: dict[str, Any]) -> None:
        """Audit an upload."""
        with self._lock:
            require(job.state == "ready", 409, "audit", "not_ready")
            self._queue(job, "running", {"do": "audit", "path": str(job.path), "choices": choices})

    def forget(self, job: Job) -> None:
        """End a job and delete everything about it."""
        with self._lock:
            job.is_gone = True
            self._jobs.pop(job.id, None)
            self._waiting = deque(each for each in self._waiting if each[0] is not job)
            if job.timer is not None:
                job.timer.cancel()
            if job.process is not None:
                job.process.kill()
        shutil.rmtree(job.folder, ignore_errors=True)

    def close(self) -> None:
        """End all of them."""
        for job in list(self._jobs.values()):
            self.forget(job)
        with self._lock:
            if self._folder is not None:
                self._folder.remove()
                self._folder = None

    # --- one after the other ----------------------------------------------------------------------------

    def _queue(self, job: Job, state: JobState, task: dict[str, Any]) -> None:
        with self._lock:
            job.state, job.problem, job.progress = state, "", {}
            self._expire(job, self._kept_s)
            self._waiting.append((job, task))
            self._start()

    def _start(self) -> None:
        """Begin what may begin. Threads that a server need not wait for: their processes end with it."""
        while self._waiting and self._running < self._at_once:
            self._running += 1
            threading.Thread(
                target=self._go, args=self._waiting.popleft(), daemon=True, name="audit"
            ).start()

    def _go(self, job: Job, task: dict[str, Any]) -> None:
        try:
            self._step(job, task)
        finally:
            with self._lock:
                self._running -= 1
                self._start()

    def _step(self, job: Job, task: dict[str, Any]) -> None:
        """One task in a process of its own, while nobody has deleted its job."""

        def hold(process: "subprocess.Popen[bytes]") -> None:
            with self._lock:
                job.process = process
                if job.is_gone:
                    process.kill()

        def note(message: dict[str, Any]) -> None:
            job.progress = message

        try:
            ending = run_child(
                job.folder, task, self._limits, on_progress=note, on_start=hold, program=self._program
            )
        except OSError:  # no process to be had, or its folder is gone
            ending = Ending(why="broken")
        with self._lock:
            job.process = None
            if not job.is_gone:
                self._end(job, ending)
                return
        shutil.rmtree(job.folder, ignore_errors=True)  # it may have written a last file meanwhile

    def _end(self, job: Job, ending: Ending) -> None:
        """What comes after a task: the columns can be chosen, or there is a result, or a problem."""
        was_looking = job.state == "looking"
        if ending.answer is not None and was_looking:
            job.look, job.state = ending.answer, "ready"
        elif ending.answer is not None:
            job.answer, job.state, job.path = ending.answer, "done", None
        elif ending.problem and not was_looking and job.path is not None and job.path.exists():
            job.state, job.problem = "ready", ending.problem  # other columns may do
        else:
            shutil.rmtree(job.upload_folder, ignore_errors=True)  # before anybody reads that it is gone
            job.problem = ending.problem or texts()["audit"]["endings"][ending.why].format(
                seconds=self._limits.seconds, memory=f"{self._limits.memory_bytes / (1 << 30):.3g}"
            )
            job.state, job.path = "failed", None
        self._expire(job, self._untouched_s if job.state == "ready" else self._kept_s)

    def _expire(self, job: Job, seconds: float) -> None:
        """Delete it after so many seconds, whoever looks or does not."""
        if job.timer is not None:
            job.timer.cancel()
        job.expires_at = time.time() + seconds
        job.timer = threading.Timer(seconds, self.forget, [job])
        job.timer.daemon = True
        job.timer.start()


_PREFIX = "tarry-audit-"


# --- the folder of the uploads -----------------------------------------------------------------------


class PrivateFolder:
    """A folder that only its owner can read, locked as long as somebody uses it.

    >>> folder = PrivateFolder()
    >>> oct(folder.path.stat().st_mode)[-3:]
    '700'
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        self._lock: int | None = None
        while self._lock is None:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = _locked(self.path)
            if self._lock is not None and not self.path.is_dir():
                os.close(self._lock)  # somebody took it for abandoned just before it was locked
                self._lock = None

    def remove(self) -> None:
        """Delete all that is in it; once is enough."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> int:
    """Delete the folders whose owners are gone; how many there were.

    >>> kept = PrivateFolder()
    >>> _ = remove_abandoned()
    >>> kept.path.is_dir()
    True
    >>> kept.remove()
    """
    count = 0
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if (lock := _locked(path)) is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)
            count += 1
    return count


def _locked(path: Path) -> int | None:
    """An open folder with its lock, which ends with the process.

    None where somebody else has it, where it is another user's, and where it is a link to a folder.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if os.fstat(opened).st_uid == os.getuid():
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return opened
    os.close(opened)
    return None
