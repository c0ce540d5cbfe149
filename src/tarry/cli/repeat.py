"""Hand a parked act in again, as an act of this moment: it waits once more.

Leaving at once would show when you were at the keyboard.
"""

import argparse
import os

from tarry.cli.options import add_json
from tarry.cli.own import find_post, see_to_keeper, tell_receipt
from tarry.keep.home import ME, Home

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry repeat`."""
    parser.add_argument("post", metavar="ID", help="a receipt, or at least four characters of an id")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Admit it anew."""
    home = Home.of(os.environ)
    gate = home.gate()
    receipt = gate.repeat_post(find_post(gate, arguments.post)["id"], ME)
    tell_receipt(receipt, started=see_to_keeper(home), as_json=arguments.json)
    return 0
