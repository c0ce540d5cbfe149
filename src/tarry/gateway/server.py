"""The processes of a gateway: a server, which may release as well, and workers that only release.

Nothing is logged at a request: there is no access log, and errors are counted and logged after the hour.
The parts of a process are threads that end together, when it is told to stop or one of them breaks.

A connection is bounded before anybody knows who is there. Bodies have limits of their own, per token. The
lines before and after them have not: without a bound here anybody could fill the memory with a header that
never ends, or by asking for much and reading nothing. Uvicorn has no settings for these bounds; that is why
its protocol class is extended here.
"""

import asyncio
import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tarry.core.errors import NotPossible, TarryError
from tarry.gateway.app import create_app, create_metrics_app
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import ClientNames, ConnectionSlots, Limits
from tarry.gateway.monitoring import ErrorCounter, Log, code_location
from tarry.keep.errors import Unavailable
from tarry.keep.keeper import Keeper

__all__ = [
    "HEAD_S",
    "LEFT_S",
    "WRITE_S",
    "BoundedConnection",
    "Listener",
    "ThreadGroup",
    "bind",
    "serve",
    "work",
]

_OTHER_FILES = 200  # beside connections: databases, logs, audits, deliveries
_REFRESH_S = 1.0
_LOOK_S = 0.05
#: Builds the app of a gateway: `create_app`, or one that has more beside it.
MakeApp = Callable[..., Starlette]


class ThreadGroup:
    """The parts of one process, each in a thread of its own, that end together.

    >>> threads = ThreadGroup()
    >>> threads.begin("greeter", threads.stop)
    >>> threads.wait()
    >>> threads.join()
    """

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._stopping, self._broken = False, ""

    @property
    def is_ending(self) -> bool:
        """Whether it was told to stop, or a part has broken."""
        return self._stopping or bool(self._broken)

    def begin(self, name: str, work: Callable[[], None]) -> None:
        """Start a part. One that breaks takes the process along: half a gateway would look like a whole."""

        def run() -> None:
            try:
                work()
            except TarryError as error:
                self._broken = f"the {name} ended ({error}): start it again when that is mended"
            except BaseException as error:  # noqa: BLE001 - raised by `join`; its text may hold what was sent
                where = f"{type(error).__name__}{code_location(error.__traceback__)}"
                self._broken = f"the {name} broke ({where}): start it again, and report this"

        self._threads[name] = threading.Thread(target=run, name=name)
        self._threads[name].start()

    def stop(self) -> None:
        """Begin to end. A plain assignment, and so safe in a signal handler."""
        self._stopping = True

    def wait(self, until: Callable[[], bool] = lambda: False) -> None:
        """Wait until it is told to stop, a part breaks, or something has happened."""
        while not (self.is_ending or until()):
            time.sleep(_LOOK_S)

    def join(self, *names: str) -> None:
        """Wait for these parts to end; without names for all of them, and raise what broke."""
        for name in names or tuple(self._threads):
            if thread := self._threads.get(name):
                thread.join()
        if not names and self._broken:
            raise NotPossible(self._broken)


def serve(
    gateway: Gateway,
    config: Config,
    log: Log,
    group: ThreadGroup,
    started: Callable[[str], None],
    *,
    make_app: MakeApp = create_app,
) -> None:
    """Answer requests until told to stop; then finish what was begun, requests first and then deliveries.

    `started` gets the address once requests are answered; `make_app` may put pages beside the API.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> group, log = ThreadGroup(), Log(io.StringIO())
    >>> config = Config(port=0, workers_in_server=0)
    >>> serve(small_gateway(), config, log, group, lambda address: group.stop())
    """
    errors = ErrorCounter(log)
    listeners = _listeners(gateway, config, errors, make_app)
    with _releasing(gateway, log, group, errors, config.workers_in_server):
        for number, listener in enumerate(listeners):
            group.begin(f"listener {number}", listener.run)
        group.wait(lambda: all(listener.started for listener in listeners))
        if not group.is_ending:
            log("started", f"listening at {', '.join(listener.url for listener in listeners)}")
            started(listeners[0].url)
        group.wait()
        log("stopping")
        for number, listener in enumerate(listeners):
            listener.should_exit = True
            group.join(f"listener {number}")


