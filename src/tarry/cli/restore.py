"""Bring a backup back into an empty database, which then stays paused.

Nothing comes in or leaves until `tarry resume`. The posts that were to leave between the backup and now
are listed: they may already have left. Look before resuming: tokens revoked and policies changed since the
backup are as they were before.

  tarry restore /backups/tarry-monday.db
"""

import argparse
from collections.abc import Sequence

from tarry.cli.settings import add_settings, config_from, utc_text
from tarry.cli.show import print_json, print_table, printable
from tarry.gateway.backup import MayHaveLeft, may_have_left, restore
from tarry.gateway.database import opened_database

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry restore`."""
    parser.add_argument("file", metavar="FILE", help="a file that tarry backup wrote")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Restore it."""
    with opened_database(config_from(arguments), make=True) as store:
        rows = restore(store, arguments.file)
        with store.transaction("reading") as transaction:
            overdue = may_have_left(transaction, store.clock())
    if arguments.json:
        print_json({"rows": rows, "paused": True, "may_have_left": list(map(_json, overdue))})
        return 0
    print(f"restored {sum(rows.values())} rows; paused until tarry resume")
    _print_overdue(overdue)
    return 0


def _print_overdue(posts: Sequence[MayHaveLeft]) -> None:
    """The posts that were to leave while the store was away."""
    if not posts:
        print("nothing was to leave meanwhile")
        return
    print("these may have left already; tarry resume parks them for you to retry or withdraw one by one:")
    rows = [[str(each.post), each.space, printable(each.target), utc_text(each.at)] for each in posts]
    print_table(["post", "space", "target", "was to leave"], rows)


def _json(post: MayHaveLeft) -> dict[str, object]:
    """The id as text: many readers of JSON round numbers of this size."""
    return {"post": str(post.post), "space": post.space, "target": post.target, "due_at": post.at}
