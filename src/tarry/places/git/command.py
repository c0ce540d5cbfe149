"""Push commits after their random delay, with no server in between.

The commit that the branch stands at now is the one that will be pushed, whatever happens to the branch
meanwhile. With --redate the commits that nobody has seen yet are dated to the release when they leave:
otherwise their own dates tell when they were made. They get new names by it, and at the release the local
branch moves to them, checked out or not, if it still stands where it stood now (its reflog says "tarry:
redated"); no file changes. A push waits for earlier waiting pushes of its branch. While commits wait with
--redate, a push that would publish them without it is refused; the same commit waits once.

  tarry git push --redate origin main
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tarry.cli.personal_store import add_hand_in, hand_in, open_gate, shown_id
from tarry.cli.queue import options_in
from tarry.core.errors import BadInput, NotPossible
from tarry.keep.gate import Gate
from tarry.keep.store import Row
from tarry.places.git.outlet import unpublished, waiting_push

__all__ = ["add_arguments", "run"]

_SAME_BRANCH = ("remote", "branch")
_DATED = (
    "the commits keep their dates and time zone, which show when you were at the keyboard: to date them to "
    "the release, withdraw this push and give --redate"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry git`."""
    parser.add_argument("verb", metavar="push", choices=["push"], help="push is all there is")
    parser.add_argument("remote", nargs="?", default="origin", help="the remote (default origin)")
    parser.add_argument("branch", nargs="?", help="the branch (default the one checked out)")
    parser.add_argument(
        "--redate",
        action="store_true",
        help="date the commits to the release; the branch moves to them then, if it still stands there",
    )
    add_hand_in(parser, "the address of the remote")


def run(arguments: argparse.Namespace) -> int:
    """Hand the push in."""
    options = waiting_push(Path.cwd(), arguments.remote, arguments.branch, redate=arguments.redate)
    target = arguments.target or options["address"]
    gate = open_gate(arguments)
    waiting = _waiting_pushes(gate, options["repository"])
    if not arguments.redate:
        _check_not_redated(waiting, options)
    earlier = [push for push in waiting if all(push.options[key] == options[key] for key in _SAME_BRANCH)]
    _check_earlier(earlier, target, options["commit"])
    post = {"target": target, "outlet": "git", "content": b"", "options": options}
    if arguments.after is None:
        post["depends_on"] = _last(earlier)
    return hand_in(arguments, gate, post, note=None if arguments.redate else f"tarry git: {_DATED}")


class _Push(NamedTuple):
    row: Row
    options: Mapping[str, Any]

    @property
    def id(self) -> str:
        return shown_id(self.row["id"])[:8]


def _waiting_pushes(gate: Gate, repository: str) -> list[_Push]:
    pushes = (
        _Push(row, options_in(gate, row["id"]))
        for row, status in gate.posts()
        if row["outlet"] == "git" and status.state == "waiting"
    )
    return [push for push in pushes if push.options.get("repository") == repository]


def _check_not_redated(waiting: Sequence[_Push], options: Mapping[str, Any]) -> None:
    """A commit that will be dated anew must not be published with its own date as well."""
    repository = options["repository"]
    mine = set(unpublished(repository, options["commit"]))
    for push in waiting:
        if push.options["redate"] and mine.intersection(unpublished(repository, push.options["commit"])):
            raise NotPossible(
                f"the waiting push {push.id} gives commits of this one new dates and names: "
                f"give --redate here too, or withdraw {push.id}"
            )


def _check_earlier(earlier: Sequence[_Push], target: str, commit: str) -> None:
    for push in earlier:
        if push.options["commit"] == commit:
            raise NotPossible(
                f"this commit waits already, as push {push.id}: withdraw that one to push it in another way"
            )
        if push.row["target"] != target:
            raise BadInput(
                f"a push must have the target of those of its branch that wait, not {target!r}",
                "give that target, or withdraw the waiting push",
            )


def _last(earlier: Sequence[_Push]) -> int | None:
    """The last waiting push of the same branch: its commits must not leave before it does."""
    above = {push.row["parent"] for push in earlier}
    return next((push.row["id"] for push in earlier if push.row["id"] not in above), None)
