"""Take a waiting act back, by its receipt or the beginning of its id (`tarry queue` shows it).

A new act on the same target, before this one would have left, leaves when this one would have: taking back
and handing in again is no way to shorter delays.
"""

import argparse
import os

from tarry.cli.options import add_json
from tarry.cli.own import find_post, name
from tarry.cli.show import print_json
from tarry.keep.home import Home

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry withdraw`."""
    parser.add_argument("post", metavar="ID", help="a receipt, or at least four characters of an id")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Withdraw it."""
    gate = Home.of(os.environ).gate()
    row = find_post(gate, arguments.post)
    gate.withdraw_post(row["id"])
    gate.vault.store.clear_traces(last=True)
    if arguments.json:
        print_json({"id": name(row["id"]), "state": "withdrawn"})
    else:
        print(f"withdrawn {name(row['id'])[:8]}")
    return 0
