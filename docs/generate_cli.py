"""Write docs/cli.md from the help texts of the commands themselves.

python docs/generate_cli.py

`tests/test_docs.py` fails when the page and the commands disagree.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import argparse
from pathlib import Path

from tarry.cli.main import COMMANDS, Parser, parser_of

PAGE = Path(__file__).with_name("cli.md")

HEAD = """\
# The commands

Written by `docs/generate_cli.py` from the commands' own help texts; do not edit it by hand.

Every command answers with a table for people, or with `--json` for programs: durations there are in
seconds, under names that end in `_s`, moments in seconds since 1970 (UTC), under names that end in `_at`,
and the ids of posts are texts. Exit codes: 0 done; 1 a promise is broken (`tarry verify`), an act did not
leave (`--wait`) or no keeper runs (`tarry keeper status`); 2 something on the command line is wrong or
impossible, as one sentence on standard error says. Numbers are read as decimals and durations with their
units, as in [the policy file](policy-file.md).
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name, command.place) for name, command in COMMANDS.items())])


def _section(name: str, module: str) -> str:
    parser = parser_of(name, module)
    parts = [f"## tarry {name}", *_about(parser.description or "")]
    if not parser.subcommands:
        return "\n\n".join([*parts, _table(parser)]) + "\n"
    for child_name, child in parser.subcommands.items():
        parts += [f"### tarry {name} {child_name}", child.description or "", _table(child)]
    return "\n\n".join(parts) + "\n"


def _about(text: str) -> list[str]:
    """A command's description; the lines at its end that are indented are examples."""
    about, _, examples = text.strip().rpartition("\n\n")
    if not examples.startswith("  "):  # prose to the end
        return [text.strip()]
    lines = "\n".join(line.strip() for line in examples.splitlines())
    return [about, f"```sh\n{lines}\n```"]


def _table(parser: Parser) -> str:
    # The layout of argparse's own help differs between versions of Python; the options do not.
    actions = parser._actions  # noqa: SLF001 - there is no public list
    shown = [each for each in actions if each.help != argparse.SUPPRESS and each.dest != "help"]
    rows = [f"| {_spelled(action)} | {str(action.help).replace('%%', '%')} |" for action in shown]
    return "\n".join(["| option | |", "| --- | --- |", *rows])


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{action.metavar or action.dest.upper()}`"
    takes = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return f"`{action.option_strings[0]}{takes}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
