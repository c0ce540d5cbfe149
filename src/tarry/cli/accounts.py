"""What the commands share whose outlet logs in: where the accounts file is, and the options of a post."""

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add_accounts", "with_accounts"]


def add_accounts(parser: argparse.ArgumentParser) -> None:
    """The option that names the accounts file."""
    told = "the accounts file (default accounts.toml beside your policy)"
    parser.add_argument("--accounts", metavar="FILE", help=told)


def with_accounts(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a post: what was given, and where the accounts are, whatever folder a keeper works in.

    >>> with_accounts(argparse.Namespace(accounts="/a.toml"), {"account": "nym", "base": None})
    {'account': 'nym', 'accounts': '/a.toml'}
    """
    accounts = str(Path(arguments.accounts).absolute()) if arguments.accounts else None
    return {name: value for name, value in {**given, "accounts": accounts}.items() if value is not None}
