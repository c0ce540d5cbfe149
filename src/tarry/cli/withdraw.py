"""Take a waiting act back, by its receipt or the beginning of its id (`tarry queue` shows it).

A new act on the same target, handed in before this one would have left, leaves when this one would have:
withdrawing is no way to shorter delays. Acts that were to leave after it still leave, and are listed.
"""

import argparse
import os
import sys

from tarry.cli.personal_store import find_post, revive_keeper, shown_id
from tarry.cli.show import print_json
from tarry.core.errors import TarryError
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.keep.store import Row
from tarry.places.bitcoin.transaction import RawTransaction, read_transaction

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry withdraw`."""
    parser.add_argument("post", metavar="ID", help="a receipt, or at least four characters of an id")


def run(arguments: argparse.Namespace) -> int:
    """Withdraw it."""
    home = Home.of(os.environ)
    gate = home.gate()
    row = find_post(gate, arguments.post)
    behind = _behind(gate, row)
    gate.withdraw_post(row["id"])
    gate.vault.store.clear_traces(last=True)
    revive_keeper(home, gate)
    if arguments.json:
        notes = [{"id": id_, "note": note} for id_, note in behind.items()]
        print_json({"id": shown_id(row["id"]), "state": "withdrawn", "behind": notes})
        return 0
    print(f"withdrawn {shown_id(row['id'])[:8]}")
    for id_, note in behind.items():
        print(f"tarry withdraw: {id_[:8]} {note}", file=sys.stderr)
    return 0


def _behind(gate: Gate, row: Row) -> dict[str, str]:
    """What waits for it, and what becomes of that."""
    made = _transaction(gate, row)
    return {
        shown_id(each["id"]): _note(made, _transaction(gate, each), each["outlet"])
        for each, status in gate.posts()
        if each["parent"] == row["id"] and status.state == "waiting"
    }


def _note(made: RawTransaction | None, after: RawTransaction | None, outlet: str) -> str:
    if made and after and any(spent.txid == made.txid for spent in after.inputs):
        return "spends what it would have paid: no node will take it, so it will be parked; withdraw it too"
    if outlet == "git":
        return "was to leave after it, and takes along those of its commits that it is built on"
    return "was to leave after it, and now leaves without it"


def _transaction(gate: Gate, row: Row) -> RawTransaction | None:
    if row["outlet"] != "bitcoin":
        return None
    try:
        return read_transaction(gate.content_of(row["id"]))
    except TarryError:  # it has just left
        return None
