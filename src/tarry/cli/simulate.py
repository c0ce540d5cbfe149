"""Replay a history under a policy, and write when each event would have been released.

Every column of the history is kept, and every row but those of bots, if a column marks them. `release`
(microseconds since 1970) and `batched` are added. The same seed gives the same releases, in any order
of rows.

  tarry simulate month.parquet --policy policy.toml -o released.parquet
  tarry simulate month.parquet --policy epsilon=1,gap=11m --seed 7 -o released.csv
  tarry simulate decade.parquet --policy policy.toml -o released.parquet --engine stream --memory 4GB
"""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.cli.history import (
    add_bots,
    add_columns,
    add_engine,
    bots_left_out,
    named_policy,
    open_columns,
    read_as,
    resources_from,
    say_how_read,
)
from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.options import FORCE
from tarry.cli.outputs import free_path, print_notes, write_frame
from tarry.cli.show import print_answer
from tarry.core.errors import BadInput
from tarry.study.figures import percent, seconds
from tarry.study.memory import SIMULATE

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from tarry.core.policy import Policy
    from tarry.study.parts.resources import Resources
    from tarry.study.parts.simulated import SimulatedByParts
    from tarry.study.replay import Simulated

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry simulate`."""
    add_columns(parser)
    add_bots(parser)
    add_all(
        parser,
        Argument("--policy", metavar="P", required=True, help="a policy file, or epsilon=1,gap=11m"),
        Argument(
            "-o",
            "--output",
            metavar="FILE",
            required=True,
            help="where to write: .parquet, .csv, .jsonl or .arrow",
        ),
        Argument("--seed", metavar="N", type=int, default=0, help="of the delays (default 0)"),
        Argument("--draw", metavar="N", type=int, default=0, help="another draw of that seed (default 0)"),
        FORCE,
    )
    add_engine(parser)


def run(arguments: argparse.Namespace) -> None:
    """Replay, write, and say what it came to."""
    need_study()
    policy = named_policy(arguments.policy)
    path = free_path(arguments.output, force=arguments.force)
    resources = resources_from(arguments)
    by_engine = _in_memory if resources.engine == "memory" else partial(_by_parts, resources=resources)
    events, made = by_engine(arguments, policy, path)
    print_answer(
        arguments,
        f"{events:,} events, {percent(made.batched_share)} of them batched\n"
        f"delays: {seconds(made.mean_s)} on average, {seconds(made.longest_s)} at most\n"
        f"written to {path}",
        events=events,
        batched_share=made.batched_share,
        mean_s=made.mean_s,
        longest_s=made.longest_s,
        file=str(path),
    )


def _in_memory(arguments: argparse.Namespace, policy: "Policy", path: Path) -> "tuple[int, Simulated]":
    from tarry.study.replay import simulate  # noqa: PLC0415 - only where the study is installed

    made = simulate(
        open_columns(arguments, SIMULATE),
        policy,
        seed=arguments.seed,
        draw=arguments.draw,
        track=arguments.track,
        declared=arguments.declared,
        without_bots=bots_left_out(arguments),
    )
    print_notes(made.notes)
    write_frame(made.frame, path, force=arguments.force)
    return len(made.frame), made


def _by_parts(
    arguments: argparse.Namespace, policy: "Policy", path: Path, *, resources: "Resources"
) -> "tuple[int, SimulatedByParts]":
    from tarry.study.parts.simulated import simulate_streamed  # noqa: PLC0415 - likewise
    from tarry.study.question import Question  # noqa: PLC0415 - likewise

    if resources.engine == "spark":
        raise BadInput("Spark writes no table of releases", "use --engine stream")
    asked = Question(
        practices=[],
        seed=arguments.seed,
        track=arguments.track,
        declared=arguments.declared,
        without_bots=bots_left_out(arguments),
    )
    question = read_as(arguments, asked)
    made = simulate_streamed(
        Path(arguments.history), path, question, policy, resources, draw=arguments.draw
    )
    say_how_read(made.read.account)
    print_notes(made.read.left_out)
    return made.events, made
