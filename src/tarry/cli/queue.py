"""What waits in your own store, and when it leaves; what is parked, and why.

A parked act could not be delivered, or may have been cut off half way: look, then `tarry withdraw` it or
`tarry repeat` it. --show prints what it would have said, so that no text is lost.

  tarry queue --show 3fa8 > text.txt
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tarry.cli.main import Argument, add_all
from tarry.cli.personal_store import (
    MORE,
    TRACK,
    encryption_note,
    find_post,
    in_between,
    print_receipt,
    release_text,
    revive_keeper,
    see_to_keeper,
)
from tarry.cli.show import print_json, print_table, printable
from tarry.core.errors import BadInput, NotPossible, TarryError
from tarry.core.promise import promise
from tarry.keep.acts import OwnAct, account_in, own_acts, summary_of
from tarry.keep.gate import Gate
from tarry.keep.home import ME, Home
from tarry.keep.outlet import content_fields
from tarry.keep.posts import shown_id
from tarry.keep.releaser import SHUT
from tarry.keep.store import Row
from tarry.places.bitcoin.transaction import RawTransaction, read_transaction

__all__ = [
    "Repeat",
    "Withdraw",
    "add_arguments",
    "run",
    "show_content",
    "what_of",
]

_MOST = 48  # characters, for a column
_POST = Argument("post", metavar="ID", help="a receipt, or at least four characters of an id")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry queue`."""
    parser.add_argument(
        "--show",
        metavar="ID",
        help="print what this one says (a receipt, or at least four characters of an id)",
    )


def run(arguments: argparse.Namespace) -> None:
    """List what waits, or show one act."""
    home = Home.of(os.environ)
    if arguments.show is not None:
        gate = home.gate()
        show_content(gate, find_post(gate, arguments.show), as_json=arguments.json)
        return
    owned = home.gate() if home.is_founded() else None
    if owned is not None:
        revive_keeper(home, owned)
    acts = [] if owned is None else own_acts(owned)
    batched = 0 if owned is None else owned.batched_acts(ME)
    claim = None if owned is None else promise(owned.policy)
    nats = Fraction(0) if claim is None else claim.loss(batched, exact=True)
    beyond = claim is not None and batched > claim.covers
    kept = home.is_kept()
    encrypted = None if owned is None else owned.vault.settings.is_encrypted
    if arguments.json:
        print_json(
            {
                "posts": [_act_json(act, _output(home, owned, act)) for act in acts],
                "keeper": kept,
                "encrypted": encrypted,
                "batched_acts": batched,
                "nats": nats,
                "beyond_promise": beyond,
            }
        )
        return
    _print_acts(acts)
    if any(act.row["outlet"] == "command" for act in acts):
        print(f"what commands print lands in {home.outputs}")
    if owned is not None and (acts or not encrypted):
        print(encryption_note(home, encrypted=bool(encrypted)))
    if not kept and any(act.state == "waiting" for act in acts):
        print("no keeper runs: nothing leaves until one does (tarry keeper)")
    cost = f"{batched} of your acts were batched and may have cost {float(nats):g} nats in all"
    if claim is not None and claim.season is not None and batched:
        print(f"{cost}: this is {'beyond' if beyond else 'inside'} your season of {claim.season.acts} acts")
    elif beyond:
        print(f"{cost}: no meaningful promise is left against somebody who has watched all along")


def _print_acts(acts: Sequence[OwnAct]) -> None:
    if not acts:
        print("nothing waits")
        return
    print_table(
        ["id", "target", "by", "what", "leaves"],
        [
            [
                act.id[:8],
                printable(act.row["target"]),
                act.row["outlet"],
                what_of(act.row["outlet"], act.options),
                release_text(act.status) if act.state == "waiting" else act.state,
            ]
            for act in acts
        ],
    )
    for act in acts:
        if act.status.problem:
            account = account_in(act.options)
            by = "" if account is None else f" (account {printable(account)})"
            print(f"{act.id[:8]}{by}: {act.status.problem}")
    moved = "everything of yours that waits has moved later with it, and does so at each try"
    ways = {False: "repair what is wrong, or tarry withdraw it", True: "repair what is wrong"}
    for in_doubt, way in ways.items():  # what may have left cannot be withdrawn
        held = (act for act in acts if act.holds_up and act.status.in_doubt == in_doubt)
        if holding := ", ".join(act.id[:8] for act in held):
            print(f"{holding} is tried again: {moved}; {way}")


