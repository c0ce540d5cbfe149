"""Replay a history under a policy, and write when each event would have been released.

Every column of the history is kept, and every row but those of bots, if a column marks them. `release`
(microseconds since 1970) and `batched` are added. The same seed gives the same releases, in any order
of rows. Then it prints how often claims about who is who are right, now and with the policy.

  tarry simulate month.parquet --policy policy.toml -o released.parquet
  tarry simulate month.parquet --policy epsilon=1,gap=11m --seed 7 -o released.csv
  tarry simulate decade.parquet --policy policy.toml -o released.parquet --engine stream --memory 4GB
"""

import argparse
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.cli.audit import print_right
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
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.study.figures import percent, seconds
from tarry.study.memory import ATTACK, SIMULATE

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    from collections.abc import Callable

    from tarry.study.audit import Question, Report
    from tarry.study.parts.resources import Resources
    from tarry.study.parts.simulated import SimulatedByParts
    from tarry.study.replay import Simulated

__all__ = ["add_arguments", "run"]

_DRAWS = 3  # one alone could be lucky


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
        Argument(
            "--no-attack", action="store_true", help="write only: do not measure how often claims are right"
        ),
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
    events, made, report = by_engine(arguments, policy, path)
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
        **({} if report is None else {"practices": [line.as_dict() for line in report.lines]}),
    )
    if report is not None and not arguments.json:
        print()
        print_right(report)


def _in_memory(
    arguments: argparse.Namespace, policy: Policy, path: Path
) -> "tuple[int, Simulated, Report | None]":
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed
    from tarry.study.replay import simulate  # noqa: PLC0415 - likewise

    made = simulate(
        open_columns(arguments, SIMULATE if arguments.no_attack else ATTACK),
        policy,
        seed=arguments.seed,
        draw=arguments.draw,
        track=arguments.track,
        declared=arguments.declared,
        without_bots=bots_left_out(arguments),
    )
    print_notes(made.notes)
    write_frame(made.frame, path, force=arguments.force)
    return len(made.frame), made, _attacked(arguments, policy, partial(audit, made.table))


def _by_parts(
    arguments: argparse.Namespace, policy: Policy, path: Path, *, resources: "Resources"
) -> "tuple[int, SimulatedByParts, Report | None]":
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed
    from tarry.study.parts.simulated import simulate_streamed  # noqa: PLC0415 - likewise
    from tarry.study.question import Question  # noqa: PLC0415 - likewise

    if resources.engine == "spark":
        raise BadInput("Spark writes no table of releases", "use --engine stream")
    history, asked = Path(arguments.history), Question(practices=[], seed=arguments.seed)
    made = simulate_streamed(
        history, path, _read_whole(arguments, asked), policy, resources, draw=arguments.draw
    )
    say_how_read(made.read.account)
    print_notes(made.read.left_out)
    quietly = replace(resources, say=None)

    def measured(question: "Question") -> "Report":
        return audit(history, _read_whole(arguments, question), engine=quietly)

    return made.events, made, _attacked(arguments, policy, measured)


def _read_whole(arguments: argparse.Namespace, question: "Question") -> "Question":
    """The same question of every event that counts."""
    columns = {"track": arguments.track, "declared": arguments.declared}
    return replace(read_as(arguments, question), without_bots=bots_left_out(arguments), **columns)


def _attacked(
    arguments: argparse.Namespace, policy: Policy, measure: "Callable[[Question], Report]"
) -> "Report | None":
    """The policy beside doing nothing, in as many draws as tell how much chance is in it."""
    from tarry.study.question import Question  # noqa: PLC0415 - only where the study is installed
    from tarry.study.replay import replay  # noqa: PLC0415 - likewise

    if arguments.no_attack:
        return None
    replayed = replay(policy, Path(arguments.policy).name)
    question = Question(practices=["nothing", replayed], seed=arguments.seed, draws=_DRAWS, different=False)
    try:
        return measure(question)
    except NotPossible as error:  # what was written stands without it
        print(f"note: not measured how often claims are right: {error}", file=sys.stderr)
        return None
