"""Checking a promise: exactly for laws, by exhaustive search for labelling and release rules.

`verify` decides about a policy. Laws are decided for all delays at the policy's own size. Labels,
draws and releases do not know how long a tick is, so they are searched on a small copy of the policy
(a gap of 2 ticks, a window of 1): a clean result says "no witness up to n events", and no more. They
are searched twice: with the theorem on whole ticks, and with the sentence that `explain` prints, which
speaks of time, on streams whose acts arrive anywhere inside a tick.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import inf

from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.promise import Promise, promise
from tarry.core.season import Accountant, Season
from tarry.core.verify.laws import Verdict, Witness, verify_label_free, verify_pair
from tarry.core.verify.rules import (
    DelayRule,
    JointRule,
    Progress,
    Rule,
    search,
    small_copy,
    small_rule,
    truthful,
)
from tarry.core.verify.streams import (
    Neighbours,
    Size,
    all_streams,
    definition_one,
    follower_moves,
    moves,
    paired,
    sentence_moves,
)

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
    "verify_season",
    "verify_sentence",
]

#: Moments of each tick at which acts of a stream in time arrive: its end, just before, just after the last.
MOMENTS = 3


def verify(policy: Policy, size: Size | None = None, progress: Progress | None = None) -> Verdict:
    """Whether a policy keeps its promise; the first part that breaks it decides.

    >>> verify(Policy(epsilon="1", gap="300s", window="60s"), Size(events=2)).word
    'holds'
    """
    verdicts: dict[str, Verdict] = {}
    for part, verdict in _parts(policy, size or Size(), progress):
        if not verdict.holds:
            return verdict
        verdicts[part] = verdict
    scope = "; ".join(f"{part}: {verdict.scope}" for part, verdict in verdicts.items())
    return replace(verdicts["laws"], scope=scope)


def _parts(policy: Policy, size: Size, progress: Progress | None) -> Iterator[tuple[str, Verdict]]:
    """What is looked at, the quickest first: behind a part that is broken nobody looks."""
    laws = [verify_law(policy, gap) for gap in policy.gaps]
    yield "laws", min(laws, key=lambda verdict: (verdict.holds, verdict.margin or 0.0))
    if policy.season is not None:
        yield "the season", verify_season(policy.mechanism().pair, policy.share, policy.season)
    yield "labels, draws and releases", verify_rules(policy, size, progress)
    yield "the sentence that explain prints", verify_sentence(policy, size, progress=progress)


def verify_law(policy: Policy, gap: Fraction | None = None) -> Verdict:
    """Whether the laws of one of a policy's gaps keep its promise, decided exactly.

    >>> verify_law(Policy(epsilon="2", gap="1h", window="5m", law="staircase")).word
    'holds'
    """
    pair = policy.mechanism(gap).pair
    if policy.labels == "none":
        return verify_label_free(pair.unbatched, pair.start, policy.epsilon, policy.delta)
    return verify_pair(pair, policy.share)


def verify_season(pair: LawPair, share: Fraction, season: Season) -> Verdict:
    """Whether the acts of a season cost what it says, or less: added up, every rounding against us.

    >>> policy = Policy(epsilon="1", gap="11m")
    >>> season = Season(acts=4, epsilon=Fraction(3, 2), delta=Fraction(1, 100))
    >>> print(verify_season(policy.mechanism().pair, policy.share, season).witness)
    4 acts that lose their partners move the odds by up to 1.98995 nats, and 1.5 is promised with delta 0.01
    """
    accountant = Accountant(pair, share)
    cost = accountant.epsilon(season.acts, season.delta)
    margin = float(season.epsilon - cost)
    scope = (
        f"{season.acts} acts, by {'their largest loss' if accountant.constant else 'their added losses'}"
    )
    if margin >= 0:
        return Verdict(holds=True, scope=scope, margin=margin)
    witness = Witness(
        batched=f"{season.acts} acts arrive batched",
        other=f"they arrive unbatched up to {pair.start} ticks later",
        seen="the releases that speak for it",
        ratio=float(accountant.delta(season.acts, season.epsilon)),
        allowed=float(season.delta),
        sentence=(
            f"{season.acts} acts that lose their partners move the odds by up to {float(cost):g} nats, and "
            f"{float(season.epsilon):g} is promised with delta {float(season.delta):g}"
        ),
    )
    return Verdict(holds=False, scope=scope, margin=margin, witness=witness)


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

    streams = (truthful(stream, window) for stream in all_streams(size))
    declared = _declared(neighbours, window)
    return search(rule, declared, small.share, size, streams=streams, progress=progress)


def verify_sentence(
    policy: Policy, size: Size, claim: Promise | None = None, progress: Progress | None = None
) -> Verdict:
    """Whether the sentence that `explain` prints is true of acts that arrive anywhere inside a tick.

    The sentence is the promise of `small_copy(policy, MOMENTS)`, unless another `claim` is to be checked.

    >>> verify_sentence(Policy(epsilon="1", gap="11m"), Size(events=2)).scope[:10]
    'no witness'
    """
    small = small_copy(policy, MOMENTS)
    claim = claim or promise(small)
    size = replace(size, moved=1, units=MOMENTS)
    window, near, reach = int(claim.window), int(claim.near), int(claim.reach)
    rule = small_rule(small)
    if small.labels == "none":
        return _verify_shifts(rule, reach, small.start_ticks(small.gap))
    neighbours = sentence_moves(
        window=window, near=near, reach=reach, later_only=small.labels == "follower"
    )
    # Whole ticks earlier or later make no difference: every stream begins in the first one.
    streams = (stream for stream in all_streams(size) if stream[0].at < MOMENTS)
    if small.labels == "declared":
        streams, neighbours = (truthful(s, window) for s in streams), _declared(neighbours, window)
    return search(rule, neighbours, small.share, size, streams=streams, progress=progress)


def _verify_shifts(rule: DelayRule, reach: int, start: int) -> Verdict:
    """Without labels only the ticks count that an act moves by: the law is checked for these."""
    for at, later in product(range(rule.units), range(reach + 1)):
        ticks = rule.stamp(at + later, rule.units) - rule.stamp(at, rule.units)
        if ticks > start:
            witness = Witness(
                batched=f"an act arrives at {Fraction(at, rule.units)}",
                other=f"it arrives at {Fraction(at + later, rule.units)}",
                seen=f"a release {start} ticks after the arrival",
                ratio=inf,
                allowed=1.0,
            )
            return Verdict(holds=False, scope="moves inside ticks", margin=-inf, witness=witness)
    return Verdict(holds=True, scope=f"every move, at {rule.units} moments in each tick")


def _declared(neighbours: Neighbours, window: int) -> Neighbours:
    """The promise is for truthful declarations: every author says the truth in both streams."""
    return lambda stream: (n._replace(stream=truthful(n.stream, window)) for n in neighbours(stream))
