"""Make, list and revoke the tokens of a gateway.

A token is shown once, when it is made: only its hash is kept. Scopes: submit hands posts in, operate looks
after what is parked, withdraws and pauses, admin does everything. Without --space it is good everywhere.

  tarry token add forum --scope submit --space talk
  tarry token revoke 0123456789ab
"""

import argparse

from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json, print_table
from tarry.core.errors import BadInput
from tarry.gateway.catalog import SCOPES, add_token, read_catalog, revoke_token
from tarry.gateway.database import opened_database
from tarry.keep.store import Store

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry token`."""
    parser.add_argument(
        "action", metavar="ACTION", choices=["add", "list", "revoke"], help="add, list, revoke"
    )
    parser.add_argument("name", nargs="?", help="add: who will have it; revoke: its id")
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        help=f"add: what it allows ({', '.join(SCOPES)}); repeatable",
    )
    parser.add_argument(
        "--space", action="append", help="add: where it is good; repeatable (default everywhere)"
    )
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    action, name = arguments.action, arguments.name
    if (name is None) != (action == "list"):
        rule = "is called without a name" if action == "list" else "names the token"
        raise BadInput(f"tarry token {action}", rule, found="none" if name is None else repr(name))
    if action != "add" and (arguments.scope or arguments.space):
        raise BadInput("--scope and --space", "belong to tarry token add", found=f"tarry token {action}")
    with opened_database(config_from(arguments)) as store:
        {"add": _add, "list": _list, "revoke": _revoke}[action](arguments, store)
    return 0


def _add(arguments: argparse.Namespace, store: Store) -> None:
    if not arguments.scope:
        raise BadInput("a new token", "has a scope", found="none", fix=f"give --scope {'|'.join(SCOPES)}")
    with store.transaction("closing") as transaction:
        book = read_catalog(transaction)
        number, token = add_token(transaction, book, arguments.name, arguments.scope, arguments.space or ())
    if arguments.json:
        print_json({"id": number, "name": arguments.name, "token": token})
    else:
        print(f"id     {number}\ntoken  {token}\nkeep it: it cannot be shown again")


def _list(arguments: argparse.Namespace, store: Store) -> None:
    with store.transaction("reading") as transaction:
        tokens = sorted(read_catalog(transaction).tokens.values(), key=lambda token: token.id)
    plain = [
        {"id": each.id, "name": each.name, "scopes": sorted(each.scopes), "spaces": sorted(each.spaces)}
        for each in tokens
    ]
    if arguments.json:
        print_json({"tokens": plain})
    elif not tokens:
        print("there is no token")
    else:
        rows = [
            [each.id, each.name, " ".join(sorted(each.scopes)), " ".join(sorted(each.spaces)) or "all"]
            for each in tokens
        ]
        print_table(["id", "name", "scopes", "spaces"], rows)


def _revoke(arguments: argparse.Namespace, store: Store) -> None:
    with store.transaction("closing") as transaction:
        revoke_token(transaction, arguments.name)
    if arguments.json:
        print_json({"id": arguments.name, "revoked": True})
    else:
        print(f"{arguments.name} is revoked; every server knows within two seconds")
