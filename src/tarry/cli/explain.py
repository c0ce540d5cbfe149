"""What a policy promises and what it does not, in words anyone affected can read.

tarry explain policy.toml
"""

import argparse

from tarry.cli.options import add_policy, policy_from
from tarry.cli.plan import policy_json
from tarry.cli.show import print_json, print_sentences
from tarry.core.promise import promise

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry explain`."""
    add_policy(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the promise of a policy."""
    policy = policy_from(arguments)
    promised = promise(policy)
    if arguments.json:
        print_json(
            {
                **policy_json(policy),
                "near_s": promised.near,
                "reach_s": promised.reach,
                "odds": promised.odds(1 if policy.labels in ("follower", "none") else 2),
                "promised": promised.promised,
                "not_promised": promised.not_promised,
            }
        )
        return 0
    print_sentences("Promised:", promised.promised)
    print()
    print_sentences("Not promised:", promised.not_promised)
    return 0
