"""Draw one delay now: the seconds from this moment to the release, from the secure source.

The wait goes to the next tick of the clock, and then on for the drawn number of ticks. Without the first
step two acts of one moment would share their fraction of a tick.

  sleep "$(tarry delay --epsilon 1 --gap 11m --window 5m --batched)" && git push
"""

import argparse
import time
from fractions import Fraction

from tarry.cli.main import Argument, add_all
from tarry.cli.options import add_policy, policy_from
from tarry.cli.show import print_answer
from tarry.core.entropy import Secure
from tarry.core.errors import BadInput
from tarry.core.exact import ticks_up
from tarry.core.release import draw_pair, release_ticks
from tarry.keep.store import check_period

__all__ = ["add_arguments", "micros_until", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry delay`."""
    add_policy(parser)
    add_all(
        parser,
        Argument(
            "--batched",
            action="store_true",
            help="this act is batched: another of yours, on a different target, lies within the window "
            "(an earlier one, with labels follower)",
        ),
        Argument("--target", help="what is acted on, for policies with gaps by target"),
        Argument("--track", help="its track, for policies with gaps by track"),
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the seconds to wait."""
    policy = policy_from(arguments)
    if arguments.batched and policy.labels == "none":
        raise BadInput("--batched means nothing to a policy with labels none", "leave it out")
    draws = draw_pair(policy, arguments.target, arguments.track, Secure())
    now = Fraction(time.time_ns(), 1_000_000_000)
    arrival = ticks_up(now, policy.tick)
    check_period(policy, arrival)
    release = release_ticks(
        arrival,
        draws,
        batched=arguments.batched,
        hold=policy.hold_ticks,
        deadline=policy.deadline_tick,
    )
    micros = micros_until(release * policy.tick, now)
    print_answer(
        arguments,
        f"{micros // 1_000_000}.{micros % 1_000_000:06d}",
        delay_s=micros / 1_000_000,
        release_at=release * policy.tick,
    )


def micros_until(moment: Fraction, now: Fraction) -> int:
    """The wait in microseconds, rounded up so that it never ends before the tick.

    >>> micros_until(Fraction(10), Fraction("9.4999999"))
    500001
    """
    return int(-(-(moment - now) * 1_000_000 // 1))
