"""What waits in your own store, and when it leaves; what is parked, and why.

A parked act could not be delivered, or may have been cut off half way: look, then `tarry withdraw` it, or
`tarry repeat` it.
"""

import argparse
import os
from fractions import Fraction

from tarry.cli.options import add_json
from tarry.cli.own import name, when
from tarry.cli.show import print_json, print_table
from tarry.core.promise import MEANINGLESS, promise
from tarry.keep.home import ME, Home
from tarry.keep.posts import Status
from tarry.keep.store import Row

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry queue`."""
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """List what waits."""
    home = Home.of(os.environ)
    gate = home.gate() if home.is_founded() else None
    posts = (
        []
        if gate is None
        else sorted(gate.posts(), key=lambda each: (each[1].earliest or 0, each[0]["id"]))
    )
    batched = 0 if gate is None else gate.batched_acts(ME)
    spent = Fraction(0) if gate is None else promise(gate.policy).loss(batched)
    kept = home.is_kept()
    if arguments.json:
        answer = {"posts": [_plain(*each) for each in posts], "keeper": kept}
        print_json({**answer, "batched_acts": batched, "nats": spent})
        return 0
    _print_posts(posts)
    if not kept and any(status.state == "waiting" for _, status in posts):
        print("no keeper runs: nothing leaves until one does (tarry keeper)")
    if spent > MEANINGLESS:
        told = f"{batched} of your acts were batched and may have cost {float(spent):g} nats in all:"
        print(f"{told} no meaningful promise is left against somebody who has watched all along")
    return 0


def _print_posts(posts: list[tuple[Row, Status]]) -> None:
    if not posts:
        print("nothing waits")
        return
    cells = [
        [name(row["id"])[:8], _printable(row["target"]), row["outlet"], _leaves(status)]
        for row, status in posts
    ]
    print_table(["id", "target", "by", "leaves"], cells)
    for row, status in posts:
        if status.problem:
            print(f"{name(row['id'])[:8]}: {status.problem}")


def _printable(text: str) -> str:
    """Without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _leaves(status: Status) -> str:
    return "parked" if status.state == "parked" else when(status)


def _plain(row: Row, status: Status) -> dict[str, object]:
    early, late = status.between or (None, None)
    return {
        "id": name(row["id"]),
        "state": status.state,
        "target": row["target"],
        "outlet": row["outlet"],
        "earliest_at": early,
        "latest_at": late,
        "problem": status.problem,
    }
