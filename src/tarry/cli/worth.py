"""What a habit is worth in our terms: epsilon and delta for each observer, its delays, and what is cheaper.

HABIT is a phrase ("round to day", "jitter 5m-15m", "exponential 1h x 3", "timed mix 6h"), the name of
a baseline, or a policy file. Delta is the least with which --epsilon holds for acts that might have come
up to --gap later. It is exact where a formula is known; else it is a lower bound, from releases. tarry also
names a policy that promises as much to each observer and waits less on average.

With --history both are attacked on real acts. The policy must be at least as good there too: no more claims
may be right than with the habit, or than are right of pairs that nobody batched.

  tarry worth jitter 5m-15m --gap 11m
  tarry worth "exponential 1h x 3" --gap 11m --epsilon 0.5
  tarry worth policy.toml --gap 11m --history month.parquet
"""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.options import read_policy_path
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.core.policy import Policy
from tarry.core.policy_file import KEYS

if TYPE_CHECKING:
    from tarry.study.runs import Line
    from tarry.study.worth import Worth

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry worth`."""
    add_all(
        parser,
        Argument("habit", metavar="HABIT", nargs="+", help="a phrase, a baseline or a policy file"),
        Argument("--gap", metavar="GAP", default="11m", help=KEYS["gap"] + " (default: 11m)"),
        Argument(
            "--window", metavar="WINDOW", default="5m", help="of the policy that is tried (default: 5m)"
        ),
        Argument("--epsilon", metavar="EPSILON", default="1", help=KEYS["epsilon"] + " (default: 1)"),
        Argument("--history", metavar="FILE", help="attack it on this history too"),
        Argument("--allow-code", action="store_true", help="let the habit be module:NAME"),
    )


def run(arguments: argparse.Namespace) -> None:
    """Print what it is worth."""
    need_study()
    from tarry.study.worth import worth_of  # noqa: PLC0415 - needs the study extra

    text = " ".join(arguments.habit)
    policy = Policy(epsilon=arguments.epsilon, gap=arguments.gap, window=arguments.window)
    with progress_on_terminal("observers") as progress:
        found = worth_of(
            read_policy_path(text) if Path(text).suffix == ".toml" else text,
            policy=policy,
            history=arguments.history,
            allow_code=arguments.allow_code,
            progress=progress,
        )
    if arguments.json:
        print_json(found.as_json())
    else:
        _print(found)


def _print(found: "Worth") -> None:
    longest, mean = found.waits.longest_s, rounded(Fraction(found.waits.mean_s))
    end = "without end" if longest is None else f"{rounded(Fraction(longest))} at the longest"
    where = "" if found.waits.exact else ", measured where somebody acts every three minutes"
    waits = f"delays of {mean} on average, {end}{where}"
    print_sentences(found.name, [*map(str, found.to), waits])
    print(f"the cheapest policy that is at least as good: {found.verdict}")
    if found.lines:
        print()
        print_table(
            ["practice", "observer", "mean delay", "right about the person", "of pairs not batched"],
            [
                [line.policy, line.observer, rounded(Fraction(line.mean_s)), *_shares(line)]
                for line in found.lines
            ],
        )
        print("right about the person: of the best claims that find a tenth of the batched pairs")
        print("as good: no more of them are right than with the habit, or of pairs that nobody batched")


def _shares(line: "Line") -> list[str]:
    def percent(share: Any) -> str:
        return "unknown" if share is None else f"{100 * float(share):.1f} %"

    return [percent(None if line.right_person is None else line.right_person.mean), percent(line.reference)]
