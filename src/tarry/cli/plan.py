"""What a policy costs: how long batched and unbatched acts wait.

Choose epsilon, or a longest or mean delay (--max-delay, --mean-delay) to find the smallest epsilon for it.
Or choose a season: so many batched pairs of one person may together cost --total, but for a chance of
--delta. The law with the shortest delays for it is found, within the longest or mean delay if one is given.
Without --total, the least total within that delay is found.

  tarry plan policy.toml
  tarry plan --epsilon 1 --gap 11m --window 5m
  tarry plan --max-delay 2h --gap 11m --window 5m --toml > policy.toml
  tarry plan --season 200 --total 2.3 --delta 0.01 --gap 11m --window 5m --toml > policy.toml
  tarry plan --season 200 --delta 0.01 --max-delay 8h --gap 11m --window 5m
"""

import argparse
from fractions import Fraction
from typing import Any, TypedDict

from tarry.cli.main import Argument, add_all
from tarry.cli.options import add_policy, note_coarse_tick, policy_from, policy_paths
from tarry.cli.season_options import add_blocks, plan_of_season, print_frontier, print_season
from tarry.cli.show import print_json, print_list, print_sentences, print_table, rounded
from tarry.core.calibrate import least_epsilon
from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_duration
from tarry.core.plan import DelayPlan, Delays, Point, frontier, plan
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.promise import coarse_tick, promise
from tarry.core.season_plan import DelayLimits, SeasonPlan

__all__ = ["Budget", "Explain", "Frontier", "add_arguments", "policy_json", "run"]

