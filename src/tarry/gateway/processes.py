"""A server of several processes: they answer at one socket, and one set of workers releases.

The first process listens and starts the others. It answers nobody itself but operators: it releases, has
the metrics port, and answers what only one process can know (`forwarding.py`). What the others count for
their limits lies in memory that all of them share (`shared_memory.py`). Everything else is in the database.

Each of the others has a socket to the first one. It says there that it has begun, and hands requests on.
When that socket ends, because the first process closes it or dies, it finishes what it has begun and ends
too. Signals are for the first one alone. One that dies is replaced; what it held in shared memory is free.
"""

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

from tarry.core.errors import BadInput, NotPossible, TarryError
from tarry.gateway.config import Config
from tarry.gateway.database import database_path, open_gateway
from tarry.gateway.forwarding import Forwarding, answer_forwarded
from tarry.gateway.gateway import Gateway
from tarry.gateway.monitoring import ErrorCounter, Log
from tarry.gateway.server import Listener, MakeApp, ThreadGroup, bind, listen, releasing, url_of
from tarry.gateway.shared_memory import SharedMemory

__all__ = ["Crew", "check_several", "main"]

_PAUSE_S = 1.0  # before one that died is replaced
_END_S = 60.0  # for what one has begun
_BIND_S = 5.0
_LOOK_S = 0.05
_BEGUN = b"begun"
_MOST_TEXT = 4 << 10


def check_several(config: Config) -> None:
    """Refuse several processes where they cannot work together.

    >>> check_several(Config(processes=2, database="forum.db"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: several processes need PostgreSQL, not the SQLite file 'forum.db': leave \
--processes at 1
    """
    if config.processes == 1:
        return
    if (path := database_path(config.database)) is not None:
        raise BadInput(
            f"several processes need PostgreSQL, not the SQLite file {str(path)!r}",
            "leave --processes at 1",
        )
    if not hasattr(os, "memfd_create"):
        raise NotPossible("several processes need Linux, and memory without a name: leave --processes at 1")


@dataclass(frozen=True, kw_only=True)
class _Part:
    """What one process is told; the handles are those of files."""

    config: Config
    make_app: MakeApp
    number: int
    listening: int
    memory: int
    first: int


def _memory(config: Config, handle: int | None = None) -> SharedMemory:
    """One column for each, and the last for the first process, whose pages have limits as well."""
    return SharedMemory(
        processes=config.processes + 1,
        streams=config.open_streams,
        connections=config.connections,
        handle=handle,
    )


# --- the first process ----------------------------------------------------------------------------


class Crew:
    """The processes that answer, as the first one sees them: begun, replaced when they die, and ended.

    The app is made in each: `make_app` is a function of a module, perhaps with some arguments given.

    >>> import io
    >>> from tarry.gateway.app import create_app
    >>> from tarry.gateway.testing import small_gateway
    >>> crew = Crew(small_gateway(), Config(port=0), ErrorCounter(Log(io.StringIO())), create_app)
    >>> crew.url.rpartition(":")[0], crew.started
    ('http://127.0.0.1', False)
    >>> crew.close()
    """

    def __init__(self, gateway: Gateway, config: Config, errors: ErrorCounter, make_app: MakeApp) -> None:
        self._config, self._errors, self._make_app = config, errors, make_app
        self._socket = _bind_soon(config)
        self.url, self.should_exit = url_of(self._socket), False
        self._memory, self._begun = _memory(config), set[int]()
        counters = self._memory.counters(config.processes)
        self._app = make_app(gateway, limits=config.limits, tell=errors.count, counters=counters)
        self._answers = set[asyncio.Task[None]]()

    @property
    def started(self) -> bool:
        """Whether each of them has begun to answer."""
        return len(self._begun) == self._config.processes

    def run(self) -> None:
        """Keep them alive until told to exit; raise if one cannot begin."""
        try:
            asyncio.run(self._run())
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    def close(self) -> None:
        """Let go of what the first process holds."""
        self._socket.close()
        self._app.state.service.close()
        self._memory.close()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as keepers:
            for number in range(self._config.processes):
                keepers.create_task(self._keep(number))
        await asyncio.gather(*self._answers, return_exceptions=True)

    async def _keep(self, number: int) -> None:
        while True:
            code, why = await self._live(number)
            self._memory.clear(number)
            if self._is_ending():
                return
            if number not in self._begun:
                raise NotPossible(why or f"a process ended with {code} before it answered")
            self._errors.count(f"a process that answers ended with {code}, and was replaced")
            await asyncio.sleep(_PAUSE_S)

    async def _live(self, number: int) -> tuple[int, str]:
        """One life of one process: how it ended, and what it said about that."""
        with _Member(self._config, self._make_app, number, self._socket, self._memory.handle) as member:
            ending = asyncio.create_task(self._end_in_time(member))
            why = ""
            try:
                async for text, handle in member.messages():
                    if handle is not None:
                        self._answer(handle)
                    elif text == _BEGUN:
                        self._begun.add(number)
                    else:
                        why = text.decode()
                return await asyncio.to_thread(member.wait), why
            finally:
                ending.cancel()

    async def _end_in_time(self, member: "_Member") -> None:
        # Another thread sets it, which has no event of this loop.
        while not self._is_ending():  # noqa: ASYNC110 - as above
            await asyncio.sleep(_LOOK_S)
        # Whoever connects from now on shall be refused, and not wait here for nobody.
        self._socket.close()
        member.stop()

    def _is_ending(self) -> bool:
        return self.should_exit

    def _answer(self, handle: int) -> None:
        task = asyncio.create_task(answer_forwarded(self._app, socket.socket(fileno=handle)))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


