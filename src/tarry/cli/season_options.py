"""The options of a season, which `tarry plan` and `tarry frontier` share, and how they print one."""

import argparse
from fractions import Fraction
from typing import Any

from tarry.cli.main import Argument, add_all
from tarry.cli.options import policy_paths
from tarry.cli.show import print_json, print_table, progress_on_terminal, rounded
from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_number
from tarry.core.plan import plan
from tarry.core.policy import Policy
from tarry.core.season import TWO_STORIES, Season
from tarry.core.season_plan import (
    BLOCKS,
    DelayLimits,
    SeasonPlan,
    SeasonPoint,
    least_total,
    plan_season,
    season_frontier,
)

__all__ = ["add_blocks", "plan_of_season", "print_frontier", "print_season"]


def add_blocks(parser: argparse.ArgumentParser) -> None:
    """--season and --blocks, of `tarry frontier`."""
    usual = ",".join(map(str, BLOCKS))
    add_all(
        parser,
        Argument(
            "--season",
            metavar="PAIRS",
            type=int,
            help="by blocks: what so many batched pairs of one person cost, but for a chance of --delta",
        ),
        Argument("--blocks", metavar="LIST", help=f"--season: these blocks (default {usual})"),
    )


def plan_of_season(arguments: argparse.Namespace, limits: DelayLimits) -> SeasonPlan:
    """The best law for a season; the other options say the rest of the policy.

    >>> given = argparse.Namespace(
    ...     season=2,
    ...     total="1",
    ...     delta="0.01",
    ...     gap="11m",
    ...     window=None,
    ...     tick=None,
    ...     labels=None,
    ...     file=None,
    ...     policy=None,
    ... )
    >>> plan_of_season(given, DelayLimits()).policy.law
    'zero-inflated-uniform'
    """
    choices, delta = _choices(arguments), _delta(arguments)
    if arguments.total is None:
        if limits == DelayLimits():
            raise BadInput(
                "--season must have --total, --max-delay or --mean-delay",
                "try --total 2.3 or --max-delay 8h",
            )
        with progress_on_terminal("numbers of blocks") as progress:
            return least_total(2 * arguments.season, delta, choices, limits, progress=progress)
    season = Season(
        acts=2 * arguments.season, epsilon=parse_number(arguments.total, "--total"), delta=delta
    )
    with progress_on_terminal("blocks") as progress:
        return plan_season(season, choices, maximum=limits.maximum, mean=limits.mean, progress=progress)


def print_season(found: SeasonPlan) -> None:
    """What a season costs under the policy, and what the other law would need or cost."""
    if (season := found.policy.season) is None:
        return
    shape = f" ({found.policy.blocks} blocks, order {found.policy.order})" if found.policy.blocks else ""
    print(
        f"\nseason: {season.acts} acts ({float(season.pairs):g} pairs) cost {float(found.epsilon):.3f} of "
        f"{float(season.epsilon):g} nats, but for a chance of {float(season.delta):g}{shape}"
    )
    print(TWO_STORIES)
    if (other := found.other) is None or other.season is None:
        print("no other law is possible: a law for seasons needs 3 times gap + window at the least")
        return
    if other.season != season:
        print(f"the {other.law_name} law would cost {float(other.season.epsilon):g} within these delays")
        return
    delays = plan(other).batched
    print(
        f"the {other.law_name} law would need {rounded(delays.maximum)} at the longest and "
        f"{rounded(delays.mean)} on average for batched acts"
    )


def print_frontier(arguments: argparse.Namespace) -> None:
    """What a season costs by the blocks of its law."""
    choices, delta, acts = _choices(arguments), _delta(arguments), 2 * arguments.season
    with progress_on_terminal("rows") as progress:
        points = season_frontier(acts, delta, choices, blocks=_blocks(arguments.blocks), progress=progress)
    if arguments.json:
        policy = Policy(**choices, epsilon=1)
        durations = {"gap_s": policy.gap, "window_s": policy.window, "tick_s": policy.tick}
        print_json(
            {"acts": acts, "delta": delta, **durations, "points": [_point_json(point) for point in points]}
        )
        return
    print_table(
        ["blocks", "order", "epsilon", "mean delay", "longest", "zero-inflated-uniform"],
        [_point_row(point) for point in points],
    )
    print(
        f"\nepsilon: what {acts} acts ({arguments.season} pairs) of one person cost together, but for a "
        f"chance of {float(delta):g}"
    )
    print("the last column is the same under that law, at the same longest delay")
    print(f"delays are those of batched acts, from arrival to release\n{TWO_STORIES}")


def _choices(arguments: argparse.Namespace) -> dict[str, Any]:
    """The rest of the policy; what a season finds by itself must not be given."""
    fixed = ("epsilon", "weight", "cover", "law")
    given = [name for name in fixed if getattr(arguments, name, None) is not None]
    if policy_paths(arguments) or given:
        wrong = f"--{given[0]}" if given else "the policy file"
        raise BadInput(f"--season finds the law, and {wrong} is given too", f"leave out {wrong}")
    names = ("gap", "window", "tick", "labels")
    choices = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if "gap" not in choices:
        raise BadInput("no gap is given", "use --gap 11m or the gap of your people (tarry learn)")
    return choices


def _delta(arguments: argparse.Namespace) -> Fraction:
    if arguments.delta is None:
        raise BadInput("--season must have --delta", "try --delta 0.01")
    return parse_number(arguments.delta, "--delta")


def _blocks(text: str | None) -> list[int]:
    parts = [] if text is None else [part.strip() for part in text.split(",") if part.strip()]
    if wrong := [part for part in parts if not part.isascii() or not part.isdigit()]:
        raise BadInput(f"--blocks must be whole numbers, not {wrong[0]!r}", "write them like 7,22,59")
    return [int(part) for part in parts] or list(BLOCKS)


def _point_json(point: SeasonPoint) -> dict[str, Any]:
    return {
        "blocks": point.blocks,
        "order": float(point.order),
        "epsilon": point.epsilon,
        "mean_s": point.mean,
        "longest_s": point.longest,
        "zero_inflated_uniform": point.constant,
    }


def _point_row(point: SeasonPoint) -> list[str]:
    return [
        str(point.blocks),
        str(point.order),
        f"{float(point.epsilon):.3f}",
        rounded(point.mean),
        format_duration(point.longest),
        f"{float(point.constant):.3f}",
    ]
