"""Write docs/cli.md from the help texts of the commands themselves.

python docs/generate_cli.py

`tests/test_docs.py` fails when the page and the commands disagree.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import argparse
from importlib import import_module
from pathlib import Path

from tarry.cli.main import COMMANDS, Parser, command_module

PAGE = Path(__file__).with_name("cli.md")

HEAD = """\
# The commands

Written by `docs/generate_cli.py` from the commands' own help texts; do not edit it by hand.

Every command answers with a table for people, or with `--json` for programs: durations there are in
seconds, under names that end in `_s`, moments in seconds since 1970 (UTC), under names that end in `_at`,
and the ids of posts are texts. Exit codes: 0 done, 1 a promise is broken (`tarry verify`), 2
something given is wrong or impossible, told in one sentence on standard error. Numbers are read as
decimals and durations with their units, as in [the policy file](policy-file.md).
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name) for name in COMMANDS)])


def _section(name: str) -> str:
    command = import_module(command_module(name))
    parser = Parser(prog=f"tarry {name}", add_help=False)
    command.add_arguments(parser)
    # The layout of argparse's own help differs between versions of Python; the options do not.
    rows = [f"| {_spelled(action)} | {action.help} |" for action in parser._actions]  # noqa: SLF001 - no public list
    table = "\n".join(["| option | |", "| --- | --- |", *rows])
    about, _, examples = command.__doc__.strip().rpartition("\n\n")
    if not examples.startswith("  "):  # prose to the end
        return f"## tarry {name}\n\n{command.__doc__.strip()}\n\n{table}\n"
    lines = "\n".join(line.strip() for line in examples.splitlines())
    return f"## tarry {name}\n\n{about}\n\n```sh\n{lines}\n```\n\n{table}\n"


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest.upper()}`"
    takes = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return f"`{action.option_strings[0]}{takes}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
