"""What the commands share whose outlet logs in: the accounts file, and the options of a post."""

import argparse
import os
from pathlib import Path
from typing import Any

from tarry.keep.home import Home
from tarry.keep.outlets.accounts import Account, Accounts
from tarry.net.address import Address

__all__ = ["add_accounts", "named_account", "place_name", "with_accounts"]


def add_accounts(parser: argparse.ArgumentParser) -> None:
    """The option that names the accounts file."""
    told = "the accounts file (default accounts.toml beside your policy)"
    parser.add_argument("--accounts", metavar="FILE", help=told)


def with_accounts(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a post: what was given, and where the accounts are, whatever folder a keeper works in.

    >>> with_accounts(argparse.Namespace(accounts="/a.toml"), {"account": "nym", "base": None})
    {'account': 'nym', 'accounts': '/a.toml'}
    """
    accounts = str(_path(arguments)) if arguments.accounts else None
    return {name: value for name, value in {**given, "accounts": accounts}.items() if value is not None}


def named_account(arguments: argparse.Namespace) -> Account:
    """The account that a command names, as its file has it now.

    >>> named_account(argparse.Namespace(account="nym", accounts="/nowhere/a.toml"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the accounts file can be read, found no such file: /nowhere/a.toml
    """
    return Accounts(_path(arguments)).account(arguments.account)


def place_name(address: Address) -> str:
    """One name for one place, however its address was written: it is a part of what a target is.

    >>> from tarry.net.address import read_address
    >>> place_name(read_address("https://Wiki.Example.:443/w/api.php"))
    'https://wiki.example/w/api.php'
    """
    host = address.host.lower().rstrip(".")
    shown = f"[{host}]" if ":" in host else host
    port = "" if address.port == (443 if address.tls else 80) else f":{address.port}"
    return f"{'https' if address.tls else 'http'}://{shown}{port}{address.path}"


def _path(arguments: argparse.Namespace) -> Path:
    return Path(arguments.accounts).absolute() if arguments.accounts else Home.of(os.environ).accounts_path