_NEARLY_ALL = Fraction(995, 1000)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry plan`."""
    add_policy(parser)
    add_all(
        parser,
        Argument("--mean-delay", metavar="DURATION", help="find epsilon: a weighted mean of at most this"),
        Argument("--max-delay", metavar="DURATION", help="find epsilon: a longest delay of at most this"),
        Argument(
            "--season",
            metavar="PAIRS",
            type=int,
            help="find the law for so many batched pairs of one person",
        ),
        Argument("--total", metavar="NATS", help="--season: what all of them may cost together"),
        Argument("--toml", action="store_true", help="print the policy file instead of a table"),
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the delays of a policy, or its file."""
    found = (
        None if arguments.season is None else plan_of_season(arguments, DelayLimits(**_budget(arguments)))
    )
    policy = _policy(arguments) if found is None else found.policy
    if arguments.toml and arguments.json:
        raise BadInput("--toml and --json are two forms of one answer", "leave out one of them")
    if not arguments.json:
        note_coarse_tick(policy)
    if arguments.toml:
        print(write_policy(policy), end="")
        return
    if arguments.json:
        other_gaps = [{"gap_s": gap, **_costs_json(policy, plan(policy, gap))} for gap in policy.gaps[1:]]
        notes = list(filter(None, [coarse_tick(policy)]))
        costs = _costs_json(policy, plan(policy))
        planned = {} if found is None else {"season": _season_json(found)}
        print_json({**policy_json(policy), **costs, **planned, "own_gaps": other_gaps, "notes": notes})
    else:
        _print(policy)
        if found is not None:
            print_season(found)


def policy_json(policy: Policy) -> dict[str, Any]:
    """The choices of a policy, durations in seconds.

    >>> policy_json(Policy(epsilon="1", gap="11m"))["gap_s"]
    Fraction(660, 1)
    """
    return {
        "epsilon": policy.epsilon,
        "delta": policy.delta,
        "gap_s": policy.gap,
        "window_s": policy.window,
        "tick_s": policy.tick,
        "weight": policy.weight,
        "labels": policy.labels,
        "law": policy.law_name,
        "cover": policy.cover,
        "share": policy.share,
    }


def _policy(arguments: argparse.Namespace) -> Policy:
    budget = _budget(arguments)
    if budget["mean"] is None and budget["maximum"] is None:
        return policy_from(arguments)
    if arguments.epsilon is not None or policy_paths(arguments):
        flag = "--mean-delay" if budget["maximum"] is None else "--max-delay"
        raise BadInput(
            f"{flag} finds epsilon, and epsilon is already given",
            f"leave out {flag}, or --epsilon and the policy file",
        )
    return policy_from(
        arguments, epsilon=least_epsilon(policy_from(arguments, epsilon=Fraction(1)), **budget)
    )


class Budget(TypedDict):
    """Delays in seconds that must not be exceeded, where they are given.

    >>> Budget(mean=None, maximum=Fraction(60))["maximum"]
    Fraction(60, 1)
    """

    mean: Fraction | None
    maximum: Fraction | None


def _budget(arguments: argparse.Namespace) -> Budget:
    mean, maximum = (
        None if text is None else parse_duration(text, flag)
        for flag, text in (("--mean-delay", arguments.mean_delay), ("--max-delay", arguments.max_delay))
    )
    return Budget(mean=mean, maximum=maximum)


def _season_json(found: SeasonPlan) -> dict[str, Any]:
    season, other = found.policy.season, found.other
    answer = {
        "acts": season.acts if season else None,
        "epsilon": season.epsilon if season else None,
        "delta": season.delta if season else None,
        "costs": found.epsilon,
        "blocks": found.policy.blocks,
        "order": None if found.policy.order is None else float(found.policy.order),
        "other": None,
    }
    if other is None:
        return answer
    shape = {"law": other.law_name, "blocks": other.blocks}
    total = other.season.epsilon if other.season else None
    return {**answer, "other": {**shape, "epsilon": total, **_costs_json(other, plan(other))}}


def _costs_json(policy: Policy, costs: DelayPlan) -> dict[str, Any]:
    return {
        "eta": costs.eta,
        "start_ticks": costs.start_ticks,
        "hold_ticks": costs.hold_ticks,
        "support_end_ticks": costs.support_end_ticks,
        "mean_s": costs.mean(policy.weight),
        "batched": _delays_json(costs.batched),
        "unbatched": _delays_json(costs.unbatched),
    }


def _delays_json(delays: Delays) -> dict[str, Any]:
    return {
        "min_s": delays.minimum,
        "mean_s": delays.mean,
        "median_s": delays.median,
        "max_s": delays.maximum,
    }


def _print(policy: Policy) -> None:
    choices = (
        f"{policy.law_name} law",
        "no labels" if policy.labels == "none" else f"{policy.labels} labels",
        f"epsilon {float(policy.epsilon):g}",
        f"window {format_duration(policy.window)}",
        f"tick {format_duration(policy.tick)}",
    )
    print(", ".join(choices))
    hold = policy.hold_ticks * policy.tick
    print("from arrival to release" + (f", {rounded(hold)} hold included" if hold else "") + ":\n")
    rows = []
    for gap in policy.gaps:
        costs = plan(policy, gap)
        kinds = {"batched": costs.batched, "unbatched": costs.unbatched}
        for name, delays in ({"all": costs.batched} if policy.labels == "none" else kinds).items():
            figures = (delays.minimum, delays.mean, delays.median, delays.maximum)
            rows.append([name, format_duration(gap), *(rounded(seconds) for seconds in figures)])
    print_table(["", "gap", "shortest", "mean", "median", "longest"], rows)
    costs = plan(policy)
    print(f"\nweighted mean {rounded(costs.mean(policy.weight))} (weight {float(policy.weight):g})")
    if costs.eta is not None and costs.eta < _NEARLY_ALL:
        left = float(1 - costs.eta)
        print(f"{left:.0%} of unbatched acts leave without further delay (eta {1 - left:.4f})")
    print("what this promises and what it does not: tarry explain")


class Frontier:
    """The trade-off between the delay of batched and of unbatched acts, at a policy's epsilon.

    Or, with --season, between the delay and what all acts of a season cost.

      tarry frontier --epsilon 3 --gap 11m --window 5m
      tarry frontier --season 200 --delta 0.01 --gap 11m --window 5m
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry frontier`."""
        add_policy(parser, without=("weight",))
        add_blocks(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
        """Print the points of the frontier."""
        if arguments.season is not None:
            print_frontier(arguments)
            return
        if arguments.blocks is not None:
            raise BadInput("--blocks is for a season, and none is given", "add --season, or leave it out")
        policy = policy_from(arguments)
        points = frontier(policy)
        print_list(
            arguments,
            {**policy_json(policy), "points": [_point_json(point) for point in points]},
            ["weight", "eta", "support end (ticks)", "batched mean", "unbatched mean"],
            [_point_row(point) for point in points],
        )
        if len(points) == 1 and not arguments.json:
            print("\none point: at this epsilon the law has nothing to trade")


def _point_json(point: Point) -> dict[str, object]:
    return {
        "weight_from": point.weights[0],
        "weight_to": point.weights[1],
        "eta": point.eta,
        "support_end_ticks": point.support_end_ticks,
        "batched_mean_s": point.batched,
        "unbatched_mean_s": point.unbatched,
    }


def _point_row(point: Point) -> list[str]:
    low, high = (f"{float(weight):g}" for weight in point.weights)
    return [
        low if low == high else f"{low} to {high}",
        "" if point.eta is None else f"{float(point.eta):.4f}",
        "no end" if point.support_end_ticks is None else str(point.support_end_ticks),
        rounded(point.batched),
        rounded(Fraction(point.unbatched)),
    ]


class Explain:
    """What a policy promises and what it does not, in words anyone affected can read.

    tarry explain policy.toml
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """The options of `tarry explain`."""
        add_policy(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> None:
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
            return
        print_sentences("Promised:", promised.promised)
        print()
        print_sentences("Not promised:", promised.not_promised)
