"""Run a command after its random delay: nothing is lost in between, nothing runs early or twice.

It returns at once and says when the command will run: at one moment, or at one of two, between which your
other acts decide. What the command prints goes to a private file.

It runs with the same words, directory and umask. Of the environment it gets the variables that you name,
and PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL and TMPDIR. A command that was cut off is never run
again: it is parked, for you to look at.

  tarry run --target paper-3 -- ./submit-review.sh paper-3.txt
  tarry run --target bob@example.org --env SSH_AUTH_SOCK -- git push
"""

import argparse
import os
import sys
from pathlib import Path

from tarry.cli.personal_store import add_hand_in, hand_in, open_gate
from tarry.core.errors import BadInput
from tarry.places.command.outlet import command_options

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry run`."""
    add_hand_in(parser, None)
    parser.add_argument(
        "--env",
        metavar="NAME",
        action="append",
        default=[],
        help="keep this environment variable for the command (may be given again)",
    )
    parser.add_argument(
        "--stdin", action="store_true", help="read standard input now, for the command to read"
    )
    parser.add_argument("command", metavar="-- COMMAND", nargs=argparse.REMAINDER, help="what to run")


def run(arguments: argparse.Namespace) -> int:
    """Hand the command in."""
    words = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if not words:
        raise BadInput("no command given", "write it after --, as in tarry run --target X -- COMMAND")
    return hand_in(
        arguments,
        open_gate(arguments),
        {
            "target": arguments.target,
            "outlet": "command",
            "content": sys.stdin.buffer.read() if arguments.stdin else b"",
            "options": command_options(words, Path.cwd(), os.environ, arguments.env, umask=_umask()),
        },
    )


def _umask() -> int:
    """Reading it is setting it."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
