"""Look after a store: `encrypt` what waits in it.

A store that was begun without the package cryptography holds what waits as it is: `tarry status` and
`tarry queue` say so. `encrypt` changes that, wholly or not at all. Afterwards start the programs again
that use the store. Without --own it is the store of a gateway.

  tarry store encrypt
  tarry store encrypt --own
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tarry.cli.own import see_to_keeper
from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.core.errors import NotPossible
from tarry.gateway.opening import keys_of, opened
from tarry.keep.home import Home
from tarry.keep.keys import Keys
from tarry.keep.sealing import encrypt_store
from tarry.keep.sqlite import SqliteStore
from tarry.keep.store import Store

__all__ = ["add_arguments", "run"]

_TRACES = {
    True: "other programs use the store, so what was written before may still lie in its file: end them, "
    "and run this again",
    False: "what was written before still lies in dead rows and in the server's log of changes: run VACUUM "
    "FULL posts, and delete archived logs and old backups",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry store`."""
    parser.add_argument("action", metavar="ACTION", choices=["encrypt"], help="encrypt")
    parser.add_argument("--own", action="store_true", help="your own store, and not a gateway's")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    with _store_of(arguments) as (store, keys):
        posts = encrypt_store(store, keys)
        clear = store.clear_traces(last=True)
    done = "it was encrypted before" if posts is None else f"encrypted: {posts} posts wait in it"
    if arguments.json:
        print_json({"encrypted": True, "posts": posts, "traces_cleared": clear})
    else:
        print(done)
    if not clear or not isinstance(store, SqliteStore):
        print(f"tarry store: {_TRACES[isinstance(store, SqliteStore)]}", file=sys.stderr)
    return 0


@contextmanager
def _store_of(arguments: argparse.Namespace) -> Iterator[tuple[Store, Keys]]:
    if arguments.own:
        with _own_store() as own:
            yield own
        return
    config = config_from(arguments)
    with opened(config) as store:
        yield store, keys_of(config, store)


@contextmanager
def _own_store() -> Iterator[tuple[Store, Keys]]:
    home = Home.of(os.environ)
    with home.keeping() as alone:
        if not alone:
            raise NotPossible("a keeper runs: end it first (tarry keeper --stop)")
        vault = home.gate().vault
        yield vault.store, vault.keys
        vault.store.close()
    see_to_keeper(home)
