"""Delete old rows of a gateway: releases, counts, replaced choices, the ledger of old policies.

WHAT is one or more of these:

  feed       releases in the feeds: nobody can read them here any more
  hours      arrivals counted by the hour, which tarry status shows
  adoptions  choices of accounts, in or out of delays, that a later choice has replaced
  ledger     batched acts by account under policies that were replaced, and of spaces that have ended: tarry
             status no longer counts what they have cost

The age must be at least 7d: receipts are answered for so long. The last release of a feed and the last hour
with arrivals always stay. The rows are gone for good: make a backup first (tarry backup). To delete a space
that has ended, use tarry space remove.

  tarry prune feed hours --older-than 365d --dry-run
  tarry prune feed --space talk --older-than 365d
"""

import argparse

from tarry.cli.main import Argument, add_all
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.show import print_list
from tarry.core.exact import parse_duration
from tarry.gateway.database import opened_database
from tarry.gateway.upkeep import PRUNED, prune

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry prune`."""
    add_all(
        parser,
        Argument("what", metavar="WHAT", nargs="+", choices=PRUNED, help=", ".join(PRUNED)),
        Argument(
            "--older-than", metavar="DURATION", required=True, help="delete what is older, such as 365d"
        ),
        Argument("--space", help="feed, ledger: of this space (default: all)"),
        Argument("--dry-run", action="store_true", help="count the rows, and delete nothing"),
        SETTINGS,
    )


def run(arguments: argparse.Namespace) -> None:
    """Prune."""
    age, counts = parse_duration(arguments.older_than, "--older-than"), dict[str, int]()
    with opened_database(config_from(arguments)) as store:
        for what in dict.fromkeys(arguments.what):
            counts[what] = prune(
                store, store.clock(), what, age, space=arguments.space, dry=arguments.dry_run
            )
    header = ["what", "rows that would go" if arguments.dry_run else "rows that are gone"]
    print_list(
        arguments,
        {"rows": counts, "dry_run": arguments.dry_run},
        header,
        [[what, str(count)] for what, count in counts.items()],
    )
