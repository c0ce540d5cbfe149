"""The trade-off between the delay of batched and of unbatched acts, at a policy's epsilon.

tarry frontier --epsilon 3 --gap 11m --window 5m
"""

import argparse
from fractions import Fraction

from tarry.cli.options import add_policy, policy_from
from tarry.cli.plan import policy_json
from tarry.cli.show import print_json, print_table, rounded
from tarry.core.plan import Point, frontier

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry frontier`."""
    add_policy(parser, without=("weight",))


def run(arguments: argparse.Namespace) -> int:
    """Print the points of the frontier."""
    policy = policy_from(arguments)
    points = frontier(policy)
    if arguments.json:
        print_json({**policy_json(policy), "points": [_json(point) for point in points]})
        return 0
    header = ["weight", "eta", "support end (ticks)", "batched mean", "unbatched mean"]
    print_table(header, [_row(point) for point in points])
    if len(points) == 1:
        print("\none point: at this epsilon the law has nothing to trade")
    return 0


def _json(point: Point) -> dict[str, object]:
    return {
        "weight_from": point.weights[0],
        "weight_to": point.weights[1],
        "eta": point.eta,
        "support_end_ticks": point.support_end_ticks,
        "batched_mean_s": point.batched,
        "unbatched_mean_s": point.unbatched,
    }


def _row(point: Point) -> list[str]:
    low, high = (f"{float(weight):g}" for weight in point.weights)
    return [
        low if low == high else f"{low} to {high}",
        "" if point.eta is None else f"{float(point.eta):.4f}",
        "no end" if point.support_end_ticks is None else str(point.support_end_ticks),
        rounded(point.batched),
        rounded(Fraction(point.unbatched)),
    ]