def work(gateway: Gateway, log: Log, group: ThreadGroup, *, threads: int = 4) -> None:
    """Close ticks and release until told to stop; deliveries that have begun are finished.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> group = ThreadGroup()
    >>> group.stop()
    >>> work(small_gateway(), Log(io.StringIO()), group)
    """
    with _releasing(gateway, log, group, ErrorCounter(log), threads):
        log("started", f"releasing with {threads} threads")
        group.wait()
        log("stopping")


@contextlib.contextmanager
def _releasing(
    gateway: Gateway, log: Log, group: ThreadGroup, errors: ErrorCounter, workers: int
) -> Iterator[None]:
    """Keep and refresh beside the block; when it is done, deliveries that have begun are finished."""
    keeper, ended = Keeper(gateway.vault, workers=workers, tell=partial(log, "keeper")), threading.Event()
    with errors.listening():
        group.begin("refresher", lambda: _refresh(gateway, log, errors, ended))
        if workers:
            group.begin("keeper", keeper.run)
        yield
        keeper.stop()
        group.join("keeper")
        ended.set()
        try:
            group.join()
        finally:
            gateway.store.close()
            log("stopped")


def _listeners(
    gateway: Gateway, config: Config, errors: ErrorCounter, make_app: MakeApp
) -> "list[Listener]":
    """The main listener, and perhaps one for metrics."""
    main = bind(config.host, config.port)
    try:
        other = None if config.metrics_port is None else bind("127.0.0.1", config.metrics_port)
    except NotPossible:
        main.close()
        raise
    listeners = [Listener(make_app(gateway, limits=config.limits, tell=errors.count), main)]
    if other is not None:
        listeners.append(Listener(create_metrics_app(gateway, config.own_hosts), other))
    return listeners


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen at.

    >>> with bind("127.0.0.1", 0) as listener:
    ...     listener.getsockname()[0]
    '127.0.0.1'
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        # Python's own text repeats the address; a name that is not known has a negative number.
        reason = os.strerror(error.errno or 0) if (error.errno or 0) > 0 else error.strerror
        raise NotPossible(
            f"cannot listen at {host}, port {port} ({reason}): use another address or port"
        ) from None


class Listener(uvicorn.Server):
    """Uvicorn without a log, at a socket of ours, in a thread of ours: it handles no signals.

    If the app has a service, the limits of that apply, and its streams end first.

    >>> from tarry.gateway.testing import small_gateway
    >>> with bind("127.0.0.1", 0) as listener:
    ...     Listener(create_metrics_app(small_gateway()), listener).url.rpartition(":")[0]
    'http://127.0.0.1'
    """

    def __init__(self, app: Starlette, sock: socket.socket) -> None:
        self._socket, self._service = sock, getattr(app.state, "service", None)
        host, port = sock.getsockname()[:2]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        # Autotuning would give a client that does not read megabytes of the system's memory.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 128 << 10)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # the client's address is for the limits alone
                ws="none",
                http=type("OwnConnection", (BoundedConnection,), {"slots": self._slots()}),
                timeout_graceful_shutdown=10,  # seconds, for requests that have begun
            )
        )

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until told to exit."""
        super().run([*(sockets or ()), self._socket])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams first: they would stay open for ever."""
        if self._service is not None:
            self._service.streams.close()
        await super().shutdown(sockets)

    def _slots(self) -> ConnectionSlots:
        """As many connections as the settings allow, and the system: each needs a file descriptor."""
        connections = self._service.limits.connections if self._service else Limits.connections
        files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = connections + _OTHER_FILES
        with contextlib.suppress(OSError, ValueError):  # hardened services may not change it
            if files < needed:
                raised = needed if most_files == resource.RLIM_INFINITY else min(needed, most_files)
                resource.setrlimit(resource.RLIMIT_NOFILE, (raised, most_files))
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = connections if files == resource.RLIM_INFINITY else files - _OTHER_FILES
        return ConnectionSlots(
            max(1, min(most, connections)), self._service.clients if self._service else ClientNames()
        )


