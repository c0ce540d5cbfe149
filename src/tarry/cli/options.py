"""Options that several commands share: a policy by file or by flags, and --json."""

import argparse
import contextlib
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO

from tarry.core.errors import BadInput
from tarry.core.plugins import Option
from tarry.core.policy import Policy
from tarry.core.policy_file import KEYS, read_policy
from tarry.core.promise import coarse_tick

__all__ = [
    "add_json",
    "add_option",
    "add_policy_flags",
    "add_policy_path",
    "distinct_options",
    "note_coarse_tick",
    "policy_from",
    "read_policy_path",
]

FLAGS = ("epsilon", "gap", "window", "tick", "weight", "labels", "law", "cover", "delta")
_DEFAULTS = {
    "window": "5m, with labels simultaneous or none 0s",
    "tick": "1s",
    "weight": "0.5",
    "labels": "held",
    "law": "zero-inflated-uniform",
    "cover": "pair",
}
_LARGEST_FILE = 1 << 20


def add_option(parser: argparse.ArgumentParser, option: Option, about: str = "") -> None:
    """An option that a descriptor asks for. One that the command has already stays the command's.

    >>> parser = argparse.ArgumentParser()
    >>> add_option(parser, Option(flag="page", metavar="TITLE", help="a page", repeated=True))
    >>> parser.parse_args(["--page", "Owls"]).page
    ['Owls']
    """
    how: dict[str, Any] = {"metavar": option.metavar}
    if option.rule == "switch":
        how = {"action": "store_const", "const": True}
    elif option.repeated:
        how["action"] = "append"
    with contextlib.suppress(argparse.ArgumentError):
        parser.add_argument(f"--{option.flag}", help=about + option.help, **how)


def distinct_options(options: Iterable[Option]) -> list[Option]:
    """Each flag once, as it was first described: several descriptors may share an option.

    >>> first, again = (Option(flag="login", help=text) for text in ("a file", "the same file"))
    >>> distinct_options([first, again]) == [first]
    True
    """
    distinct: dict[str, Option] = {}
    for option in options:
        distinct.setdefault(option.flag, option)
    return list(distinct.values())


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def add_policy_path(parser: argparse.ArgumentParser) -> None:
    """The positional policy.toml, or flags in its place."""
    told = "the policy file; - reads standard input"
    parser.add_argument("file", metavar="policy.toml", nargs="?", help=told)
    add_policy_flags(parser)


def add_policy_flags(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    """--policy FILE, or the choices one by one, without those that do not matter to the command."""
    parser.add_argument("--policy", metavar="FILE", help="read everything from a policy file")
    for name in FLAGS:
        if name not in without:
            told = f" (default {_DEFAULTS[name]})" if name in _DEFAULTS else ""
            parser.add_argument(f"--{name}", metavar=name.upper(), help=KEYS[name] + told)


def policy_from(arguments: argparse.Namespace, **instead: Fraction) -> Policy:
    """The policy that the options describe; `instead` fills in what another option has found."""
    found = {name: getattr(arguments, name, None) for name in FLAGS}
    given = {name: value for name, value in found.items() if value is not None}
    paths = [path for path in (getattr(arguments, "file", None), arguments.policy) if path is not None]
    if paths:
        beside = [f"--{name}" for name in given] + ["--policy"] * (len(paths) - 1)
        if beside:
            raise BadInput(
                "a policy file",
                "stands alone: it says everything",
                found=f"{beside[0]} beside it",
                fix="drop one of the two",
            )
        return read_policy_path(paths[0])
    chosen: dict[str, Any] = {**instead, **given}
    for name in ("epsilon", "gap"):
        if name not in chosen:
            raise BadInput(f"--{name}", "is needed", found="none", fix=f"give --{name}, or --policy FILE")
    if chosen.get("law") == "label-free":
        chosen.setdefault("labels", "none")
    return Policy(**chosen)


def note_coarse_tick(policy: Policy) -> None:
    """Say on standard error that the tick is not small against the window; nothing where it is.

    >>> note_coarse_tick(Policy(epsilon="1", gap="11m", window="5m", tick="1s"))
    """
    if note := coarse_tick(policy):
        print(f"note: {note}", file=sys.stderr)


def read_policy_path(path: str) -> Policy:
    """The policy in a file, or on standard input for `-`."""
    try:
        text = _read(sys.stdin) if path == "-" else _open(Path(path))
    except OSError as error:
        found = f"{path!r}: {error.strerror}"
        raise BadInput("the policy file", "must be a file one can read", found=found) from None
    except UnicodeDecodeError:
        raise BadInput("the policy file", "is UTF-8 text", found=repr(path)) from None
    return read_policy(text)


def _open(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return _read(file)


def _read(file: TextIO) -> str:
    text = file.read(_LARGEST_FILE + 1)
    if len(text) > _LARGEST_FILE:
        raise BadInput("the policy file", "is at most 1 MiB", found="more", fix="keep comments short")
    return text
