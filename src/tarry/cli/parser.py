"""How a command line is read: its options, its subcommands, and one sentence for what cannot be read."""

import argparse
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

__all__ = ["Parser", "UsageError", "did_you_mean"]


class UsageError(Exception):
    """The command line cannot be read; the text is the one sentence to print.

    >>> raise UsageError("there is no command 'verfy': did you mean verify?")
    Traceback (most recent call last):
    tarry.cli.parser.UsageError: there is no command 'verfy': did you mean verify?
    """


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage block before it; may have subcommands.

    >>> parser = Parser(prog="tarry space")
    >>> parser.add_subcommand("add", "make a space").add_argument("name").dest
    'name'
    >>> parser.read(["add", "talk"]).name
    'talk'
    >>> parser.read(["ad", "talk"])
    Traceback (most recent call last):
    tarry.cli.parser.UsageError: there is no subcommand 'ad': did you mean add?
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self.subcommands: dict[str, Parser] = {}
        self._default: Parser | None = None
        self._menu: argparse._SubParsersAction[Parser] | None = None

    def add_subcommand(self, name: str, summary: str, *, is_default: bool = False) -> "Parser":
        """The parser of a subcommand; the default one needs not be named."""
        if self._menu is None:
            self._menu = self.add_subparsers(title="subcommands", metavar="SUBCOMMAND")
        about = summary[0].upper() + summary[1:] + "."
        child = self._menu.add_parser(name, help=summary, description=about)
        child.set_defaults(subcommand=name)
        self.subcommands[name] = child
        if is_default:
            self._default = child
        return child

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments that the words of a command line give."""
        if self.subcommands and not {"-h", "--help"}.intersection(words[:1]):
            child, rest = self._choose(list(words))
            return child.read(rest)
        if any(action.nargs in {argparse.REMAINDER, argparse.PARSER} for action in self._actions):
            return self.parse_args(words)  # they belong to another program, and are left as they are
        return self.parse_intermixed_args(_join_negatives(words))

    def _choose(self, words: list[str]) -> tuple["Parser", list[str]]:
        """The subcommand that is meant, and the other words; options may stand before it."""
        for index, word in enumerate(words):
            if word in self.subcommands:
                return self.subcommands[word], words[:index] + words[index + 1 :]
            if not word.startswith("-") and (index == 0 or words[index - 1] != "--config"):
                break
        if self._default is not None and (not words or words[0].startswith("-")):
            return self._default, words
        typed = next((word for word in words if not word.startswith("-")), None)
        if typed is None:
            raise UsageError(f"no subcommand given: use {', '.join(self.subcommands)}")
        hint = did_you_mean(typed, self.subcommands) or f"use {', '.join(self.subcommands)}"
        raise UsageError(f"there is no subcommand {typed!r}: {hint}")

    def error(self, message: str) -> NoReturn:
        """Raise the sentence instead of leaving the process."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """The nearest word that is known, as a question; empty if none is near.

    >>> did_you_mean("verfy", ["plan", "verify"]), did_you_mean("x", ["plan"])
    ('did you mean verify?', '')
    """
    near = get_close_matches(typed, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _join_negatives(words: Sequence[str]) -> list[str]:
    """`--gap -5m` as `--gap=-5m`, so that the rule about negative gaps answers and not the parser."""
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-[\d.]", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
