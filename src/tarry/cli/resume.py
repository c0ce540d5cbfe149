"""Let a gateway work again after `tarry restore`.

Posts that were to leave meanwhile may have left: they are parked, for an operator to retry or withdraw one
by one. Everything else leaves at the moment that was drawn for it.

  tarry resume
"""

import argparse

from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.gateway.backup import resume
from tarry.gateway.database import keys_of, opened_database

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry resume`."""
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Resume."""
    config = config_from(arguments)
    with opened_database(config) as store:
        keys = keys_of(config, store)
        with store.transaction("closing") as transaction:
            parked = resume(transaction, keys, store.clock())
    if arguments.json:
        print_json({"paused": False, "parked": parked})
    else:
        print(
            f"it works again; {parked} posts that may have left are parked" if parked else "it works again"
        )
    return 0
