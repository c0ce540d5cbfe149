"""Run a gateway: posts come in over HTTP, wait, and leave at their moments.

It listens to this machine alone unless --host or the settings say otherwise; put a proxy with TLS before
it. It releases as well, unless `workers_in_server` is 0 and `tarry worker` does. Logs are lines of JSON on
standard error, and no request writes one. SIGTERM and Ctrl-C end it when what was begun is done.

  tarry serve --port 8420
"""

import argparse
import json
from dataclasses import replace

from tarry.cli.settings import add_settings, config_from
from tarry.core.errors import BadInput
from tarry.gateway.config import Config

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry serve`."""
    text = "listen at this address of the machine (default: 127.0.0.1, this machine alone)"
    parser.add_argument("--host", metavar="ADDRESS", help=text)
    parser.add_argument(
        "--port", metavar="N", help="listen at this port; 0 takes a free one (default: 8420)"
    )
    parser.add_argument(
        "--demo", metavar="SPACE", help="fill this space's empty feed with a made-up evening"
    )
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve."""
    from tarry.cli.signals import end_on_signals  # noqa: PLC0415 - `--help` does not need it
    from tarry.gateway.app import create_app  # noqa: PLC0415 - likewise
    from tarry.gateway.database import open_gateway  # noqa: PLC0415 - likewise
    from tarry.gateway.monitoring import Log  # noqa: PLC0415 - likewise
    from tarry.gateway.server import ThreadGroup, serve  # noqa: PLC0415 - likewise

    config, running = _at_address(config_from(arguments), arguments.host, arguments.port), ThreadGroup()

    def announce(address: str) -> None:
        line = json.dumps({"listening": address}) if arguments.json else f"listening at {address}"
        print(line, flush=True)

    end_on_signals(running)
    gateway, make_app = open_gateway(config), create_app
    if config.pages:
        from tarry.console.site import with_pages  # noqa: PLC0415 - likewise

        make_app = with_pages(config)
        if arguments.demo:
            from tarry.console.board import fill_with_an_evening  # noqa: PLC0415 - likewise

            fill_with_an_evening(gateway, arguments.demo)
    serve(gateway, config, Log(), running, announce, make_app=make_app)
    return 0


def _at_address(config: Config, host: str | None, port: str | None) -> Config:
    """The settings, with what --host and --port say before them."""
    if host is not None:
        if not host or "\0" in host:
            raise BadInput(f"--host must be an address of this machine, not {host!r}")
        config = replace(config, host=host)
    if port is not None:
        if not (port.isascii() and port.isdecimal() and len(port) < 6 and int(port) <= 65535):
            raise BadInput(f"--port must be a whole number from 0 to 65535, not {port!r}")
        config = replace(config, port=int(port))
    return config