def _refresh(gateway: Gateway, log: Log, errors: ErrorCounter, ended: threading.Event) -> None:
    """Look once a second for new spaces, policies and tokens."""
    away = False
    while not ended.wait(_REFRESH_S):
        errors.log()
        try:
            gateway.refresh()
        except Unavailable as trouble:
            if not away:
                log("store", f"{trouble}; waiting for it to come back")
            away = True
        else:
            if away:
                log("store", "the store is back")
            away = False
    errors.log(last=True)
    gateway.store.close()


# --- one connection: how much it may hold, and for how long ---------------------------------------

#: Within which the head of a request has come, from the first moment of its connection on.
HEAD_S = 30.0
#: Within which a client reads some of what waits for it; at the latest after twice that it is cut off.
WRITE_S = 15.0
#: For which what is left of a body is read after its request was answered.
LEFT_S = 10.0
_MOST = 64 << 10  # bytes that are no body: address, headers, what stands between chunks, trailers
_MOST_LEFT = 4 << 20  # bytes of a body after the answer: browsers show none before they have sent some
_MOST_WAITING = 8 << 10  # bytes of an answer, before whoever writes it has to wait
_FULL = b"Too many connections are open: try again in a minute."
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 60\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_FULL), _FULL)
)


class BoundedConnection(HttpToolsProtocol):
    """One connection.

    >>> issubclass(BoundedConnection, asyncio.Protocol)
    True
    """

    slots = ConnectionSlots(1, ClientNames())  # of one process; each listener has its own
    _client: str | None = None  # whose slot it has
    _idle = 0  # bytes since a head was whole, or a part of a body came
    _left = 0  # bytes of a body that came after the answer
    _was_waiting = False  # whether something waited to be written at the last check
    _has_read = False  # whether the client has read some since then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """A client has connected."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        peer = transport.get_extra_info("peername")
        self._client = self.slots.enter(peer[0] if peer else "")
        if self._client is None:
            self.transport = transport
            transport.write(_REFUSAL)
            transport.close()
            return
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=_MOST_WAITING)
        self._start("head", HEAD_S, transport.close)
        self._start("reading", WRITE_S, self._check_reading)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        if self._client is not None:
            self.slots.leave(self._client)
        for name in tuple(self._timers):
            self._stop(name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless there is no end to it."""
        self._idle += len(data)
        super().data_received(data)
        if self._idle > _MOST and not self.transport.is_closing():
            self.send_400_response("This request is too long.")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._start("head", HEAD_S, self.transport.close)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._idle = 0
        self._stop("head")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has come. What comes after the answer is thrown away, and not for long."""
        self._idle = 0
        super().on_body(body)
        if self.cycle.response_complete:
            self._left += len(body)
            self._start("left", LEFT_S, self.transport.abort)
            if self._left > _MOST_LEFT:
                self.transport.abort()

    def on_message_complete(self) -> None:
        """The request is whole."""
        super().on_message_complete()
        self._left = 0
        self._stop("left")

    def resume_writing(self) -> None:
        """The client has read most of what waited."""
        self._has_read = True
        super().resume_writing()

    def _check_reading(self) -> None:
        """Cut a client off that has read nothing for a while; also one whose connection is closing."""
        is_waiting = self.transport.get_write_buffer_size() > 0
        if is_waiting and self._was_waiting and not self._has_read:
            self.transport.abort()
            return
        self._was_waiting, self._has_read = is_waiting, False
        self._stop("reading")
        self._start("reading", WRITE_S, self._check_reading)

    def _start(self, name: str, after_s: float, step: Callable[[], None]) -> None:
        """Start a timer, unless it runs already."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(after_s, step)

    def _stop(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
