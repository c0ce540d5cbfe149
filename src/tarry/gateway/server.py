"""The processes of a gateway: a server, which may release as well, and workers that only release.

Nothing that a server writes down happens at a request: no access log, and mishaps are told after the hour.
"""

import contextlib
import os
import resource
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from tarry.core.errors import NotPossible
from tarry.gateway.app import create_app
from tarry.gateway.clients import Clients, Room
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits
from tarry.gateway.logs import Log, Mishaps
from tarry.gateway.metrics import create_metrics_app
from tarry.gateway.running import Running
from tarry.gateway.wire import wire_for
from tarry.keep.errors import Unavailable
from tarry.keep.keeper import Keeper

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tarry.gateway.door import Door

__all__ = ["bind", "serve", "url", "work"]

_GRACE_S = 10  # for requests that have begun
_SEND_BYTES = 128 << 10
_OTHER_FILES = 200  # beside connections: databases, logs, audits, deliveries
_REFRESH_S = 1.0
_LOOPBACK = "127.0.0.1"
#: Builds the app of a gateway: `create_app`, or one that has more beside it.
MakeApp = Callable[..., "Starlette"]


def serve(
    gateway: Gateway,
    config: Config,
    log: Log,
    running: Running,
    told: Callable[[str], None],
    *,
    make_app: MakeApp = create_app,
) -> None:
    """Answer requests until told to stop; then finish what was begun, requests first and then deliveries.

    `told` hears the address once requests are answered; `make_app` may put pages beside the API.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> running, log = Running(), Log(io.StringIO())
    >>> config = Config(port=0, workers_in_server=0)
    >>> serve(small_gateway(), config, log, running, lambda address: running.stop())
    """
    mishaps, ended = Mishaps(log), threading.Event()
    doors = _doors(gateway, config, mishaps, make_app)
    keeper = Keeper(gateway.vault, workers=config.workers_in_server, tell=log.keeper)
    with mishaps.listening():
        running.begin("refresher", lambda: _refresh(gateway, log, mishaps, ended))
        for number, door in enumerate(doors):
            running.begin(f"listener {number}", door.run)
        if config.workers_in_server:
            running.begin("keeper", keeper.run)
        running.wait(lambda: all(door.started for door in doors))
        if not running.is_ending:
            log("started", f"listening at {', '.join(door.url for door in doors)}")
            told(doors[0].url)
        running.wait()
        log("stopping")
        for number, door in enumerate(doors):
            door.should_exit = True
            running.join(f"listener {number}")
        _end(running, keeper, ended, log)


def work(gateway: Gateway, log: Log, running: Running, *, threads: int = 4) -> None:
    """Close ticks and release until told to stop; deliveries that have begun are finished.

    >>> import io
    >>> from tarry.gateway.testing import small_gateway
    >>> running = Running()
    >>> running.stop()
    >>> work(small_gateway(), Log(io.StringIO()), running)
    """
    keeper = Keeper(gateway.vault, workers=threads, tell=log.keeper)
    mishaps, ended = Mishaps(log), threading.Event()
    with mishaps.listening():
        running.begin("refresher", lambda: _refresh(gateway, log, mishaps, ended))
        running.begin("keeper", keeper.run)
        log("started", f"releasing with {threads} threads")
        running.wait()
        log("stopping")
        _end(running, keeper, ended, log)


def _doors(gateway: Gateway, config: Config, mishaps: Mishaps, make_app: MakeApp) -> "list[_Door]":
    """The listeners: the main one, and perhaps one for metrics."""
    main = bind(config.host, config.port)
    try:
        other = None if config.metrics_port is None else bind(_LOOPBACK, config.metrics_port)
    except NotPossible:
        main.close()
        raise
    doors = [_Door(make_app(gateway, limits=config.limits, tell=mishaps.note), main)]
    return doors if other is None else [*doors, _Door(create_metrics_app(gateway, config.own_hosts), other)]


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
        raise NotPossible(f"nothing can listen at {host}, port {port}: {reason}") from None


def url(listener: socket.socket) -> str:
    """The address of a socket.

    >>> with socket.create_server(("127.0.0.1", 0)) as listener:
    ...     url(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    True
    """
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Door(uvicorn.Server):
    """Uvicorn without a log, at a socket of ours, in a thread of ours: signals are not its business."""

    def __init__(self, app: "Starlette", listener: socket.socket) -> None:
        # Autotuning would give a reader who does not read megabytes of the system's memory.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,  # who asks from where is nobody's business
                ws="none",
                http=wire_for(_room(app)),
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._app, self._listener, self.url = app, listener, url(listener)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until told to exit."""
        super().run([*(sockets or ()), self._listener])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let listeners of streams go first: they would stay for ever."""
        if door := getattr(self._app.state, "door", None):
            door.streams.close()
        await super().shutdown(sockets)


def _room(app: "Starlette") -> Room:
    """As many connections as the settings allow, and the system: each needs a file descriptor."""
    door: Door | None = getattr(app.state, "door", None)
    limits = Limits() if door is None else door.limits
    files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + _OTHER_FILES
    with contextlib.suppress(OSError, ValueError):  # hardened services may not change it
        if files < needed:
            wanted = needed if most_files == resource.RLIM_INFINITY else min(needed, most_files)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most_files))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    most = limits.connections if files == resource.RLIM_INFINITY else files - _OTHER_FILES
    return Room(max(1, min(most, limits.connections)), Clients() if door is None else door.clients)


def _refresh(gateway: Gateway, log: Log, mishaps: Mishaps, ended: threading.Event) -> None:
    """Look once a second for new spaces, policies and tokens."""
    away = False
    while not ended.wait(_REFRESH_S):
        mishaps.tell()
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
    mishaps.tell(last=True)
    gateway.store.close()


def _end(running: Running, keeper: Keeper, ended: threading.Event, log: Log) -> None:
    keeper.stop()
    running.join("keeper")
    ended.set()
    try:
        running.join()
    finally:
        keeper.vault.store.close()
        log("stopped")
