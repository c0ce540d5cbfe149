"""The processes of a gateway: a server, which may release as well, and workers that only release.

Nothing is logged at a request: there is no access log, and errors are counted and logged after the hour.
The parts of a process are threads that end together, when it is told to stop or one of them breaks.
"""

import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from tarry.core.errors import NotPossible, TarryError
from tarry.gateway.app import create_app, create_metrics_app
from tarry.gateway.config import Config
from tarry.gateway.connection import connection_class
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import ClientNames, ConnectionSlots, Limits
from tarry.gateway.logs import ErrorCounter, Log, code_location
from tarry.keep.errors import Unavailable
from tarry.keep.keeper import Keeper

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tarry.gateway.http_service import HttpService

__all__ = ["Listener", "ThreadGroup", "bind", "serve", "url", "work"]

_GRACE_S = 10  # for requests that have begun
_SEND_BYTES = 128 << 10
_OTHER_FILES = 200  # beside connections: databases, logs, audits, deliveries
_REFRESH_S = 1.0
_LOOK_S = 0.05
_LOOPBACK = "127.0.0.1"
#: Builds the app of a gateway: `create_app`, or one that has more beside it.
MakeApp = Callable[..., "Starlette"]


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
                self._broken = f"the {name} ended: {error}"
            except BaseException as error:  # noqa: BLE001 - raised by `join`; its text may hold what was sent
                self._broken = (
                    f"the {name} broke: {type(error).__name__}{code_location(error.__traceback__)}"
                )

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
    errors, ended = ErrorCounter(log), threading.Event()
    listeners = _listeners(gateway, config, errors, make_app)
    keeper = Keeper(gateway.vault, workers=config.workers_in_server, tell=log.keeper)
    with errors.listening():
        group.begin("refresher", lambda: _refresh(gateway, log, errors, ended))
        for number, listener in enumerate(listeners):
            group.begin(f"listener {number}", listener.run)
        if config.workers_in_server:
            group.begin("keeper", keeper.run)
        group.wait(lambda: all(listener.started for listener in listeners))
        if not group.is_ending:
            log("started", f"listening at {', '.join(listener.url for listener in listeners)}")
            started(listeners[0].url)
        group.wait()
        log("stopping")
        for number, listener in enumerate(listeners):
            listener.should_exit = True
            group.join(f"listener {number}")
        _end(group, keeper, ended, log)


def work(gateway: Gateway, log: Log, group: ThreadGroup, *, threads: int = 4) -> None:
    """Close ticks and release until told to stop; deliveries that have begun are finished.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> group = ThreadGroup()
    >>> group.stop()
    >>> work(small_gateway(), Log(io.StringIO()), group)
    """
    keeper = Keeper(gateway.vault, workers=threads, tell=log.keeper)
    errors, ended = ErrorCounter(log), threading.Event()
    with errors.listening():
        group.begin("refresher", lambda: _refresh(gateway, log, errors, ended))
        group.begin("keeper", keeper.run)
        log("started", f"releasing with {threads} threads")
        group.wait()
        log("stopping")
        _end(group, keeper, ended, log)


def _listeners(
    gateway: Gateway, config: Config, errors: ErrorCounter, make_app: MakeApp
) -> "list[Listener]":
    """The main listener, and perhaps one for metrics."""
    main = bind(config.host, config.port)
    try:
        other = None if config.metrics_port is None else bind(_LOOPBACK, config.metrics_port)
    except NotPossible:
        main.close()
        raise
    app = make_app(gateway, limits=config.limits, tell=errors.count)
    listeners = [Listener(app, main, app.state.service)]
    if other is not None:
        listeners.append(Listener(create_metrics_app(gateway, config.own_hosts), other))
    return listeners


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen at.

    >>> with bind("127.0.0.1", 0) as listener:
    ...     url(listener).startswith("http://127.0.0.1:")
    True
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        # Python's own text repeats the address; a name that is not known has a negative number.
        reason = os.strerror(error.errno or 0) if (error.errno or 0) > 0 else error.strerror
        raise NotPossible(f"cannot listen at {host}, port {port}: {reason}") from None


def url(listener: socket.socket) -> str:
    """The address of a socket.

    >>> with socket.create_server(("127.0.0.1", 0)) as listener:
    ...     url(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    True
    """
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Listener(uvicorn.Server):
    """Uvicorn without a log, at a socket of ours, in a thread of ours: it handles no signals.

    `service` belongs to the app, if the app has one: its limits apply, and its streams end first.

    >>> from tarry.gateway.testing import small_gateway
    >>> with bind("127.0.0.1", 0) as listener:
    ...     Listener(create_metrics_app(small_gateway()), listener).url == url(listener)
    True
    """

    def __init__(self, app: "Starlette", sock: socket.socket, service: "HttpService | None" = None) -> None:
        # Autotuning would give a client that does not read megabytes of the system's memory.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # the client's address is for the limits alone
                ws="none",
                http=connection_class(_slots(service)),
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._service, self._socket, self.url = service, sock, url(sock)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until told to exit."""
        super().run([*(sockets or ()), self._socket])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams first: they would stay open for ever."""
        if self._service is not None:
            self._service.streams.close()
        await super().shutdown(sockets)


def _slots(service: "HttpService | None") -> ConnectionSlots:
    """As many connections as the settings allow, and the system: each needs a file descriptor."""
    limits = Limits() if service is None else service.limits
    files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + _OTHER_FILES
    with contextlib.suppress(OSError, ValueError):  # hardened services may not change it
        if files < needed:
            raised = needed if most_files == resource.RLIM_INFINITY else min(needed, most_files)
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, most_files))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = limits.connections if files == resource.RLIM_INFINITY else files - _OTHER_FILES
    clients = ClientNames() if service is None else service.clients
    return ConnectionSlots(max(1, min(most, limits.connections)), clients)


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


def _end(group: ThreadGroup, keeper: Keeper, ended: threading.Event, log: Log) -> None:
    keeper.stop()
    group.join("keeper")
    ended.set()
    try:
        group.join()
    finally:
        keeper.vault.store.close()
        log("stopped")
