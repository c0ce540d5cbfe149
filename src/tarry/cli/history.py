"""The options that the study's commands share: how to read a history, and the question of an audit."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.cli.options import FLAGS, read_policy_path
from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import chosen_policy
from tarry.study.memory import Work, check_file, check_memory, work_of

if TYPE_CHECKING:  # needs the study extra, and is loaded when a command runs
    from tarry.readers.columns import Columns
    from tarry.study.audit import Report
    from tarry.study.limits import AdviceLimits
    from tarry.study.parts.resources import Resources
    from tarry.study.practice import Practice
    from tarry.study.question import Question
    from tarry.study.runs import Progress
    from tarry.study.source import SourceAccount
    from tarry.study.table import EventTable

__all__ = [
    "add_bots",
    "add_columns",
    "add_engine",
    "add_filters",
    "add_limits",
    "add_practices",
    "add_question",
    "any_stage",
    "audit_history",
    "bots_left_out",
    "limits_from",
    "named_policy",
    "open_columns",
    "open_table",
    "practices_from",
    "question_from",
    "read_as",
    "resources_from",
    "say_how_read",
]

DEFAULT_CUTOFFS = "10s,1m,5m,10m,30m,1h,2h"
_SHOWN_ROWS = 5


def add_columns(parser: argparse.ArgumentParser) -> None:
    """HISTORY, and which of its columns are what."""
    parser.add_argument(
        "history",
        metavar="HISTORY",
        help="the events: .parquet, .csv, .tsv, .jsonl or .arrow, text also .gz or .zst",
    )
    for name, usual in (
        ("actor", "actor, user, author, reviewer ..."),
        ("target", "target, page, paper, address, thread ..."),
        ("time", "time, timestamp, created_at ..."),
    ):
        parser.add_argument(f"--{name}", metavar="COLUMN", help=f"the column of the {name} (else {usual})")
    parser.add_argument(
        "--track",
        metavar="COLUMN",
        help="a public column that sets the gap, where a policy has gaps of tracks",
    )
    parser.add_argument(
        "--declared",
        metavar="COLUMN",
        help="the column that says whether more was to come, where a policy has declared labels",
    )
    parser.add_argument("--time-unit", metavar="UNIT", help="s, ms, us, ns or iso (else as it looks)")
    parser.add_argument(
        "--time-format",
        metavar="FORMAT",
        help="how texts of times are written, such as '%%d.%%m.%%Y %%H:%%M'",
    )
    parser.add_argument(
        "--time-zone", metavar="ZONE", help="of times that carry none, such as Europe/Berlin (else UTC)"
    )


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which events count."""
    add_bots(parser)
    parser.add_argument(
        "--busy-limit", metavar="N", type=int, help="leave out actors with more than N events"
    )
    parser.add_argument(
        "--collapse", action="store_true", help="count events that share actor, target and time once"
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """What counts, and what it may take."""
    parser.add_argument(
        "--engine",
        metavar="NAME",
        default="auto",
        help="memory; stream, by parts, for Parquet that does not fit; spark; or auto (default auto)",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="what all processes may take together, such as 8GB (else half of the free)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="processes of the engine stream (else one a processor)"
    )
    parser.add_argument(
        "--scratch",
        metavar="DIR",
        help="where the engine stream keeps its files (else the system's folder)",
    )
    parser.add_argument(
        "--spark-master",
        metavar="URL",
        help="start Spark there: local[*], yarn, k8s://...; HISTORY is Parquet, or table:NAME",
    )
    parser.add_argument(
        "--spark-remote", metavar="URL", help="count on a server of Spark Connect, such as sc://cluster"
    )


def add_bots(parser: argparse.ArgumentParser) -> None:
    """Whether acts of bots count."""
    bots = parser.add_mutually_exclusive_group()
    bots.add_argument(
        "--without-bots",
        action="store_true",
        help="leave bots out: a column is_bot or bot, else names with 'bot' after their beginning",
    )
    bots.add_argument(
        "--with-bots",
        action="store_true",
        help="count bots too (else those that a column is_bot or bot marks are left out, with a note)",
    )


def bots_left_out(arguments: argparse.Namespace) -> bool | None:
    """What was said about bots: to leave them out, to keep them, or nothing (None).

    >>> bots_left_out(argparse.Namespace(without_bots=False, with_bots=True))
    False
    """
    return False if arguments.with_bots else True if arguments.without_bots else None


def add_limits(parser: argparse.ArgumentParser) -> None:
    """What a recommended policy must keep to."""
    for name, value, words in (
        ("max-delay", "DURATION", "recommend only policies under which nobody can wait longer"),
        ("mean-delay", "DURATION", "recommend only policies with at most this mean delay"),
        ("max-reordered", "SHARE", "of neighbours on one target, at most this share may change places"),
        ("least-promise", "E", "recommend only policies with an epsilon of at most this"),
        ("deadline", "MOMENT", "count the acts that would appear after it, such as 2024-05-01T18:00:00Z"),
    ):
        parser.add_argument(f"--{name}", metavar=value, help=words)


def limits_from(arguments: argparse.Namespace) -> "AdviceLimits":
    """The limits that the options name."""
    from tarry.study.limits import limits  # noqa: PLC0415 - only where the study is installed

    names = ("max_delay", "mean_delay", "max_reordered", "least_promise", "deadline")
    return limits(**{name: getattr(arguments, name, None) for name in names})


def add_practices(parser: argparse.ArgumentParser) -> None:
    """What is replayed."""
    parser.add_argument(
        "--policy",
        metavar="P",
        action="append",
        default=[],
        help="a policy to replay: a file, or epsilon=1,gap=11m; may be given again",
    )
    habits = ", ".join(plugins.names("practice"))
    parser.add_argument(
        "--baseline",
        metavar="B",
        action="append",
        default=[],
        help=f"another system's habit to replay, such as jitter:24h: {habits}; may be given again",
    )


def add_question(
    parser: argparse.ArgumentParser, *, cutoffs: str = DEFAULT_CUTOFFS, observers: str = "notified"
) -> None:
    """Who watches, how they attack, and what counts as batched."""
    many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
    parser.add_argument(
        "--observer",
        help=f"notified, poller:INTERVAL or archive (default {observers}); may be given again",
        **many,
    )
    attacks = ", ".join(plugins.names("attack"))
    parser.add_argument(
        "--attack", help=f"how they claim: {attacks} (default cutoff); may be given again", **many
    )
    parser.add_argument(
        "--allow-code",
        action="store_true",
        help="let --attack and --baseline name module:NAME, and run that code",
    )
    parser.add_argument(
        "--window",
        metavar="DURATION",
        default="5m",
        help="acts of one actor at most this far apart are truly batched (default 5m)",
    )
    parser.add_argument(
        "--cutoffs",
        metavar="LIST",
        default=cutoffs,
        help=f"default {cutoffs}, and on until all linked pairs lie within",
    )
    parser.set_defaults(usual_cutoffs=cutoffs)
    parser.add_argument(
        "--suspects",
        metavar="FILE",
        help="claims are about acts of the actors in this file alone, one a line",
    )
    parser.add_argument(
        "--among",
        metavar="TARGETS",
        help="claims are about acts on these targets alone, with commas between",
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the simulated delays (default 0)"
    )
    parser.add_argument(
        "--draws", metavar="N", type=int, default=1, help="how often to simulate (default 1)"
    )


def question_from(
    arguments: argparse.Namespace,
    *,
    observers: Sequence[str] = ("notified",),
    recommend: bool = False,
    different: bool | None = None,
    watch: bool = False,
) -> "Question":
    """What the options ask; doing nothing is always among what is replayed."""
    from tarry.study.attack import attack  # noqa: PLC0415 - only where the study is installed
    from tarry.study.question import Question  # noqa: PLC0415 - likewise

    allowed = arguments.allow_code
    return Question(
        practices=practices_from(arguments.policy, ["nothing", *arguments.baseline], allow_code=allowed),
        observers=arguments.observer or observers,
        attacks=[attack(name, allow_code=allowed) for name in arguments.attack or ["cutoff"]],
        window=arguments.window,
        cutoffs=_listed(arguments.cutoffs),
        seed=arguments.seed,
        draws=arguments.draws,
        stretch=arguments.cutoffs == arguments.usual_cutoffs,
        different=different,
        track=arguments.track,
        declared=arguments.declared,
        without_bots=bots_left_out(arguments),
        suspects=None if arguments.suspects is None else _names_in(arguments.suspects),
        among=None if arguments.among is None else _listed(arguments.among),
        busy_limit=arguments.busy_limit,
        collapse=arguments.collapse,
        recommend=recommend,
        watch=watch,
        limits=limits_from(arguments),
        before_after=arguments.html is not None or arguments.charts is not None,
    )


def _names_in(path: str) -> list[str]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the file of suspects {path!r} cannot be read", "give a text file") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def any_stage(progress: "Progress | None") -> "Callable[[str, int, int], None] | None":
    """One count for all stages of an audit.

    >>> any_stage(print)("measuring", 1, 2)
    1 2
    """
    if progress is None:
        return None

    def tell(_: str, done: int, total: int) -> None:
        if done:
            progress(done, total)

    return tell


def open_columns(arguments: argparse.Namespace, work: Work) -> "Columns":
    """The columns of the history; what could not be read is said on standard error."""
    from tarry.readers.files import read_history  # noqa: PLC0415 - only where the study is installed

    check_file(arguments.history, work)
    columns = read_history(
        arguments.history,
        actor=arguments.actor,
        target=arguments.target,
        time=arguments.time,
        time_unit=arguments.time_unit,
        time_format=arguments.time_format,
        time_zone=arguments.time_zone,
    )
    check_memory(len(columns), 0, work)
    say_how_read(columns)
    return columns


def say_how_read(account: "Columns | SourceAccount") -> None:
    """What was guessed, and what could not be read, on standard error.

    >>> from tarry.study.source import SourceAccount
    >>> say_how_read(SourceAccount(rows=5))
    """
    for note in account.notes:
        print(f"note: {note}", file=sys.stderr)
    if account.unreadable_count:
        print(f"{account.unreadable_count} rows cannot be read and are left out:", file=sys.stderr)
        for row in account.unreadable[:_SHOWN_ROWS]:
            print(f"  {row}", file=sys.stderr)


def resources_from(arguments: argparse.Namespace) -> "Resources":
    """The engine that is named or that fits, and what it may take.

    >>> said = dict.fromkeys(("memory", "jobs", "scratch", "spark_master", "spark_remote"))
    >>> resources_from(argparse.Namespace(engine="auto", history="votes.csv", **said)).engine
    'memory'
    """
    from tarry.study.parts.resources import (  # noqa: PLC0415 - likewise
        Resources,
        events_of,
        read_size,
    )

    resources = Resources(
        engine=arguments.engine,
        memory=None if arguments.memory is None else read_size(arguments.memory),
        jobs=arguments.jobs,
        scratch=None if arguments.scratch is None else Path(arguments.scratch),
        say=lambda estimate: print(estimate, file=sys.stderr),
        spark_master=arguments.spark_master,
        spark_remote=arguments.spark_remote,
    )
    return replace(resources, engine=resources.chosen(events_of(arguments.history)))


def read_as(arguments: argparse.Namespace, question: "Question") -> "Question":
    """The same question, which also says how the history is read.

    >>> from tarry.study.question import Question
    >>> columns = dict.fromkeys(("actor", "target", "time", "time_unit", "time_format", "time_zone"))
    >>> read_as(argparse.Namespace(**{**columns, "actor": "voter"}), Question()).actor
    'voter'
    """
    names = ("actor", "target", "time", "time_unit", "time_format", "time_zone")
    return replace(question, **{name: getattr(arguments, name) for name in names})


def audit_history(
    arguments: argparse.Namespace, question: "Question", progress: "Progress | None"
) -> "Report":
    """The report of the history, by the engine that is named or that fits."""
    from tarry.study.audit import audit  # noqa: PLC0415 - only where the study is installed

    resources = resources_from(arguments)
    if resources.engine == "memory":
        return audit(open_columns(arguments, work_of(question)), question, progress=any_stage(progress))
    asked = read_as(arguments, question)
    report = audit(arguments.history, asked, engine=resources, progress=any_stage(progress))
    say_how_read(report.reading)
    return report


def open_table(arguments: argparse.Namespace, columns: "Columns") -> "EventTable":
    """The events that count."""
    from tarry.study.table import table_of  # noqa: PLC0415 - only where the study is installed

    left_out = bots_left_out(arguments)
    return table_of(
        columns,
        bots=None if left_out is None else not left_out,
        collapse=arguments.collapse,
        most=arguments.busy_limit,
        track=arguments.track,
        declared=arguments.declared,
    )


def practices_from(
    policies: Sequence[str], baselines: Sequence[str], *, allow_code: bool = False
) -> "list[Practice]":
    """The practices that --policy and --baseline name."""
    from tarry.study.baselines import baseline  # noqa: PLC0415 - only where the study is installed
    from tarry.study.figures import shown_names  # noqa: PLC0415 - likewise
    from tarry.study.replay import replay  # noqa: PLC0415 - likewise

    habits: list[Practice] = [baseline(text, allow_code=allow_code) for text in baselines]
    names = shown_names(policies)  # where a file lies is nobody's business
    return habits + [replay(named_policy(text), names[text]) for text in policies]


def named_policy(text: str) -> Policy:
    """A policy file, or the choices themselves: epsilon=1,gap=11m.

    >>> named_policy("epsilon=1,gap=11m").gap
    Fraction(660, 1)
    """
    if "=" not in text or Path(text).exists():
        return read_policy_path(text)
    chosen: dict[str, str] = {}
    for part in text.split(","):
        word, sign, value = part.strip().partition("=")
        if not sign or word not in FLAGS:
            raise BadInput(
                f"{part!r} is no choice of a policy",
                f"give a file, or choices among {', '.join(FLAGS)} such as epsilon=1,gap=11m",
            )
        if word in chosen:
            raise BadInput(f"the policy {text!r} has two values for {word}", "give one")
        chosen[word] = value
    for word in ("epsilon", "gap"):
        if word not in chosen:
            raise BadInput(f"the policy {text!r} has no {word}", "write it like epsilon=1,gap=11m")
    return chosen_policy(chosen)
