"""Options that several commands share: a policy by file or by flags, settings, a place's own."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all, read_text
from tarry.core.errors import BadInput
from tarry.core.plugins import Option, load
from tarry.core.policy import Policy
from tarry.core.policy_file import KEYS, chosen_policy, read_policy
from tarry.core.promise import coarse_tick

if TYPE_CHECKING:
    from tarry.gateway.config import Config

__all__ = [
    "FORCE",
    "SETTINGS",
    "add_option",
    "add_policy",
    "config_from",
    "distinct_options",
    "note_coarse_tick",
    "policy_from",
    "policy_paths",
    "read_policy_path",
    "whole_number",
]

FLAGS = ("epsilon", "gap", "window", "tick", "weight", "labels", "law", "cover", "delta")
_DEFAULTS = {
    "window": " (default: 5m, with labels simultaneous or none 0s)",
    "tick": " (default: 1s)",
    "weight": " (default: 0.5)",
    "labels": " (default: held)",
    "law": " (default: zero-inflated-uniform)",
    "cover": " (default: pair)",
}
#: Of every command of a gateway.
SETTINGS = Argument(
    "--config",
    metavar="FILE",
    help="the settings file (default: the one that TARRY_CONFIG names; docs/operating.md lists the "
    "settings)",
)
#: Of every command that writes a file of its own.
FORCE = Argument("--force", action="store_true", help="write over a file that is there")


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


def add_policy(parser: argparse.ArgumentParser, without: Sequence[str] = ()) -> None:
    """policy.toml, --policy FILE, or the choices one by one, but for those that do not matter here."""
    add_all(
        parser,
        Argument("file", metavar="policy.toml", nargs="?", help="the policy file; - reads standard input"),
        Argument("--policy", metavar="FILE", help="the same"),
        *(
            Argument(f"--{name}", metavar=name.upper(), help=KEYS[name] + _DEFAULTS.get(name, ""))
            for name in FLAGS
            if name not in without
        ),
        Argument(
            "--allow-code",
            action="store_true",
            help="let the law be module:Name, code that is not installed as a law",
        ),
    )


def policy_from(arguments: argparse.Namespace, **instead: Fraction) -> Policy:
    """The policy that the options describe; `instead` fills in what another option has chosen."""
    flags = {name: value for name in FLAGS if (value := getattr(arguments, name, None)) is not None}
    paths = policy_paths(arguments)
    if paths:
        beside = [f"--{name}" for name in flags] + ["--policy"] * (len(paths) - 1)
        if beside:
            raise BadInput(
                f"{beside[0]} is given beside a policy file, which says everything",
                "leave out one of the two",
            )
        return read_policy_path(paths[0], allow_code=arguments.allow_code)
    chosen: dict[str, Any] = {**instead, **flags}
    for name in ("epsilon", "gap"):
        if name not in chosen:
            raise BadInput(f"no {name} given", f"use --{name}, or a policy file")
    if arguments.allow_code and ":" in chosen.get("law", ""):
        chosen["law"] = load("law", chosen["law"], allow_code=True)
    return chosen_policy(chosen)


def config_from(arguments: argparse.Namespace) -> "Config":
    """The settings of a gateway that the file and the environment give."""
    from tarry.gateway.config import FORMER_PLACES, read_config  # noqa: PLC0415 - only a gateway has any

    config = read_config(os.environ, arguments.config)
    former = FORMER_PLACES["database"]
    if config.database == former and "TARRY_DATABASE" not in os.environ:
        place, key = Path(former).absolute(), Path(config.key_file).absolute()
        name = f"TARRY_DATABASE={place} and TARRY_KEY_FILE={key}"
        print(f"tarry: {place} is no default from 0.3.0 on: set {name}", file=sys.stderr)
    return config


def whole_number(text: str, flag: str, least: int, most: int) -> int:
    """The whole number that an option is given.

    >>> whole_number("8420", "--port", 0, 65535)
    8420
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise BadInput(f"{flag} must be a whole number from {least} to {most}, not {text!r}")
    return int(text)


def policy_paths(arguments: argparse.Namespace) -> list[str]:
    """The policy files on the command line: at most one is meant.

    >>> policy_paths(argparse.Namespace(file=None, policy="policy.toml"))
    ['policy.toml']
    """
    return [path for path in (arguments.file, arguments.policy) if path is not None]


def note_coarse_tick(policy: Policy) -> None:
    """Say on standard error that the tick is not small against the window; nothing where it is.

    >>> note_coarse_tick(Policy(epsilon="1", gap="11m", window="5m", tick="1s"))
    """
    if note := coarse_tick(policy):
        print(f"note: {note}", file=sys.stderr)


def read_policy_path(path: str, *, allow_code: bool = False) -> Policy:
    """The policy in a file, or on standard input for `-`."""
    return read_policy(read_text(path, "the policy file"), allow_code=allow_code)
