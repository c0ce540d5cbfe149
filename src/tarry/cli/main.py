"""`tarry`: finds the command, and turns errors into one sentence and an exit code.

Exit codes: 0 done, 1 a promise is broken (`verify`), an act did not leave (`--wait`) or no keeper runs
(`keeper --status`), 2 something given is wrong or impossible.
A command's file is loaded only when that command runs, so `tarry --help` costs next to nothing.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

__all__ = ["COMMANDS", "command_module", "main"]

COMMANDS = {
    "plan": "what a policy costs: the delays of batched and unbatched acts",
    "frontier": "the trade between batched and unbatched delay",
    "verify": "check a policy's promise exactly: holds, or a witness",
    "explain": "what a policy promises and what it does not, in words",
    "delay": "draw one delay now, in seconds, from the secure source",
    "run": "run a command after its random delay",
    "git": "push commits after their random delay",
    "mail": "send a mail after its random delay",
    "wiki": "edit a wiki after a random delay",
    "openreview": "post on OpenReview after a random delay",
    "wallet": "send Bitcoin transactions after their random delay",
    "queue": "what waits in your own store, and when it leaves",
    "withdraw": "take a waiting act back",
    "repeat": "hand a parked act in again",
    "keeper": "release what is due, now and from now on",
    "serve": "run a gateway: posts come in over HTTP, wait, and leave",
    "worker": "release what is due at a gateway, beside its servers",
    "space": "the spaces of a gateway and their policies",
    "token": "who may use a gateway, and for what",
    "parked": "posts of a gateway that wait for a person: retry, withdraw, export",
    "prune": "forget old rows of a gateway",
    "status": "how a gateway stands",
    "store": "encrypt a store, change its key, forget an account",
    "migrate": "bring a gateway's database up to date",
    "backup": "all of a gateway's tables in one file",
    "restore": "bring a backup back, paused",
    "resume": "let a gateway that was brought back work again",
    "read": "somebody's export as a file of events",
    "audit": "how linkable a history's people are, and what a delay would change",
    "simulate": "replay a history under a policy, and write the releases",
    "compare": "policies and other systems' habits side by side",
    "learn": "learn a policy from a history",
    "synth": "make up a history with known truth",
    "reproduce": "the paper's figures and tables: as printed, as coded, corrected",
}
#: The commands of places lie beside their outlets.
_AT_PLACES = {
    "run": "command",
    "git": "git",
    "mail": "mail",
    "wiki": "mediawiki",
    "openreview": "openreview",
    "wallet": "bitcoin",
}
WRONG = 2
STOPPED = 130  # as the shell calls it
_RUNS_A_COMMAND = "run"  # its last words belong to another program, and are left as they are


class UsageError(Exception):
    """The command line cannot be read; the text is the one sentence to print."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage block before it."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["plan", "--epsilon", "1"])
    2
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if sys.stdin is None or sys.stdout is None:
        return WRONG  # closed by the caller: there is nothing to read from, or nowhere to answer
    code = 0
    try:
        named = bool(words) and (words[0] in COMMANDS or _is_installed(words[0]))
        code = _command(words[0], words[1:]) if named else _without_command(words)
        sys.stdout.flush()  # here: at the interpreter's end nobody would catch that the reader has gone
    except BrokenPipeError:  # nothing left to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.filename:
            print(f"tarry: {error.filename!r} cannot be used: {error.strerror}", file=sys.stderr)
        elif isinstance(error, FileNotFoundError):  # no answer ends like that
            print("tarry: the working directory is gone: go to one that is there", file=sys.stderr)
        else:
            print(f"tarry: the answer cannot be written: {error.strerror}", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt:
        return STOPPED
    return code


def command_module(name: str) -> str:
    """Where a command's file is.

    >>> command_module("verify"), command_module("wiki")
    ('tarry.cli.verify', 'tarry.places.mediawiki.command')
    """
    return f"tarry.places.{_AT_PLACES[name]}.command" if name in _AT_PLACES else f"tarry.cli.{name}"


def _is_installed(name: str) -> bool:
    if name.startswith("-"):
        return False
    from tarry.core.plugins import names  # noqa: PLC0415 - `tarry --help` does not need it

    return name in names("command")


def _load(name: str) -> Any:
    if name in COMMANDS:
        return import_module(command_module(name))  # loads no package of an extra: --help works without
    from tarry.core.plugins import load  # noqa: PLC0415 - likewise

    return load("command", name)


def _command(name: str, words: list[str]) -> int:
    from tarry.core.errors import TarryError  # noqa: PLC0415 - `tarry --help` does not need it

    try:
        command = _load(name)
        parser = Parser(
            prog=f"tarry {name}",
            description=command.__doc__,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(parser)
        if name == _RUNS_A_COMMAND:
            return int(command.run(parser.parse_args(words)))
        return int(command.run(parser.parse_intermixed_args(_join_negatives(words))))
    except (TarryError, UsageError) as error:
        print(f"tarry {name}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return WRONG
    except ModuleNotFoundError as error:
        from tarry.cli.extras import what_to_install  # noqa: PLC0415 - likewise

        if (sentence := what_to_install(error)) is None:
            raise
        print(f"tarry {name}: {sentence}", file=sys.stderr)
        return WRONG
    except SystemExit:  # --help has been answered
        return 0


def _without_command(words: list[str]) -> int:
    if words and words[0] in ("-V", "--version"):
        from importlib.metadata import version  # noqa: PLC0415 - only here

        print(f"tarry {version('tarry')}")
        return 0
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0
    print(f"tarry: there is no command {words[0]!r}; there are {', '.join(COMMANDS)}", file=sys.stderr)
    return WRONG


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "usage: tarry COMMAND [OPTIONS]",
        "",
        "Delays that keep pseudonyms from being linked by when they act.",
        "",
        *(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()),
        "",
        "tarry COMMAND --help tells the options of a command; every command has --json.",
    ]
    return "\n".join(lines)


def _join_negatives(words: list[str]) -> list[str]:
    """`--gap -5m` as `--gap=-5m`, so that the rule about negative gaps answers and not the parser."""
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-[\d.]", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
