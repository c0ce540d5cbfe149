"""Draw one delay now: the seconds from this moment to the release, from the secure source.

The wait goes first to the next tick of the clock and then the drawn number of ticks: adding whole
ticks to this very moment would keep its fraction of a tick, which two acts at one moment share.

  sleep "$(tarry delay --epsilon 1 --gap 11m --window 5m --batched)" && git push
"""

import argparse
import time
from fractions import Fraction

from tarry.cli.options import add_json, add_policy_flags, policy_from
from tarry.cli.show import print_json
from tarry.core.entropy import Secure
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.release import draw_pair, release_tick
from tarry.core.ticks import ticks_up

__all__ = ["add_arguments", "run", "seconds_until"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry delay`."""
    add_policy_flags(parser)
    parser.add_argument(
        "--batched",
        action="store_true",
        help="this act is one of several on different targets within the window; who knows that at once "
        "saves the hold with labels declared",
    )
    parser.add_argument("--target", help="what is acted on, for policies with gaps by target")
    parser.add_argument("--track", help="its track, for policies with gaps by track")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the seconds to wait."""
    policy = policy_from(arguments)
    draws = draw_pair(policy, arguments.target, arguments.track, Secure())
    now = Fraction(time.time_ns(), 1_000_000_000)
    arrival = ticks_up(now, policy.tick)
    _check_moment(policy, arrival * policy.tick)
    release = release_tick(
        arrival,
        draws,
        batched=arguments.batched,
        hold=policy.hold_ticks,
        deadline=policy.deadline_tick,
    )
    seconds = seconds_until(release * policy.tick, now)
    if arguments.json:
        print_json({"delay_s": seconds, "release_at": float(release * policy.tick)})
    else:
        print(f"{seconds:f}")
    return 0


def _check_moment(policy: Policy, now: Fraction) -> None:
    """A policy outside its period, or past its deadline, protects nobody."""
    ends = [at for at in (policy.ends_at, policy.deadline_at) if at is not None]
    if (policy.starts_at is not None and now < policy.starts_at) or any(now > at for at in ends):
        raise BadInput(
            "a policy",
            "is used within its period (from, until, deadline)",
            found="a moment outside it",
            fix="renew the policy file",
        )


def seconds_until(moment: Fraction, now: Fraction) -> float:
    """The wait in seconds, rounded up to the microsecond so that it never ends before the tick.

    >>> seconds_until(Fraction(10), Fraction("9.4999999"))
    0.500001
    """
    return -(-(moment - now) * 1_000_000 // 1) / 1_000_000
