"""How a gateway stands: its clock, what is late, what is parked, what is to come.

Nothing told here changes when somebody posts: admissions are counted by the hour and told after it, what
waits is told as it stood when the last hour ended. Of the ledger it tells how many accounts have spent more
than 3 nats, over all policy versions, and never which.

  tarry status
"""

import argparse

from tarry.cli.settings import add_settings, config_from, told_at
from tarry.cli.show import print_json, print_table, rounded
from tarry.gateway.database import opened_database
from tarry.gateway.monitoring import GatewayStatus, read_status

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry status`."""
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tell how it stands."""
    with opened_database(config_from(arguments)) as store, store.transaction("reading") as transaction:
        found = read_status(transaction, store.clock())
    if arguments.json:
        print_json(_plain(found))
    else:
        _print(found)
    return 0


def _print(found: GatewayStatus) -> None:
    if found.paused:
        print("paused since it was brought back from a backup: tarry resume lets it work again")
    print(f"clock     {told_at(found.now)}")
    behind = f", {rounded(found.lag)} behind" if found.lag else ""
    print(f"closed    {told_at(found.closed_at)}{behind}")
    told = "encrypted" if found.encrypted else "NOT ENCRYPTED: tarry store encrypt puts that right"
    print(f"contents  {told}")
    if found.late:
        print(f"late      the first post that is due has waited {rounded(found.late)}")
    for space, posts in sorted(found.parked.items()):
        print(f"parked    {posts} in {space}")
    print(f"accounts  {found.accounts} with batched acts, {found.spent} of them above 3 nats")
    if found.hours:
        print()
        print_table(
            ["hour of admission", "posts"], [[told_at(h.at), str(h.admissions)] for h in found.hours]
        )
    if found.ahead:
        print()
        rows = [
            [each.space, "not known yet" if each.at is None else told_at(each.at), str(each.posts)]
            for each in found.ahead
        ]
        print_table(["waiting in", "hour of release", "posts"], rows)


def _plain(found: GatewayStatus) -> dict[str, object]:
    return {
        "clock_at": found.now,
        "closed_at": found.closed_at,
        "lag_s": found.lag,
        "late_s": found.late,
        "paused": found.paused,
        "encrypted": found.encrypted,
        "parked": dict(found.parked),
        "hours": [{"begins_at": each.at, "admissions": each.admissions} for each in found.hours],
        "ahead": [{"space": each.space, "begins_at": each.at, "posts": each.posts} for each in found.ahead],
        "accounts": found.accounts,
        "accounts_above_3_nats": found.spent,
    }
