"""What waits in your own store, and when it leaves; what is parked, and why.

A parked act could not be delivered, or may have been cut off half way: look, then `tarry withdraw` it or
`tarry repeat` it. --show prints what it would have said, so that no text is lost.

  tarry queue --show 3fa8 > text.txt
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tarry.cli.acts import account_in, options_in, show_content, what_of
from tarry.cli.personal_store import encryption_note, find_post, release_text, revive_keeper, shown_id
from tarry.cli.show import print_json, print_table, printable
from tarry.core.promise import MEANINGLESS, promise
from tarry.keep.gate import Gate
from tarry.keep.home import ME, Home
from tarry.keep.posts import Status
from tarry.keep.store import Row

__all__ = ["add_arguments", "run"]


class _Act(NamedTuple):
    row: Row
    status: Status
    options: Mapping[str, Any]
    runs: bool  # it is being delivered

    @property
    def state(self) -> str:
        return "running" if self.runs else self.status.state

    @property
    def id(self) -> str:
        return shown_id(self.row["id"])

    @property
    def holds_up(self) -> bool:
        """Whether its delivery is tried again: then everything else has moved with it."""
        return self.status.state == "waiting" and self.status.problem is not None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry queue`."""
    text = "print what this one says (a receipt, or at least four characters of an id)"
    parser.add_argument("--show", metavar="ID", help=text)


def run(arguments: argparse.Namespace) -> int:
    """List what waits, or show one act."""
    home = Home.of(os.environ)
    if arguments.show is not None:
        gate = home.gate()
        show_content(gate, find_post(gate, arguments.show), as_json=arguments.json)
        return 0
    owned = home.gate() if home.is_founded() else None
    if owned is not None:
        revive_keeper(home, owned)
    acts = [] if owned is None else _acts(owned)
    batched = 0 if owned is None else owned.batched_acts(ME)
    spent = Fraction(0) if owned is None else promise(owned.policy).loss(batched)
    kept = home.is_kept()
    encrypted = None if owned is None else owned.vault.settings.is_encrypted
    if arguments.json:
        answer = {"posts": [_act_json(act) for act in acts], "keeper": kept, "encrypted": encrypted}
        print_json({**answer, "batched_acts": batched, "nats": spent})
        return 0
    _print_acts(acts)
    if owned is not None and (acts or not encrypted):
        print(encryption_note(home, encrypted=bool(encrypted)))
    if not kept and any(act.state == "waiting" for act in acts):
        print("no keeper runs: nothing leaves until one does (tarry keeper)")
    if spent > MEANINGLESS:
        cost = f"{batched} of your acts were batched and may have cost {float(spent):g} nats in all"
        print(f"{cost}: no meaningful promise is left against somebody who has watched all along")
    return 0


def _acts(gate: Gate) -> list[_Act]:
    runs = gate.under_way()
    posts = sorted(gate.posts(), key=lambda each: (each[1].earliest or 0, each[0]["id"]))
    return [
        _Act(row, status, options_in(gate, row["id"]), runs=row["id"] in runs and status.state == "waiting")
        for row, status in posts
    ]


def _print_acts(acts: Sequence[_Act]) -> None:
    if not acts:
        print("nothing waits")
        return
    cells = [
        [
            act.id[:8],
            printable(act.row["target"]),
            act.row["outlet"],
            what_of(act.row["outlet"], act.options),
            release_text(act.status) if act.state == "waiting" else act.state,
        ]
        for act in acts
    ]
    print_table(["id", "target", "by", "what", "leaves"], cells)
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


def _act_json(act: _Act) -> dict[str, object]:
    early, late = act.status.between or (None, None)
    return {
        "id": act.id,
        "state": act.state,
        "target": act.row["target"],
        "outlet": act.row["outlet"],
        "what": what_of(act.row["outlet"], act.options),
        "account": account_in(act.options),
        "earliest_at": early,
        "latest_at": late,
        "problem": act.status.problem,
        "holds_up": act.holds_up,
    }
