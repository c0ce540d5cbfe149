"""Learn a policy from a history, and write it.

Gaps are learned on the first part of the events and tried on the rest, so that what is printed was
measured on acts the policy has never seen. Keep the policy for a period: one that follows the people
it protects leaks.

With --season-length it also says how many batched acts a season of that length should be for, and how to
plan it. A season is never taken by default; it is mentioned where people batch often and may wait long.

  tarry learn month.parquet -o policy.toml
  tarry learn month.parquet -o policy.toml --epsilon 1 --percentile 75 --window 10m
  tarry learn year.parquet -o policy.toml --season-length 180d --mean-delay 8h
  tarry learn decade.parquet -o policy.toml --engine stream --memory 4GB
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tarry.cli.audit import print_advice
from tarry.cli.history import (
    add_columns,
    add_engine,
    add_filters,
    add_limits,
    bots_left_out,
    limits_from,
    open_columns,
    open_table,
    read_as,
    resources_from,
    say_how_read,
)
from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.options import FORCE
from tarry.cli.outputs import print_notes, unless_there
from tarry.cli.show import print_json, print_sentences, progress_on_terminal
from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import parse_duration, parse_number
from tarry.core.policy_file import write_policy
from tarry.study.memory import LEARN

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.core.policy import Policy
    from tarry.study.advice import Advice
    from tarry.study.season import LearnedSeason

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
    add_engine(parser)
    add_all(parser, FORCE)


def run(arguments: argparse.Namespace) -> None:
    """Learn, measure, recommend, write."""
    need_study()
    from tarry.study.learning import PERCENTILES  # noqa: PLC0415 - only where the study is installed
    from tarry.study.question import EPSILONS  # noqa: PLC0415 - likewise
    from tarry.study.season import hint_of  # noqa: PLC0415 - likewise

    path = unless_there(arguments.output, force=arguments.force)
    mean = None if arguments.mean_delay is None else parse_duration(arguments.mean_delay, "--mean-delay")
    options: dict[str, Any] = {
        "window": arguments.window,
        "tick": arguments.tick,
        "epsilons": EPSILONS if arguments.epsilon is None else (arguments.epsilon,),
        "percentiles": PERCENTILES
        if arguments.percentile is None
        else (_percentile(arguments.percentile),),
        "share": parse_number(arguments.learn_on, "--learn-on"),
        "seed": arguments.seed,
        "draws": arguments.draws,
        "limits": limits_from(arguments),
    }
    with _learner(arguments, options) as learner, progress_on_terminal("replays") as progress:
        learned = _learned_season(arguments, learner)
        advice = learner.advise(**options, progress=progress)
        policy, hint = _chosen(arguments, advice), None
        if policy is not None and learned is None:
            percentile = arguments.season_percentile
            hint = hint_of(learner.season, policy, mean=mean, percentile=percentile)
    if policy is None:
        raise _no_policy(advice)
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


class _Learner(NamedTuple):
    """What learns of a history, whichever engine has it."""

    advise: "Callable[..., Advice]"
    season: "Callable[..., LearnedSeason]"


@contextmanager
def _learner(arguments: argparse.Namespace, options: Mapping[str, Any]) -> "Iterator[_Learner]":
    """By the engine that is named or that fits; by parts, what is done with it tells runs apart."""
    resources = resources_from(arguments)
    if resources.engine == "memory":
        from tarry.study.recommend import advise  # noqa: PLC0415 - only where the study is installed
        from tarry.study.season import learn_season  # noqa: PLC0415 - likewise

        table = open_table(arguments, open_columns(arguments, LEARN))
        print_notes(table.notes)
        yield _Learner(partial(advise, table), partial(learn_season, table))
        return
    from tarry.study.parts.advice import advise_by_parts  # noqa: PLC0415 - likewise
    from tarry.study.parts.report import tried_on  # noqa: PLC0415 - likewise
    from tarry.study.parts.season import season_by_parts  # noqa: PLC0415 - likewise
    from tarry.study.parts.stream import opened  # noqa: PLC0415 - likewise
    from tarry.study.question import Question  # noqa: PLC0415 - likewise

    question = read_as(
        arguments,
        Question(
            practices=[],
            without_bots=bots_left_out(arguments),
            busy_limit=arguments.busy_limit,
            collapse=arguments.collapse,
        ),
    )
    what = f"learn {dict(options)} {arguments.season_length} {arguments.season_percentile}"
    with opened(arguments.history, question, resources, what) as engine:
        say_how_read(engine.reading)
        print_notes(engine.notes)
        yield _Learner(partial(advise_by_parts, engine, tried_on), partial(season_by_parts, engine))


def _chosen(arguments: argparse.Namespace, advice: "Advice") -> "Policy | None":
    """The recommended policy, or the only one, which was chosen by whoever asked."""
    if advice.best is not None:
        return advice.best.policy
    asked = arguments.epsilon and arguments.percentile and advice.kind != "limits"
    return advice.choices[0].policy if asked else None


def _no_policy(advice: "Advice") -> NotPossible:
    instead = (
        "allow more"
        if advice.kind == "limits"
        else "give both --epsilon and --percentile to have one all the same"
    )
    return NotPossible(f"{advice.sentence.removesuffix('.')}: {instead}")


def _learned_season(arguments: argparse.Namespace, learner: _Learner) -> "LearnedSeason | None":
    """The acts of a season, where its length is given; a percentile is checked in any case."""
    percentile = _percentile(arguments.season_percentile, "--season-percentile")
    if arguments.season_length is None:
        return None
    return learner.season(
        window=arguments.window,
        length=parse_duration(arguments.season_length, "--season-length"),
        percentile=percentile,
    )


def _percentile(percent: int, flag: str = "--percentile") -> int:
    if not 0 < percent <= 100:
        raise BadInput(f"{flag} must lie above 0 and be at most 100, not {percent}")
    return percent
