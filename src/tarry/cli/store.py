"""Look after a store: `encrypt` what waits in it, give it another key (`rekey`), `forget` an account.

A store that was begun without the package cryptography holds what waits as it is: `tarry status` and
`tarry queue` say so. `encrypt` changes that, and `rekey` gives it a new key: wholly or not at all.
Afterwards start the programs again that use the store. `forget` erases what the ledger of a gateway
counts for an account, and its choice about delays. Without --own it is the store of a gateway.

  tarry store encrypt --own
  tarry store rekey --forget-accounts
  tarry store forget account-17 --space talk
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tarry.cli.own import see_to_keeper
from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.keyfile import make_key, read_key, swap_key
from tarry.gateway.opening import opened
from tarry.gateway.spaces import forget_account
from tarry.keep.home import ME, Home
from tarry.keep.keys import Keys
from tarry.keep.sealing import change_key, encrypt_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store
from tarry.keep.vault import check_key

__all__ = ["add_arguments", "run"]

_IN_FILE = (
    "other programs use the store, so what was written before may still lie in its file: end them, and run "
    "this again"
)
_AT_SERVER = (
    "what was written before still lies in dead rows and in the server's log of changes: run VACUUM FULL, "
    "and delete archived logs and old backups"
)
_OPTIONS = {"encrypt": ("own",), "rekey": ("own", "forget_accounts"), "forget": ("space", "at_once")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry store`."""
    parser.add_argument("action", metavar="ACTION", choices=list(_OPTIONS), help=", ".join(_OPTIONS))
    parser.add_argument("account", metavar="ACCOUNT", nargs="?", help="forget: the actor, as posts name it")
    parser.add_argument("--own", action="store_true", help="encrypt, rekey: your own store")
    text = "rekey: erase the ledger and the choices of all accounts, whose hashes belong to the old key"
    parser.add_argument("--forget-accounts", action="store_true", help=text)
    text = "forget: a space that the account posts in; it is forgotten in all spaces of the same circle"
    parser.add_argument("--space", metavar="NAME", help=text)
    text = "forget: also a choice about delays that holds, though the change can be seen"
    parser.add_argument("--at-once", action="store_true", help=text)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    _check_words(arguments)
    with _opened(arguments) as (store, key):
        done, sentence = _ACTIONS[arguments.action](arguments, store, key)
        is_clear = store.clear_traces(last=True)
    if arguments.json:
        print_json(done)
    else:
        print(sentence)
    if not isinstance(store, SqliteStore):
        print(f"tarry store: {_AT_SERVER}", file=sys.stderr)
    elif not is_clear:
        print(f"tarry store: {_IN_FILE}", file=sys.stderr)
    return 0


def _check_words(arguments: argparse.Namespace) -> None:
    action = arguments.action
    if action == "forget" and (arguments.account is None or arguments.space is None):
        given = arguments.account or arguments.space
        raise BadInput(
            "tarry store forget",
            "must name an account and a space",
            found=repr(given) if given else "neither",
            fix="for example tarry store forget account-17 --space talk",
        )
    if action != "forget" and arguments.account is not None:
        raise BadInput(f"tarry store {action}", "takes no account", found=repr(arguments.account))
    for option in ("own", "forget_accounts", "space", "at_once"):
        if option not in _OPTIONS[action] and getattr(arguments, option) not in (None, False):
            flag = "--" + option.replace("_", "-")
            raise BadInput(f"tarry store {action}", "has no such option", found=flag, fix="leave it out")


def _encrypt(_: argparse.Namespace, store: Store, key: Path) -> tuple[dict[str, object], str]:
    posts = encrypt_store(store, read_key(key))
    sentence = "it was encrypted before" if posts is None else f"encrypted: {posts} posts wait in it"
    return {"encrypted": True, "posts": posts}, sentence


def _rekey(arguments: argparse.Namespace, store: Store, key: Path) -> tuple[dict[str, object], str]:
    """The new key is on the disk before anything is sealed with it: who was killed goes on from there."""
    new, old = key.with_name(f"{key.name}.new"), key.with_name(f"{key.name}.old")
    if not (new.exists() and _is_key_of(store, read_key(new))):
        if old.exists():
            raise NotPossible(f"{str(old)!r} is there, an earlier key: move it away, or delete it")
        keys, owner = make_key(new), ME if arguments.own else None
        try:
            forget = arguments.forget_accounts
            change_key(store, store.clock(), read_key(key), keys, owner=owner, forget=forget)
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
    named = {"actor": arguments.account, "at_once": arguments.at_once}
    with store.transaction("closing") as transaction:
        is_all = forget_account(transaction, keys, arguments.space, **named)
    again = (
        ""
        if is_all
        else "; what it did in the last three windows is still to be counted: run this again after that"
    )
    return {"forgotten": True, "complete": is_all}, f"forgotten{again}"


_ACTIONS = {"encrypt": _encrypt, "rekey": _rekey, "forget": _forget}


@contextmanager
def _opened(arguments: argparse.Namespace) -> Iterator[tuple[Store, Path]]:
    """The store and its key file."""
    if not arguments.own:
        config = config_from(arguments)
        with opened(config) as store:
            yield store, Path(config.key_file)
        return
    home = Home.of(os.environ)
    if not home.is_founded():
        raise NotPossible(f"nothing was ever handed in here: {home.state} has no store")
    with home.keeping() as alone:
        if not alone:
            raise NotPossible("a keeper runs: end it first (tarry keeper --stop)")
        own = SqliteStore(home.store_path)
        try:
            yield own, home.key_path
        finally:
            own.close()
    see_to_keeper(home)
