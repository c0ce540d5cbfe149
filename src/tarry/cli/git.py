"""Push commits after their random delay, with no server in between.

The commit that the branch stands at now is the one that will be pushed, whatever happens to the branch
meanwhile. With --redate the commits that nobody has seen yet are dated to the release when they leave:
otherwise their own dates tell when they were made. They get new names by it, and at the release the local
branch moves to them, checked out or not, if it still stands where it stood now (its reflog says "tarry:
redated"); no file changes. A push waits for earlier waiting pushes of its branch.

  tarry git push --redate origin main
"""

import argparse
from pathlib import Path
from typing import Any

from tarry.cli.own import add_hand_in, hand_in, open_gate
from tarry.core.errors import BadInput
from tarry.keep.gate import Gate
from tarry.keep.outlets.git import waiting_push

__all__ = ["add_arguments", "run"]

_DATED = (
    "the commits keep their dates and time zone, which show when you were at the keyboard: to date them to "
    "the release, withdraw this push and give --redate"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry git`."""
    parser.add_argument("verb", metavar="push", choices=["push"], help="push is all there is")
    parser.add_argument("remote", nargs="?", default="origin", help="the remote (default origin)")
    parser.add_argument("branch", nargs="?", help="the branch (default the one checked out)")
    told = "date the commits to the release; the branch moves to them then, if it still stands there"
    parser.add_argument("--redate", action="store_true", help=told)
    add_hand_in(parser, "the address of the remote")


def run(arguments: argparse.Namespace) -> int:
    """Hand the push in."""
    options = waiting_push(Path.cwd(), arguments.remote, arguments.branch, redate=arguments.redate)
    target = arguments.target or options["address"]
    gate = open_gate(arguments)
    post = {"target": target, "outlet": "git", "content": b"", "options": options}
    if arguments.after is None:
        post["depends_on"] = _earlier_push(gate, target, options)
    return hand_in(arguments, gate, post, note=None if arguments.redate else f"tarry git: {_DATED}")


def _earlier_push(gate: Gate, target: str, options: dict[str, Any]) -> int | None:
    """The last waiting push of the same branch: its commits must not leave before it does."""
    same = ("repository", "remote", "branch")
    waiting = [row for row, status in gate.posts() if row["outlet"] == "git" and status.state == "waiting"]
    earlier = [
        row for row in waiting if all(gate.options_of(row["id"])[key] == options[key] for key in same)
    ]
    if any(row["target"] != target for row in earlier):
        raise BadInput(
            "a push",
            "has the target of the waiting pushes of its branch, whose commits it carries along",
            found=repr(target),
            fix="give that target, or withdraw the waiting push",
        )
    above = {row["parent"] for row in earlier}
    last = [row["id"] for row in earlier if row["id"] not in above]
    return last[0] if last else None