def _bind_soon(config: Config) -> socket.socket:
    """The socket. Where a server was killed, its other processes let go of it a moment later."""
    end = time.monotonic() + _BIND_S
    while True:
        try:
            return bind(config.host, config.port)
        except NotPossible:
            if time.monotonic() > end:
                raise
            time.sleep(_LOOK_S)


class _Member:
    """One of the others: its process, and the socket that it has to us."""

    def __init__(
        self, config: Config, make_app: MakeApp, number: int, listening: socket.socket, memory: int
    ) -> None:
        # Messages stay whole and in order, and each may bring the handle of a file.
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)  # noqa: FBT003 - the library's own
        with theirs:
            part = _Part(
                config=config,
                make_app=make_app,
                number=number,
                listening=listening.fileno(),
                memory=memory,
                first=theirs.fileno(),
            )
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tarry.gateway.processes"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=(part.listening, part.memory, part.first),
                start_new_session=True,  # Ctrl-C is for the first one
            )
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:  # type: ignore[union-attr]
            pipe.write(pickle.dumps(part))  # not on a command line: there may be a password in it

    async def messages(self) -> AsyncIterator[tuple[bytes, int | None]]:
        """What it says, with the handle of a request; until it ends."""
        while True:
            with contextlib.suppress(BlockingIOError):
                try:
                    text, handles, _, _ = socket.recv_fds(self._control, _MOST_TEXT, 1)
                except ConnectionError:
                    return
                if not text:
                    return
                yield text, handles[0] if handles else None
                continue
            await self._readable()

    async def _readable(self) -> None:
        loop, is_readable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._control, is_readable.set)
        try:
            await is_readable.wait()
        finally:
            loop.remove_reader(self._control)

    def stop(self) -> None:
        """Have it finish what it has begun. What it still hands on is heard."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def wait(self) -> int:
        """How it ended: it has said its last word."""
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self.wait()


# --- each of the others ---------------------------------------------------------------------------


def main() -> None:
    """Answer, as the first process says on standard input; until it says no more.

    >>> result = subprocess.run([sys.executable, "-m", "tarry.gateway.processes"], input=b"", check=False)
    >>> result.returncode
    2
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    try:
        part: _Part = pickle.load(sys.stdin.buffer)  # noqa: S301 - the first process has written it
    except EOFError:
        sys.exit(2)
    with socket.socket(fileno=part.first) as first:
        try:
            _answer(part, first)
        except TarryError as error:
            with contextlib.suppress(OSError):
                first.send(str(error).encode()[:_MOST_TEXT])
            sys.exit(1)


def _answer(part: _Part, first: socket.socket) -> None:
    group, log = ThreadGroup(), Log(only=["mishap"])  # the first process tells the rest
    gateway, errors = open_gateway(part.config), ErrorCounter(log)
    counters = _memory(part.config, part.memory).counters(part.number)
    app = part.make_app(gateway, limits=part.config.limits, tell=errors.count, counters=counters)
    front = Forwarding(app, app.state.of_one_process, first)
    listener = Listener(front, socket.socket(fileno=part.listening))

    def watch() -> None:
        first.recv(1)  # there is nothing to hear but the end
        group.stop()

    def begun(_: str) -> None:
        first.send(_BEGUN)

    threading.Thread(target=watch, daemon=True).start()
    with releasing(gateway, log, group, errors, workers=0):
        listen(group, log, [listener], begun)


if __name__ == "__main__":
    main()
