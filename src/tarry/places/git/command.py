"""Push commits after their random delay, with no server in between.

The commit that the branch stands at now will be pushed, whatever happens to the branch meanwhile. A push
waits for earlier waiting pushes of its branch. The same commit waits once.

The dates of commits show when they were made. With --redate, commits that nobody has seen yet get the
moment of their release as date, and so new names. The local branch then moves to them if it still stands
where it stood; no file changes, and the reflog says "tarry: redated". While commits wait with --redate, a
push that would publish them without it is refused.

  tarry git push --redate origin main
"""

import argparse
from pathlib import Path

from tarry.cli.personal_store import add_hand_in, hand_in, open_gate
from tarry.places.git.form import push_post
from tarry.places.git.outlet import waiting_push

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
    parser.add_argument(
        "--redate",
        action="store_true",
        help="date the commits to the release; the branch moves to them then, if it still stands there",
    )
    add_hand_in(parser, "the address of the remote")


def run(arguments: argparse.Namespace) -> int:
    """Hand the push in."""
    options = waiting_push(Path.cwd(), arguments.remote, arguments.branch, redate=arguments.redate)
    gate = open_gate(arguments)
    post = push_post(gate, options, arguments.target, ordered=arguments.after is None)
    return hand_in(arguments, gate, post, note=None if arguments.redate else f"tarry git: {_DATED}")
