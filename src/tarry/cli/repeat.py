"""Hand a parked act in again, as an act of this moment: it waits once more.

Leaving at once would show when you were at the keyboard.
"""

import argparse
import os

from tarry.cli.personal_store import find_post, print_receipt, see_to_keeper, shown_id
from tarry.core.errors import BadInput
from tarry.keep.home import ME, Home

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry repeat`."""
    parser.add_argument("post", metavar="ID", help="a receipt, or at least four characters of an id")
    parser.add_argument("--track", help="its track, for policies with gaps by track")
    parser.add_argument("--more", action="store_true", help="more will follow soon (labels declared)")


def run(arguments: argparse.Namespace) -> int:
    """Hand it in again."""
    home = Home.of(os.environ)
    gate = home.gate()
    row = find_post(gate, arguments.post)
    if row["state"] != "parked":
        raise BadInput(f"{shown_id(row['id'])[:8]} is not parked, it waits", "let it leave, or withdraw it")
    receipt = gate.repeat_post(row["id"], ME, track=arguments.track, more_to_come=arguments.more)
    gate.vault.store.clear_traces(last=True)
    output = home.output_of(gate, receipt.post) if row["outlet"] == "command" else None
    print_receipt(receipt, output, started=see_to_keeper(home), as_json=arguments.json)
    return 0
