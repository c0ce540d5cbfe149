"""Bring a backup back into an empty database, which then stays paused.

Nothing comes in or leaves until `tarry resume`. Listed is what may already have left: posts that were to
leave between the backup and now. Look before resuming: tokens revoked and policies changed since the backup
are as they were before.

  tarry restore /backups/tarry-monday.db
"""

import argparse

from tarry.cli.overdue import tell_overdue
from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.gateway.backup import MayHaveLeft, may_have_left, restore
from tarry.gateway.database import opened_database

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry restore`."""
    parser.add_argument("file", metavar="FILE", help="what tarry backup has written")
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Bring it back."""
    with opened_database(config_from(arguments), make=True) as store:
        rows = restore(store, arguments.file)
        with store.transaction("reading") as transaction:
            overdue = may_have_left(transaction, store.clock())
    if arguments.json:
        print_json({"rows": rows, "paused": True, "may_have_left": list(map(_plain, overdue))})
        return 0
    print(f"brought {sum(rows.values())} rows back; paused until tarry resume")
    tell_overdue(overdue)
    return 0


def _plain(post: MayHaveLeft) -> dict[str, object]:
    """The key as text: many readers of JSON round numbers of this size."""
    return {"post": str(post.post), "space": post.space, "target": post.target, "due_at": post.at}
