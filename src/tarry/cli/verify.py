"""Check a policy's promise: exit 0 when it holds, 1 with a witness when it is broken.

Laws are decided exactly, for every delay. Labels, draws and releases are searched over all small
streams of events, and so is the sentence that tarry explain prints, with arrivals inside ticks: a clean
result of a search means "no witness up to n events".

  tarry verify policy.toml
"""

import argparse
from math import isfinite

from tarry.cli.options import add_policy, note_coarse_tick, policy_from, whole_number
from tarry.cli.show import print_json, print_sentences, progress_on_terminal
from tarry.core.verify import Size, verify

__all__ = ["add_arguments", "run"]

_MOST_EVENTS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry verify`."""
    add_policy(parser)
    parser.add_argument(
        "--events", default="3", help="search streams of up to this many events, 1 to 4 (default: 3)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict."""
    size = Size(events=whole_number(arguments.events, "--events", 1, _MOST_EVENTS))
    policy = policy_from(arguments)
    if not arguments.json:
        note_coarse_tick(policy)
    with progress_on_terminal("streams") as progress:
        verdict = verify(policy, size, progress)
    if arguments.json:
        print_json(
            {
                "verdict": verdict.word,
                "margin": verdict.margin if isfinite(verdict.margin or 0) else None,  # JSON has no infinity
                "scope": verdict.scope,
                "witness": verdict.witness.as_json() if verdict.witness else None,
            }
        )
    else:
        print_sentences(
            verdict.word, [str(verdict.witness)] if verdict.witness else verdict.scope.split("; ")
        )
        if verdict.holds and verdict.margin is not None:
            unit = "of delta" if policy.labels == "none" else "nats of each event's share"
            print(f"{verdict.margin:.1g} {unit} unused (0 is tight)")
    return 0 if verdict.holds else 1
