"""Bring a gateway's database up to date, and say which migrations it lacked.

Every command does this when it opens the database; this one does nothing else. A database that a newer
tarry has written is refused.

  tarry migrate
"""

import argparse

from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.gateway.database import migrate

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry migrate`."""
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Apply what is missing."""
    new, now = migrate(config_from(arguments).database)
    if arguments.json:
        print_json({"applied": new, "known": now})
    else:
        print(f"applied {', '.join(map(str, new))}" if new else "up to date: nothing to apply")
    return 0
