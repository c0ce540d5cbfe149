"""Encrypt a store, give it a new key, or forget an account. Without --own it is the store of a gateway.

A store that was begun without the package cryptography holds what waits unencrypted: `tarry status` and
`tarry queue` say so. `encrypt` and `rekey` change the whole store or nothing; restart the programs that use
it afterwards. `forget` erases what the ledger of a gateway counts for an account, and its choice about
delays.

  tarry store encrypt --own
  tarry store rekey --forget-accounts
  tarry store forget account-17 --space talk
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tarry.cli.main import Argument, Parser
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.personal_store import see_to_keeper
from tarry.cli.show import print_answer
from tarry.core.errors import NotPossible
from tarry.gateway.database import make_key, opened_database, read_key, swap_key
from tarry.gateway.space_changes import forget_account
from tarry.keep.changes import change_key, encrypt_store
from tarry.keep.home import ME, Home
from tarry.keep.keys import Keys
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store, check_key

__all__ = ["add_arguments", "run"]

_IN_FILE = (
    "other programs use the store, so old data may still lie in its file: end them, and run this again"
)
_AT_SERVER = (
    "old data still lies in dead rows and in the server's log of changes: run VACUUM FULL, and delete "
    "archived logs and old backups"
)


def add_arguments(parser: Parser) -> None:
    """The subcommands of `tarry store`."""
    own = Argument("--own", action="store_true", help="your own store, not a gateway's")
    parser.add_subcommand("encrypt", "encrypt what waits in a store", own, SETTINGS)
    parser.add_subcommand(
        "rekey",
        "give a store a new key",
        own,
        Argument(
            "--forget-accounts",
            action="store_true",
            help="erase the ledger and the choices of all accounts, whose hashes belong to the old key",
        ),
        SETTINGS,
    )
    forget = parser.add_subcommand(
        "forget",
        "erase what a gateway has counted for an account",
        Argument("account", metavar="ACCOUNT", help="the actor, as posts name it"),
        Argument(
            "--space",
            metavar="NAME",
            required=True,
            help="a space that the account posts in; it is forgotten in all spaces of the same circle",
        ),
        Argument(
            "--at-once",
            action="store_true",
            help="also forget a choice about delays that holds, though others can see the change",
        ),
        SETTINGS,
    )
    forget.set_defaults(own=False)


def run(arguments: argparse.Namespace) -> None:
    """Do what the subcommand says."""
    with _opened(arguments) as (store, key):
        answer, sentence = _SUBCOMMANDS[arguments.subcommand](arguments, store, key)
        is_clear = store.clear_traces(last=True)
    print_answer(arguments, sentence, **answer)
    if not isinstance(store, SqliteStore):
        print(f"tarry store: {_AT_SERVER}", file=sys.stderr)
    elif not is_clear:
        print(f"tarry store: {_IN_FILE}", file=sys.stderr)


def _encrypt(_: argparse.Namespace, store: Store, key: Path) -> tuple[dict[str, object], str]:
    posts = encrypt_store(store, read_key(key))
    sentence = "it was already encrypted" if posts is None else f"encrypted: {posts} posts wait in it"
    return {"encrypted": True, "posts": posts}, sentence


def _rekey(arguments: argparse.Namespace, store: Store, key: Path) -> tuple[dict[str, object], str]:
    """The new key is on the disk before anything is sealed with it: a killed run can be run again."""
    new, old = key.with_name(f"{key.name}.new"), key.with_name(f"{key.name}.old")
    if not (new.exists() and _is_key_of(store, read_key(new))):
        if old.exists():
            raise NotPossible(f"{str(old)!r} already exists, an earlier key: move it away, or delete it")
        keys, owner = make_key(new), ME if arguments.own else None
        try:
            change_key(
                store, store.clock(), read_key(key), keys, owner=owner, forget=arguments.forget_accounts
            )
        except BaseException:
            if not _is_key_of(store, keys):
                new.unlink()
            raise
    swap_key(key, new, old)
    sentence = f"{str(key)!r} is a new key; backups made before need {str(old)!r}: delete it with them"
    return {"key_file": str(key), "old_key_file": str(old)}, sentence


def _is_key_of(store: Store, keys: Keys) -> bool:
    with store.transaction("reading") as transaction:
        row = transaction.one("fingerprint")
    return (
        row is not None and row["fingerprint"] is not None and bytes(row["fingerprint"]) == keys.fingerprint
    )


def _forget(arguments: argparse.Namespace, store: Store, key: Path) -> tuple[dict[str, object], str]:
    keys = read_key(key)
    check_key(store, keys)
    with store.transaction("closing") as transaction:
        is_all = forget_account(
            transaction, keys, arguments.space, actor=arguments.account, at_once=arguments.at_once
        )
    again = "; acts of the last three windows are not counted yet: run this again after that"
    return {"forgotten": True, "complete": is_all}, "forgotten" if is_all else f"forgotten{again}"


_SUBCOMMANDS = {"encrypt": _encrypt, "rekey": _rekey, "forget": _forget}


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[tuple[Store, Path]]:
    """The store and its key file."""
    if not arguments.own:
        config = config_from(arguments)
        with opened_database(config) as store:
            yield store, Path(config.key_file)
        return
    home = Home.of(os.environ)
    if not home.is_founded():
        raise NotPossible(f"there is no store in {home.state}: the first tarry run makes one")
    with home.keeping() as alone:
        if not alone:
            raise NotPossible("a keeper is running: stop it first (tarry keeper stop)")
        with closing(SqliteStore(home.store_path)) as own:
            yield own, home.key_path
    see_to_keeper(home)
