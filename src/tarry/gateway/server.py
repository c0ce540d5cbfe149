"""The processes of a gateway: a server, which may release as well, and workers that only release.

Nothing is logged at a request: there is no access log, and errors are counted and logged after the hour.
The parts of a process are threads that end together, when it is told to stop or one of them breaks.
What one connection may hold is in `connection.py`; a server of several processes, in `processes.py`.
"""

import contextlib
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

import uvicorn
from starlette.applications import Starlette

from tarry.core.errors import NotPossible, TarryError
from tarry.gateway.alerts import Alerts, alert_ways
from tarry.gateway.app import create_app, create_metrics_app
from tarry.gateway.config import Config
from tarry.gateway.connection import BoundedConnection
from tarry.gateway.forwarding import Forwarding
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import ClientNames, ConnectionSlots, Limits
from tarry.gateway.monitoring import ErrorCounter, Log, code_location
from tarry.keep.errors import Unavailable
from tarry.keep.keeper import Keeper

__all__ = [
    "Answering",
    "Front",
    "Listener",
    "MakeApp",
    "ThreadGroup",
    "alerting",
    "bind",
    "listen",
    "metrics_listeners",
    "releasing",
    "serve",
    "url_of",
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
    front: "Front | None" = None,
) -> None:
    """Answer requests until told to stop; then finish what was begun, requests first and then deliveries.

    `started` gets the address once requests are answered; `make_app` may put pages beside the API; `front`
    answers in place of this process (several ones: `processes.Crew`).

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> group, log = ThreadGroup(), Log(io.StringIO())
    >>> config = Config(port=0, workers_in_server=0)
    >>> serve(small_gateway(), config, log, group, lambda address: group.stop())
    """
    errors, alerts = ErrorCounter(log), alerting(gateway, config, log)
    with contextlib.closing((front or _alone)(gateway, config, errors, make_app)) as main:
        listeners: list[Answering] = [main, *metrics_listeners(gateway, config)]
        with releasing(gateway, log, group, errors, workers=config.workers_in_server, alerts=alerts):
            listen(group, log, listeners, started)


def _alone(gateway: Gateway, config: Config, errors: ErrorCounter, make_app: MakeApp) -> "Listener":
    """What answers where one process is enough."""
    sock = bind(config.host, config.port)
    return Listener(make_app(gateway, limits=config.limits, tell=errors.count), sock)


class Answering(Protocol):
    """What answers at one socket: a listener of this process, or several other processes.

    >>> with bind("127.0.0.1", 0) as sock:
    ...     answering: Answering = Listener(Starlette(), sock)
    """

    url: str
    should_exit: bool  # set from outside

    @property
    def started(self) -> bool:
        """Whether it answers."""
        ...

    def run(self) -> None:
        """Answer until told to exit."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


#: Makes what answers for a gateway, by its settings and its app.
Front = Callable[[Gateway, Config, ErrorCounter, MakeApp], Answering]


def listen(
    group: ThreadGroup, log: Log, listeners: Sequence[Answering], started: Callable[[str], None]
) -> None:
    """Answer until told to stop; then the requests that have begun. `started` gets the first address.

    >>> import io
    >>> group = ThreadGroup()
    >>> group.stop()
    >>> listen(group, Log(io.StringIO()), [], print)
    """
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
    with releasing(gateway, log, group, ErrorCounter(log), workers=threads):
        log("started", f"releasing with {threads} threads")
        group.wait()
        log("stopping")


@contextlib.contextmanager
def releasing(
    gateway: Gateway,
    log: Log,
    group: ThreadGroup,
    errors: ErrorCounter,
    *,
    workers: int,
    alerts: Alerts | None = None,
) -> Iterator[None]:
    """Keep and refresh beside the block; when it is done, deliveries that have begun are finished.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> group, log = ThreadGroup(), Log(io.StringIO())
    >>> with releasing(small_gateway(), log, group, ErrorCounter(log), workers=1):
    ...     group.stop()
    """
    keeper, ended = Keeper(gateway.vault, workers=workers, tell=partial(log, "keeper")), threading.Event()
    with errors.listening():
        group.begin("refresher", lambda: _refresh(gateway, log, errors, ended))
        if workers:
            group.begin("keeper", keeper.run)
        if alerts is not None:
            group.begin("alerts", lambda: alerts.run(ended))
        yield
        keeper.stop()
        group.join("keeper")
        ended.set()
        try:
            group.join()
        finally:
            gateway.store.close()
            log("stopped")


def alerting(gateway: Gateway, config: Config, log: Log) -> Alerts | None:
    """What alerts an operator, if the settings say how.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> alerting(small_gateway(), Config(), Log(io.StringIO())) is None
    True
    """
    ways = alert_ways(config)
    return Alerts(gateway, ways, log) if ways else None


def metrics_listeners(gateway: Gateway, config: Config) -> "list[Listener]":
    """The listener for metrics alone, if the settings want one.

    >>> from tarry.gateway.testing import small_gateway
    >>> metrics_listeners(small_gateway(), Config())
    []
    """
    if config.metrics_port is None:
        return []
    app = create_metrics_app(gateway, config.own_hosts)
    return [Listener(app, bind("127.0.0.1", config.metrics_port))]


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


def url_of(sock: socket.socket) -> str:
    """The address of a socket that listens.

    >>> with bind("127.0.0.1", 0) as listener:
    ...     url_of(listener).rpartition(":")[0]
    'http://127.0.0.1'
    """
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Listener(uvicorn.Server):
    """Uvicorn without a log, at a socket of ours, in a thread of ours: it handles no signals.

    If the app has a service, the limits of that apply, and its streams end first.

    >>> from tarry.gateway.testing import small_gateway
    >>> with bind("127.0.0.1", 0) as listener:
    ...     Listener(create_metrics_app(small_gateway()), listener).url.rpartition(":")[0]
    'http://127.0.0.1'
    """

    def __init__(self, app: Starlette | Forwarding, sock: socket.socket) -> None:
        self._socket, self._service, self.url = sock, getattr(app.state, "service", None), url_of(sock)
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

    def close(self) -> None:
        """Let go of the socket, and of the service."""
        self._socket.close()
        if self._service is not None:
            self._service.close()

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
        most = max(1, min(most, connections))
        if self._service is None:
            return ConnectionSlots(most, ClientNames())
        return ConnectionSlots(most, self._service.clients, self._service.counters.connections)


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
