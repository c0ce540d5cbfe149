"""Make, list and revoke the tokens of a gateway.

A token is shown once, when it is made: only its hash is kept. Scopes: submit hands posts in, operate looks
after what is parked, withdraws and pauses, spaces (beside operate) makes and changes spaces with a feed on
the desk, admin does everything.

  tarry token add forum --scope submit --space talk
  TOKEN=$(tarry token add forum --scope submit --space talk --bare)
  tarry token revoke 0123456789ab
"""

import argparse

from tarry.cli.main import Argument, Parser
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.show import print_answer, print_list
from tarry.gateway.catalog import SCOPES, add_token, read_catalog, revoke_token
from tarry.gateway.database import opened_database
from tarry.keep.store import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: Parser) -> None:
    """The subcommands of `tarry token`."""
    parser.add_subcommand(
        "add",
        "make a token, and show it this once",
        Argument("name", metavar="NAME", help="who will have it"),
        Argument(
            "--scope",
            action="append",
            required=True,
            choices=SCOPES,
            help=f"what it allows: {', '.join(SCOPES)}; may be given again",
        ),
        Argument(
            "--space",
            action="append",
            default=[],
            help="where it is good (default: everywhere); may be given again",
        ),
        Argument("--bare", action="store_true", help="print the token and nothing else, for a script"),
        SETTINGS,
    )
    parser.add_subcommand("list", "list the tokens, without what is secret", SETTINGS)
    parser.add_subcommand(
        "revoke",
        "make a token useless, everywhere within two seconds",
        Argument("id", metavar="ID", help="its id, as list shows it"),
        SETTINGS,
    )


def run(arguments: argparse.Namespace) -> None:
    """Do what the subcommand says."""
    with opened_database(config_from(arguments)) as store:
        {"add": _add, "list": _list, "revoke": _revoke}[arguments.subcommand](arguments, store)


def _add(arguments: argparse.Namespace, store: Store) -> None:
    with store.transaction("closing") as transaction:
        number, token = add_token(
            transaction, read_catalog(transaction), arguments.name, arguments.scope, arguments.space
        )
    if arguments.bare:
        print(token)
        return
    print_answer(
        arguments,
        f"id     {number}\ntoken  {token}\nkeep it: it cannot be shown again",
        id=number,
        name=arguments.name,
        token=token,
    )


def _list(arguments: argparse.Namespace, store: Store) -> None:
    with store.transaction("reading") as transaction:
        tokens = sorted(read_catalog(transaction).tokens.values(), key=lambda token: token.id)
    summaries = [
        {"id": each.id, "name": each.name, "scopes": sorted(each.scopes), "spaces": sorted(each.spaces)}
        for each in tokens
    ]
    rows = [
        [each.id, each.name, " ".join(sorted(each.scopes)), " ".join(sorted(each.spaces)) or "all"]
        for each in tokens
    ]
    print_list(
        arguments, {"tokens": summaries}, ["id", "name", "scopes", "spaces"], rows, none="there is no token"
    )


def _revoke(arguments: argparse.Namespace, store: Store) -> None:
    with store.transaction("closing") as transaction:
        revoke_token(transaction, arguments.id)
    print_answer(
        arguments,
        f"{arguments.id} is revoked; every server knows within two seconds",
        id=arguments.id,
        revoked=True,
    )
