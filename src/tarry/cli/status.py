"""How a gateway is doing: its clock, what is late, what is parked, what is to come.

No figure here changes at the moment when somebody posts: admissions are counted by the hour and shown
after it, and what waits is shown as it was when the last hour ended. Of the ledger it shows how many
accounts are beyond what is promised (3 nats, or a season), over all policy versions, and never which.

  tarry status
"""

import argparse

from tarry.cli.main import add_all
from tarry.cli.options import SETTINGS, config_from
from tarry.cli.show import print_json, print_table, rounded, utc_text
from tarry.gateway.database import opened_database
from tarry.gateway.monitoring import GatewayStatus, read_status

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry status`."""
    add_all(parser, SETTINGS)


def run(arguments: argparse.Namespace) -> None:
    """Print it."""
    with opened_database(config_from(arguments)) as store, store.transaction("reading") as transaction:
        summary = read_status(transaction, store.clock())
    if arguments.json:
        print_json(_json(summary))
    else:
        _print(summary)


def _print(summary: GatewayStatus) -> None:
    if summary.paused:
        print("paused since it was restored from a backup: tarry resume lets it work again")
    print(f"clock     {utc_text(summary.now)}")
    behind = f", {rounded(summary.lag)} behind" if summary.lag else ""
    print(f"closed    {utc_text(summary.closed_at)}{behind}")
    print(f"contents  {'encrypted' if summary.encrypted else 'NOT ENCRYPTED: use tarry store encrypt'}")
    if summary.late:
        print(f"late      the first post that is due has waited {rounded(summary.late)}")
    for space, posts in sorted(summary.parked.items()):
        print(f"parked    {posts} in {space}")
    print(
        f"accounts  {summary.accounts} with batched acts, {summary.spent} of them beyond what is promised"
    )
    print(f"as of     {utc_text(summary.counted_at)}: accounts and what waits are counted once an hour")
    if summary.hours:
        print()
        print_table(
            ["hour of admission", "posts"], [[utc_text(h.at), str(h.admissions)] for h in summary.hours]
        )
    if summary.ahead:
        print()
        print_table(
            ["waiting in", "hour of release", "posts"],
            [
                [each.space, "not known yet" if each.at is None else utc_text(each.at), str(each.posts)]
                for each in summary.ahead
            ],
        )


def _json(summary: GatewayStatus) -> dict[str, object]:
    return {
        "clock_at": summary.now,
        "closed_at": summary.closed_at,
        "counted_at": summary.counted_at,
        "lag_s": summary.lag,
        "late_s": summary.late,
        "paused": summary.paused,
        "encrypted": summary.encrypted,
        "parked": dict(summary.parked),
        "hours": [{"begins_at": each.at, "admissions": each.admissions} for each in summary.hours],
        "ahead": [
            {"space": each.space, "begins_at": each.at, "posts": each.posts} for each in summary.ahead
        ],
        "accounts": summary.accounts,
        "accounts_beyond_promise": summary.spent,
    }
