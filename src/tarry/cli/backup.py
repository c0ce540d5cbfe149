"""Write all of a gateway's tables, as of one moment, to a new private SQLite file.

It works while the gateway runs, on SQLite and on PostgreSQL. The key is not in the backup: keep a copy of
the key file elsewhere. The backup holds all that the store holds, the arrivals of the last three windows
too: encrypt it, and delete it as soon as you can. Used in place of a database it starts paused.

  tarry backup /backups/tarry-monday.db
"""

import argparse

from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.gateway.backup import back_up
from tarry.gateway.database import opened_database

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry backup`."""
    parser.add_argument("file", metavar="FILE", help="the new file")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write a backup."""
    with opened_database(config_from(arguments)) as store:
        rows = back_up(store, arguments.file)
    if arguments.json:
        print_json({"file": arguments.file, "rows": rows})
    else:
        print(f"wrote {sum(rows.values())} rows to {arguments.file}")
    return 0
