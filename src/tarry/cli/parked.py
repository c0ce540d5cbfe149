"""What is parked at a gateway: list it, retry it, withdraw it, or export it, one post or many.

A parked post could not be delivered, and waits for a person. Name posts by their ids, by --space and
--target, or all of them by --all.

`retry` puts them back: their releases are past, so they leave at the next chance, together. Those that may
have left already go back only one by one, or with --may-have-left: look first, they may appear twice.
`withdraw` takes them back for good. `export` writes what they say to a new private file, one JSON object a
line; they stay parked.

  tarry parked list --space talk
  tarry parked retry --space talk
  tarry parked export --all -o parked.jsonl
  tarry parked withdraw 1234567890123456789
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tarry.cli.frames import unless_there
from tarry.cli.settings import add_settings, config_from, told_at
from tarry.cli.show import print_json, print_table, printable
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.book import read_book
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.opening import keys_of, opened
from tarry.gateway.parked import ParkedPost, change_each, exported, parked_posts, split_doubt
from tarry.keep.gate import Gate
from tarry.keep.store import Store

__all__ = ["add_arguments", "run"]

_ACTIONS = ("list", "retry", "withdraw", "export")
_DONE = {"retry": "put back", "withdraw": "withdrawn"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry parked`."""
    parser.add_argument("action", metavar="ACTION", choices=_ACTIONS, help=", ".join(_ACTIONS))
    parser.add_argument("ids", metavar="ID", nargs="*", default=[], help="posts, as list shows them")
    parser.add_argument("--space", help="those of this space")
    parser.add_argument("--target", help="those on this target")
    parser.add_argument("--all", action="store_true", help="all of them")
    told = "retry: also those that may have left already, and may appear twice"
    parser.add_argument("--may-have-left", action="store_true", help=told)
    parser.add_argument("-o", "--output", metavar="FILE", help="export: the new file")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    ids = _check(arguments)
    config = config_from(arguments)
    with opened(config) as store:
        posts = _chosen(arguments, ids, store)
        if arguments.action == "list":
            _list(arguments, posts)
        elif arguments.action == "export":
            _export(arguments, _receipts(config, store), posts)
        else:
            _change(arguments, _receipts(config, store), posts)
    return 0


def _check(arguments: argparse.Namespace) -> list[int]:
    """The ids; refuse what is not meant to be together."""
    action, ids = arguments.action, arguments.ids
    filters = [arguments.space, arguments.target, arguments.all or None]
    if action != "list" and not ids and filters == [None] * 3:
        raise NotPossible(f"nothing to {action}: name posts by id, or give --space, --target or --all")
    if ids and filters != [None] * 3:
        raise NotPossible("give ids, or --space, --target or --all, not both")
    if arguments.may_have_left and action != "retry":
        raise NotPossible("--may-have-left belongs to tarry parked retry")
    if (arguments.output is None) == (action == "export"):
        fix = "give -o FILE" if action == "export" else "leave -o out"
        raise NotPossible(f"tarry parked export, and nothing else, writes a file: {fix}")
    for text in ids:
        if not (text.isascii() and text.isdecimal() and len(text) < 20):
            raise BadInput("the id of a post", "must be a whole number", found=repr(text))
    return [int(text) for text in ids]


def _chosen(arguments: argparse.Namespace, ids: Sequence[int], store: Store) -> list[ParkedPost]:
    with store.transaction("reading") as transaction:
        book = read_book(transaction)
        if not book.spaces:
            return []
        if arguments.space is not None:
            book.space(arguments.space)
        return parked_posts(transaction, ids=ids, space=arguments.space, target=arguments.target)


def _receipts(config: Config, store: Store) -> Gate:
    return Gateway(store, keys_of(config, store)).receipts


def _list(arguments: argparse.Namespace, posts: Sequence[ParkedPost]) -> None:
    if arguments.json:
        print_json({"parked": [post.plain() for post in posts]})
    elif not posts:
        print("nothing is parked")
    else:
        rows = [
            [str(post.post), post.space, printable(post.target), told_at(post.at), printable(post.problem)]
            for post in posts
        ]
        print_table(["post", "space", "target", "release", "problem"], rows)


def _change(arguments: argparse.Namespace, receipts: Gate, posts: Sequence[ParkedPost]) -> None:
    action, skipped = arguments.action, list[ParkedPost]()
    # One that is named alone was looked at.
    if action == "retry" and not arguments.may_have_left and len(arguments.ids) != 1:
        posts, skipped = split_doubt(posts)
    change = receipts.unpark_post if action == "retry" else receipts.withdraw_post
    changed = change_each(change, posts)
    if arguments.json:
        left_alone = [str(post.post) for post in skipped]
        print_json({"changed": [str(post.post) for post in changed], "left_alone": left_alone})
        return
    print(f"{len(changed)} {_DONE[action]}")
    if skipped:
        look = "look, then retry each by its id, or give --may-have-left"
        print(f"tarry parked: {len(skipped)} may have left already: {look}", file=sys.stderr)


def _export(arguments: argparse.Namespace, receipts: Gate, posts: Sequence[ParkedPost]) -> None:
    path = unless_there(arguments.output, force=False)
    lines = shut = 0
    # Born private: it holds what nobody has said yet.
    with os.fdopen(
        os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as file:
        try:
            for line in exported(receipts, posts):
                file.write(json.dumps(line) + "\n")
                lines, shut = lines + 1, shut + (line["options"] is None)
        except BaseException:
            with suppress(OSError):
                Path(path).unlink()
            raise
    if arguments.json:
        print_json({"exported": lines, "without_content": shut, "file": str(path)})
        return
    print(f"{lines} exported to {path}")
    if shut:
        print(f"tarry parked: {shut} cannot be opened: the key is another one", file=sys.stderr)
