"""Write all of a gateway's tables, as of one moment, to a new private SQLite file.

It works while the gateway runs, on SQLite and on PostgreSQL. The key is not in the backup: keep a copy of
the key file elsewhere. The backup holds all that the store holds, the arrivals of the last three windows
too: encrypt it, and delete it as soon as you can. Used in place of a database it starts paused.

  tarry backup /backups/tarry-monday.db
"""

import argparse
from collections.abc import Sequence

from tarry.cli.main import Argument, add_all
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.show import print_answer, print_table, printable, utc_text
from tarry.gateway.backup import MayHaveLeft, back_up, may_have_left, restore, resume
from tarry.gateway.database import keys_of, migrate, opened_database

__all__ = ["Migrate", "Restore", "Resume", "add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry backup`."""
    add_all(parser, Argument("file", metavar="FILE", help="the new file"), SETTINGS)


def run(arguments: argparse.Namespace) -> None:
    """Write a backup."""
    with opened_database(config_from(arguments)) as store:
        rows = back_up(store, arguments.file)
    print_answer(
        arguments, f"wrote {sum(rows.values())} rows to {arguments.file}", file=arguments.file, rows=rows
    )


class Restore:
    """Bring a backup back into an empty database, which then stays paused.

    Nothing comes in or leaves until `tarry resume`. The posts that were to leave between the backup and now
    are listed: they may already have left. Look before resuming: tokens revoked and policies changed since
    the backup are as they were before.

      tarry restore /backups/tarry-monday.db
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry restore`."""
        add_all(parser, Argument("file", metavar="FILE", help="a file that tarry backup wrote"), SETTINGS)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Restore it."""
        with opened_database(config_from(arguments), make=True) as store:
            rows = restore(store, arguments.file)
            with store.transaction("reading") as transaction:
                overdue = may_have_left(transaction, store.clock())
        print_answer(
            arguments,
            f"restored {sum(rows.values())} rows; paused until tarry resume",
            rows=rows,
            paused=True,
            may_have_left=[
                # The id as text: many readers of JSON round numbers of this size.
                {"post": str(post.post), "space": post.space, "target": post.target, "due_at": post.at}
                for post in overdue
            ],
        )
        if not arguments.json:
            _print_overdue(overdue)


class Resume:
    """Let a gateway work again after `tarry restore`.

    Posts that were to leave meanwhile may have left: they are parked, for an operator to retry or withdraw
    one by one. Everything else leaves at the moment that was drawn for it.

      tarry resume
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry resume`."""
        add_all(parser, SETTINGS)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Resume."""
        config = config_from(arguments)
        with opened_database(config) as store:
            keys = keys_of(config, store)
            with store.transaction("closing") as transaction:
                parked = resume(transaction, keys, store.clock())
        left = f"; {parked} posts that may have left are parked" if parked else ""
        print_answer(arguments, f"it works again{left}", paused=False, parked=parked)


class Migrate:
    """Bring a gateway's database up to date, and say which migrations it lacked.

    Every command does this when it opens the database; this one does nothing else. A database that a newer
    tarry has written is refused.

      tarry migrate
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry migrate`."""
        add_all(parser, SETTINGS)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Apply what is missing."""
        new, now = migrate(config_from(arguments).database)
        print_answer(
            arguments,
            f"applied {', '.join(map(str, new))}" if new else "up to date: nothing to apply",
            applied=new,
            known=now,
        )


def _print_overdue(posts: Sequence[MayHaveLeft]) -> None:
    """The posts that were to leave while the store was away."""
    if not posts:
        print("nothing was to leave meanwhile")
        return
    print("these may have left already; tarry resume parks them for you to retry or withdraw one by one:")
    print_table(
        ["post", "space", "target", "was to leave"],
        [[str(each.post), each.space, printable(each.target), utc_text(each.at)] for each in posts],
    )