def _output(home: Home, gate: Gate | None, act: OwnAct) -> str | None:
    """Where the output of a command will be; None for what is no command."""
    if gate is None or act.row["outlet"] != "command":
        return None
    return str(home.output_of(gate, act.row["id"]))


def _act_json(act: OwnAct, output: str | None) -> dict[str, object]:
    early, late = act.status.between or (None, None)
    return {
        "id": act.id,
        "state": act.state,
        "target": act.row["target"],
        "outlet": act.row["outlet"],
        "what": what_of(act.row["outlet"], act.options),
        "account": account_in(act.options),
        "output": output,
        "earliest_at": early,
        "latest_at": late,
        **in_between(act.status),
        "problem": act.status.problem,
        "holds_up": act.holds_up,
    }


def what_of(outlet: str, options: Mapping[str, Any]) -> str:
    """What an act is, in a few words; empty where its options do not tell.

    >>> what_of("mediawiki", {"action": "append", "page": "Talk:Owls"})
    'append Talk:Owls'
    >>> what_of("command", {"argv": ["./submit.sh", "my review.txt"]})
    "./submit.sh 'my review.txt'"
    """
    line = printable(summary_of(outlet, options))
    return line if len(line) <= _MOST else f"{line[: _MOST - 3]}..."


def show_content(gate: Gate, row: Row, *, as_json: bool) -> None:
    """Print what one act will say: the very bytes, unless a terminal would obey some of them.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> show_content(Gate(memory_vault(policy), policy), {"id": 7}, as_json=True)
    Traceback (most recent call last):
    tarry.keep.errors.NoSuchPost: no post has this receipt: check it, or the post left long ago
    """
    try:
        content, options = gate.content_of(row["id"]), gate.options_of(row["id"])
    except TarryError:
        raise
    except Exception:  # noqa: BLE001 - whatever the cipher says
        raise NotPossible(SHUT) from None
    if as_json:
        print_json(
            {
                "id": shown_id(row["id"]),
                **{key: row[key] for key in ("state", "target", "outlet")},
                "what": what_of(row["outlet"], options),
                "options": options,
                **content_fields(content),
            }
        )
    elif not content:
        print("it has no content: --json shows its options", file=sys.stderr)
    elif sys.stdout.isatty():
        print("\n".join(map(_on_terminal, content.decode(errors="replace").split("\n"))))
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _on_terminal(line: str) -> str:
    return "\t".join(map(printable, line.removesuffix("\r").split("\t")))


class Withdraw:
    """Take a waiting act back, by its receipt or the beginning of its id (`tarry queue` shows it).

    A new act on the same target, handed in before this one would have left, leaves when this one would
    have: withdrawing is no way to shorter delays. Acts that were to leave after it still leave, and are
    listed.
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry withdraw`."""
        add_all(parser, _POST)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Withdraw it."""
        home = Home.of(os.environ)
        gate = home.gate()
        row = find_post(gate, arguments.post)
        behind = _behind(gate, row)
        gate.withdraw_post(row["id"])
        gate.vault.store.clear_traces(last=True)
        revive_keeper(home, gate)
        if arguments.json:
            print_json(
                {
                    "id": shown_id(row["id"]),
                    "state": "withdrawn",
                    "behind": [{"id": id_, "note": note} for id_, note in behind.items()],
                }
            )
            return
        print(f"withdrawn {shown_id(row['id'])[:8]}")
        for id_, note in behind.items():
            print(f"tarry withdraw: {id_[:8]} {note}", file=sys.stderr)


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


class Repeat:
    """Hand a parked act in again, as an act of this moment: it waits once more.

    Leaving at once would show when you were at the keyboard.
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry repeat`."""
        add_all(
            parser,
            _POST,
            TRACK,
            MORE,
        )

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Hand it in again."""
        home = Home.of(os.environ)
        gate = home.gate()
        row = find_post(gate, arguments.post)
        if row["state"] != "parked":
            raise BadInput(
                f"{shown_id(row['id'])[:8]} is not parked, it waits", "let it leave, or withdraw it"
            )
        receipt = gate.repeat_post(row["id"], ME, track=arguments.track, more_to_come=arguments.more)
        gate.vault.store.clear_traces(last=True)
        output = home.output_of(gate, receipt.post) if row["outlet"] == "command" else None
        print_receipt(receipt, output, started=see_to_keeper(home), as_json=arguments.json)
