"""Release what is due at a gateway, without answering requests.

Any number of workers may run beside any number of servers on one PostgreSQL database, or on one machine on
one SQLite file. One of them claims each post; what a dead worker had claimed is free again after ten
seconds. SIGTERM and Ctrl-C end it when the deliveries it has begun are done.

  tarry worker --threads 4
"""

import argparse

from tarry.cli.settings import add_settings, config_from
from tarry.core.errors import BadInput

__all__ = ["add_arguments", "run"]

_MOST = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry worker`."""
    parser.add_argument("--threads", metavar="N", default="4", help="deliveries at a time (default: 4)")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Work."""
    from tarry.cli.signals import end_on_signals  # noqa: PLC0415 - `--help` does not need it
    from tarry.gateway.database import open_gateway  # noqa: PLC0415 - likewise
    from tarry.gateway.monitoring import Log  # noqa: PLC0415 - likewise
    from tarry.gateway.server import ThreadGroup, work  # noqa: PLC0415 - likewise

    config, threads, running = config_from(arguments), arguments.threads, ThreadGroup()
    if not (threads.isascii() and threads.isdecimal() and len(threads) < 4 and 0 < int(threads) <= _MOST):
        raise BadInput(f"--threads must be a whole number from 1 to {_MOST}, not {threads!r}")
    end_on_signals(running)
    work(open_gateway(config), Log(), running, threads=int(threads))
    return 0
