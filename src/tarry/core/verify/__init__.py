"""Checking a promise: exactly for laws, by exhaustive search for labelling and release rules.

`verify` decides about a policy. Laws are decided for all delays at the policy's own size. Labels,
draws and releases do not know how long a tick is, so they are searched on a small copy of the policy
(a gap of 2 ticks, a window of 1): a clean result says "no witness up to n events", and no more.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tarry.core.policy import Policy
from tarry.core.verify.laws import verify_label_free, verify_pair
from tarry.core.verify.rules import DelayRule, JointRule, Rule
from tarry.core.verify.search import Progress, search
from tarry.core.verify.small import small_copy, small_rule, truthful
from tarry.core.verify.streams import (
    Neighbour,
    Size,
    Stream,
    all_streams,
    definition_one,
    follower_moves,
    moves,
    paired,
)
from tarry.core.verify.verdict import Verdict, Witness

__all__ = [
    "DelayRule",
    "JointRule",
    "Progress",
    "Rule",
    "Size",
    "Verdict",
    "Witness",
    "definition_one",
    "follower_moves",
    "moves",
    "paired",
    "search",
    "verify",
    "verify_label_free",
    "verify_law",
    "verify_pair",
    "verify_rules",
]


def verify(policy: Policy, size: Size | None = None, progress: Progress | None = None) -> Verdict:
    """Whether a policy keeps its promise; the first thing found broken decides.

    >>> verify(Policy(epsilon="1", gap="300s", window="60s"), Size(events=2)).word
    'holds'
    """
    laws = [verify_law(policy, gap) for gap in policy.gaps]
    worst = min(laws, key=lambda verdict: (verdict.holds, verdict.margin or 0.0))
    if not worst.holds:
        return worst
    rules = verify_rules(policy, size or Size(), progress)
    if not rules.holds:
        return rules
    scope = f"laws: {worst.scope}; labels, draws and releases: {rules.scope}"
    return replace(worst, scope=scope)


def verify_law(policy: Policy, gap: Fraction | None = None) -> Verdict:
    """Whether the laws of one of a policy's gaps keep its promise, decided exactly.

    >>> verify_law(Policy(epsilon="2", gap="1h", window="5m", law="staircase")).word
    'holds'
    """
    pair = policy.mechanism(gap).pair
    if policy.labels == "none":
        return verify_label_free(pair.unbatched, pair.start, policy.epsilon, policy.delta)
    return verify_pair(pair, policy.share)


def verify_rules(policy: Policy, size: Size, progress: Progress | None = None) -> Verdict:
    """Whether the policy's rules keep its promise on every small stream.

    >>> verify_rules(Policy(epsilon="1", gap="11m"), Size(events=2)).scope[:10]
    'no witness'
    """
    if policy.labels == "none":
        return Verdict(holds=True, scope="no labels to look at")
    small = small_copy(policy)
    window, reach = small.window_ticks, small.start_ticks(small.gap)
    rule = small_rule(small)
    if small.labels == "follower":
        return search(rule, follower_moves(rule.labels, reach), small.share, size, progress=progress)
    neighbours = moves(paired(window), reach, size)
    if small.labels != "declared":
        return search(rule, neighbours, small.share, size, progress=progress)

    # Declarations are promised for when they are truthful: both stories are told truthfully.
    def told(stream: Stream) -> Iterator[Neighbour]:
        return (n._replace(stream=truthful(n.stream, window)) for n in neighbours(stream))

    streams = (truthful(stream, window) for stream in all_streams(size))
    return search(rule, told, small.share, size, streams=streams, progress=progress)
