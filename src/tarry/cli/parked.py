"""List, retry, withdraw or export posts of a gateway that could not be delivered, one or many.

Name posts by their ids, by --space and --target, or all of them by --all. Posts that may have left already
are retried only one by one, or with --may-have-left: look first, they may appear twice.

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

from tarry.cli.main import Argument, Parser
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.outputs import unless_there
from tarry.cli.show import print_answer, print_list, printable, utc_text
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.catalog import read_catalog
from tarry.gateway.database import keys_of, opened_database
from tarry.gateway.gateway import Gateway
from tarry.gateway.upkeep import ParkedPost, change_each, exported, parked_posts, split_doubt
from tarry.keep.gate import Gate
from tarry.keep.store import Store

__all__ = ["add_arguments", "run"]

_DONE = {"retry": "put back", "withdraw": "withdrawn"}


def add_arguments(parser: Parser) -> None:
    """The subcommands of `tarry parked`."""
    which = (
        Argument("ids", metavar="ID", nargs="*", default=[], help="posts, as list shows them"),
        Argument("--space", help="those of this space"),
        Argument("--target", help="those on this target"),
        Argument("--all", action="store_true", help="all of them"),
        SETTINGS,
    )
    may_have_left = Argument(
        "--may-have-left",
        action="store_true",
        help="also those that may have left already, and may appear twice",
    )
    output = Argument(
        "-o", "--output", metavar="FILE", required=True, help="the new file, one JSON object a line"
    )
    for name, summary, *own in (
        ("list", "list parked posts, and why they are parked"),
        ("retry", "put parked posts back: they leave at the next chance, together", may_have_left),
        ("withdraw", "take parked posts back for good"),
        ("export", "write what they say to a new private file; they stay parked", output),
    ):
        parser.add_subcommand(name, summary, *own, *which)


def run(arguments: argparse.Namespace) -> None:
    """Do what the subcommand says."""
    ids = _checked_ids(arguments)
    config = config_from(arguments)
    with opened_database(config) as store:
        posts = _chosen(arguments, ids, store)
        if arguments.subcommand == "list":
            _list(arguments, posts)
        else:
            do = _export if arguments.subcommand == "export" else _change
            do(arguments, Gateway(store, keys_of(config, store)).receipts, posts)


def _checked_ids(arguments: argparse.Namespace) -> list[int]:
    """The ids; posts are named by them or by filters, never by both."""
    action, ids = arguments.subcommand, arguments.ids
    filtered = arguments.all or arguments.space is not None or arguments.target is not None
    if action != "list" and not ids and not filtered:
        raise NotPossible(f"nothing to {action}: name posts by id, or use --space, --target or --all")
    if ids and filtered:
        raise NotPossible("ids and filters are both given: use ids, or --space, --target or --all")
    for text in ids:
        if not (text.isascii() and text.isdecimal() and len(text) < 20):
            raise BadInput(f"the id of a post must be a whole number, not {text!r}")
    return [int(text) for text in ids]


def _chosen(arguments: argparse.Namespace, ids: Sequence[int], store: Store) -> list[ParkedPost]:
    with store.transaction("reading") as transaction:
        book = read_catalog(transaction)
        if not book.spaces:
            return []
        if arguments.space is not None:
            book.space(arguments.space)
        return parked_posts(transaction, ids=ids, space=arguments.space, target=arguments.target)


def _list(arguments: argparse.Namespace, posts: Sequence[ParkedPost]) -> None:
    print_list(
        arguments,
        {"parked": [post.as_json() for post in posts]},
        ["post", "space", "target", "release", "problem"],
        [
            [str(post.post), post.space, printable(post.target), utc_text(post.at), printable(post.problem)]
            for post in posts
        ],
        none="nothing is parked",
    )


def _change(arguments: argparse.Namespace, receipts: Gate, posts: Sequence[ParkedPost]) -> None:
    action, skipped = arguments.subcommand, list[ParkedPost]()
    # One that is named alone was looked at.
    if action == "retry" and not arguments.may_have_left and len(arguments.ids) != 1:
        posts, skipped = split_doubt(posts)
    change = receipts.unpark_post if action == "retry" else receipts.withdraw_post
    changed = change_each(change, posts)
    print_answer(
        arguments,
        f"{len(changed)} {_DONE[action]}",
        changed=[str(post.post) for post in changed],
        left_alone=[str(post.post) for post in skipped],
    )
    if skipped and not arguments.json:
        look = "look first, then retry each by its id, or use --may-have-left"
        print(f"tarry parked: {len(skipped)} may have left already: {look}", file=sys.stderr)


def _export(arguments: argparse.Namespace, receipts: Gate, posts: Sequence[ParkedPost]) -> None:
    path = unless_there(arguments.output, force=False)
    lines = sealed = 0
    # Born private: it holds what nobody has said yet.
    with os.fdopen(
        os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as file:
        try:
            for line in exported(receipts, posts):
                file.write(json.dumps(line) + "\n")
                lines, sealed = lines + 1, sealed + (line["options"] is None)
        except BaseException:
            with suppress(OSError):
                Path(path).unlink()
            raise
    print_answer(
        arguments, f"{lines} exported to {path}", exported=lines, without_content=sealed, file=str(path)
    )
    if sealed and not arguments.json:
        print(f"tarry parked: {sealed} cannot be decrypted: the key file is another one", file=sys.stderr)
