"""Learn a policy from a history, and write it.

Gaps are learned on the first part of the events and tried on the rest, so that what is printed was
measured on acts the policy has never seen. Keep the policy for a period: one that follows the people
it protects leaks.

With --season-length it also says how many batched acts a season of that length should be for, and how to
plan it. A season is never taken by default; it is mentioned where people batch often and may wait long.

  tarry learn month.parquet -o policy.toml
  tarry learn month.parquet -o policy.toml --epsilon 1 --percentile 75 --window 10m
  tarry learn year.parquet -o policy.toml --season-length 180d --mean-delay 8h
"""

import argparse
from typing import TYPE_CHECKING

from tarry.cli.audit import print_advice
from tarry.cli.history import add_columns, add_filters, add_limits, limits_from, open_columns, open_table
from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.options import FORCE
from tarry.cli.outputs import print_notes, unless_there
from tarry.cli.show import print_json, print_sentences, progress_on_terminal
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import parse_duration, parse_number
from tarry.core.policy_file import write_policy
from tarry.study.memory import ADVISE

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.study.season import LearnedSeason
    from tarry.study.table import EventTable

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry learn`."""
    add_columns(parser)
    add_filters(parser)
    add_all(
        parser,
        Argument("-o", "--output", metavar="FILE", required=True, help="where to write the policy"),
        Argument("--epsilon", metavar="E", help="try this epsilon alone (else 0.5, 1 and 2)"),
        Argument(
            "--percentile", metavar="P", type=int, help="try this percentile of gaps (else 25, 50, 75)"
        ),
        Argument("--window", metavar="DURATION", default="5m", help="what counts as batched (default 5m)"),
        Argument("--tick", metavar="DURATION", default="1s", help="the policy's clock (default 1s)"),
        Argument("--learn-on", metavar="SHARE", default="0.25", help="of the events (default 0.25)"),
        Argument("--seed", metavar="N", type=int, default=0, help="of the simulated delays (default 0)"),
        Argument("--draws", metavar="N", type=int, default=3, help="how often to simulate (default 3)"),
        Argument(
            "--season-length",
            metavar="DURATION",
            help="learn the acts of a season of this length, such as 180d",
        ),
        Argument(
            "--season-percentile",
            metavar="P",
            type=int,
            default=99,
            help="so many percent of those who batch make no more acts than a season is for (default 99)",
        ),
    )
    add_limits(parser)
    add_all(parser, FORCE)


def run(arguments: argparse.Namespace) -> None:
    """Learn, measure, recommend, write."""
    need_study()
    from tarry.study.learning import PERCENTILES  # noqa: PLC0415 - only where the study is installed
    from tarry.study.question import EPSILONS  # noqa: PLC0415 - likewise
    from tarry.study.recommend import advise  # noqa: PLC0415 - likewise
    from tarry.study.season import season_hint  # noqa: PLC0415 - likewise

    path = unless_there(arguments.output, force=arguments.force)
    mean = None if arguments.mean_delay is None else parse_duration(arguments.mean_delay, "--mean-delay")
    table = open_table(arguments, open_columns(arguments, ADVISE))
    print_notes(table.notes)
    learned = _learned_season(arguments, table)
    with progress_on_terminal("replays") as progress:
        advice = advise(
            table,
            window=arguments.window,
            tick=arguments.tick,
            epsilons=EPSILONS if arguments.epsilon is None else (arguments.epsilon,),
            percentiles=PERCENTILES
            if arguments.percentile is None
            else (_percentile(arguments.percentile),),
            share=parse_number(arguments.learn_on, "--learn-on"),
            seed=arguments.seed,
            draws=arguments.draws,
            limits=limits_from(arguments),
            progress=progress,
        )
    chosen = advice.best
    if chosen is None and arguments.epsilon and arguments.percentile and advice.kind != "limits":
        chosen = advice.choices[0]  # the only one: it was chosen by whoever asked
    if chosen is None:
        instead = (
            "allow more"
            if advice.kind == "limits"
            else "give both --epsilon and --percentile to have one all the same"
        )
        raise NotPossible(f"{advice.sentence.removesuffix('.')}: {instead}")
    policy, percentile = chosen.policy, arguments.season_percentile
    hint = season_hint(table, policy, mean=mean, percentile=percentile) if learned is None else None
    text = write_policy(policy)
    with path.open("w" if arguments.force else "x", encoding="utf-8") as file:
        file.write(text)
    season = None if learned is None else {**learned.as_dict(), "command": learned.command(policy, mean)}
    mentioned = None if hint is None else {**hint.as_dict(), "command": hint.command(policy)}
    if arguments.json:
        print_json(
            {
                "file": str(path),
                "policy": text,
                **advice.as_dict(),
                "season": season,
                "season_hint": mentioned,
            }
        )
        return
    print_advice(advice)
    if about := season or mentioned:
        print()
        print_sentences("season", [about["sentence"]])
        print(f"    {about['command']}")
    print(f"\nwritten to {path}")


def _learned_season(arguments: argparse.Namespace, table: "EventTable") -> "LearnedSeason | None":
    """The acts of a season, where its length is given; a percentile is checked in any case."""
    from tarry.study.season import learn_season  # noqa: PLC0415 - only where the study is installed

    percentile = _percentile(arguments.season_percentile, "--season-percentile")
    if arguments.season_length is None:
        return None
    return learn_season(
        table,
        window=arguments.window,
        length=parse_duration(arguments.season_length, "--season-length"),
        percentile=percentile,
    )


def _percentile(percent: int, flag: str = "--percentile") -> int:
    if not 0 < percent <= 100:
        raise BadInput(f"{flag} must lie above 0 and be at most 100, not {percent}")
    return percent
