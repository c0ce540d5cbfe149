"""Run a gateway: posts come in over HTTP, wait, and leave at their moments.

It listens to this machine alone unless --host or the settings say otherwise; put a proxy with TLS before
it. It releases as well, unless `workers_in_server` is 0 and `tarry worker` does. Logs are lines of JSON on
standard error, and no request writes one. SIGTERM and Ctrl-C end it when what was begun is done. On
PostgreSQL several processes can answer at one address, so that cores add up.

  tarry serve --port 8420
  tarry serve --processes 4
"""

import argparse
import json
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from tarry.cli.main import Argument, add_all
from tarry.cli.options import SETTINGS, config_from, whole_number
from tarry.core.errors import BadInput
from tarry.gateway.config import Config

if TYPE_CHECKING:
    from tarry.gateway.server import ThreadGroup

__all__ = ["Worker", "add_arguments", "end_on_signals", "run"]

_MOST_THREADS = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry serve`."""
    add_all(
        parser,
        Argument(
            "--host",
            metavar="ADDRESS",
            help="listen at this address of the machine (default: 127.0.0.1, this machine alone)",
        ),
        Argument("--port", metavar="N", help="listen at this port; 0 takes a free one (default: 8420)"),
        Argument(
            "--processes",
            metavar="N",
            help="let N processes answer, with the same limits and one set of workers; needs PostgreSQL "
            "(default: 1)",
        ),
        Argument("--demo", metavar="SPACE", help="fill this space's empty feed with a made-up evening"),
        SETTINGS,
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve."""
    from tarry.gateway.app import create_app  # noqa: PLC0415 - `--help` does not need it
    from tarry.gateway.database import open_gateway  # noqa: PLC0415 - likewise
    from tarry.gateway.monitoring import Log  # noqa: PLC0415 - likewise
    from tarry.gateway.processes import Crew, check_several  # noqa: PLC0415 - likewise
    from tarry.gateway.server import ThreadGroup, serve  # noqa: PLC0415 - likewise

    config, running = _at_address(config_from(arguments), arguments.host, arguments.port), ThreadGroup()
    if arguments.processes is not None:
        config = replace(config, processes=whole_number(arguments.processes, "--processes", 1, 64))
    check_several(config)

    def announce(address: str) -> None:
        print(
            json.dumps({"listening": address}) if arguments.json else f"listening at {address}", flush=True
        )

    end_on_signals(running)
    gateway, make_app = open_gateway(config), create_app
    if config.pages:
        from tarry.console.site import with_pages  # noqa: PLC0415 - likewise

        make_app = with_pages(config)
        if arguments.demo:
            from tarry.console.demonstration import fill_with_an_evening  # noqa: PLC0415 - likewise

            fill_with_an_evening(gateway, arguments.demo)
    front = None if config.processes == 1 else Crew
    serve(gateway, config, Log(), running, announce, make_app=make_app, front=front)


def _at_address(config: Config, host: str | None, port: str | None) -> Config:
    """The settings, with what --host and --port say before them."""
    if host is not None:
        if not host or "\0" in host:
            raise BadInput(f"--host must be an address of this machine, not {host!r}")
        config = replace(config, host=host)
    if port is not None:
        config = replace(config, port=whole_number(port, "--port", 0, 65535))
    return config


class Worker:
    """Release what is due at a gateway, without answering requests.

    Any number of workers may run beside any number of servers on one PostgreSQL database, or on one machine
    on one SQLite file. One of them claims each post; what a dead worker had claimed is free again after ten
    seconds. SIGTERM and Ctrl-C end it when the deliveries it has begun are done.

      tarry worker --threads 4
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry worker`."""
        add_all(
            parser,
            Argument("--threads", metavar="N", default="4", help="deliveries at a time (default: 4)"),
            SETTINGS,
        )

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Work."""
        from tarry.gateway.database import open_gateway  # noqa: PLC0415 - `--help` does not need it
        from tarry.gateway.monitoring import Log  # noqa: PLC0415 - likewise
        from tarry.gateway.server import ThreadGroup, work  # noqa: PLC0415 - likewise

        config, running = config_from(arguments), ThreadGroup()
        threads = whole_number(arguments.threads, "--threads", 1, _MOST_THREADS)
        end_on_signals(running)
        work(open_gateway(config), Log(), running, threads=threads)


def end_on_signals(running: "ThreadGroup") -> None:
    """SIGTERM and Ctrl-C end the parts of a process; what they have begun is done first.

    >>> from tarry.gateway.server import ThreadGroup
    >>> running, old = ThreadGroup(), signal.getsignal(signal.SIGTERM)
    >>> end_on_signals(running)
    >>> signal.raise_signal(signal.SIGTERM)
    >>> running.is_ending, signal.signal(signal.SIGTERM, old) is None
    (True, False)
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop())
