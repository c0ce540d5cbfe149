"""A policy's own rules, small enough to follow every draw: the real labels, draws and releases."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.policy import LabelRule, Policy
from tarry.core.verify.rules import DelayRule
from tarry.core.verify.streams import LabelFunction, Stream

__all__ = ["real_labels", "small_copy", "small_rule", "truthful"]

_ENDLESS = ("exponential", "staircase")


def small_copy(policy: Policy, tick: int = 1) -> Policy:
    """The policy with a tick of 1 s or more, a gap of 2 ticks and, where it has one, a window of 1 tick.

    A law without an end gives its place to the default one, and an epsilon below 1 becomes 1 so that
    there are few delays to follow: rules treat all laws and epsilons alike.

    >>> small_copy(Policy(epsilon="1", gap="11m")).window
    Fraction(1, 1)
    """
    endless = policy.mechanism().pair.unbatched.maximum is None
    return replace(
        policy,
        epsilon=max(policy.epsilon, Fraction(1)),
        gap=Fraction(2 * tick),
        window=Fraction(tick) if policy.window else Fraction(0),
        tick=Fraction(tick),
        law="zero-inflated-uniform" if endless else policy.law,
        target_gaps={},
        track_gaps={},
        starts_at=None,
        ends_at=None,
        deadline_at=None,
    )


def small_rule(policy: Policy) -> DelayRule:
    """The rule that a (small) policy follows, by the code that follows it in earnest.

    Streams have times in seconds.

    >>> small_rule(small_copy(Policy(epsilon="1", gap="11m"))).hold
    1
    """
    mechanism = policy.mechanism()
    labels = real_labels(policy.labels, policy.window_ticks)
    return DelayRule(pair=mechanism.pair, labels=labels, hold=mechanism.hold, units=int(policy.tick))


def real_labels(rule: LabelRule, window: int) -> LabelFunction:
    """`label_events` on small streams; acts in one tick are admitted in stream order.

    >>> from tarry.core.verify.streams import Act
    >>> real_labels("follower", 1)((Act(0, 0, 0), Act(0, 0, 1)))
    (False, True)
    """

    @cache
    def labels(stream: Stream) -> tuple[bool, ...]:
        admitted = sorted(range(len(stream)), key=lambda i: (stream[i].at, i))
        history = History(
            actor=[act.actor for act in stream],
            target=[act.target for act in stream],
            time=[act.at for act in stream],
            unit=Fraction(1),
            declared=[act.declared for act in stream],
            sequence=[admitted.index(i) for i in range(len(stream))],
        )
        return tuple(label_events(rule, history, history.times, window).tolist())

    return labels


def truthful(stream: Stream, window: int) -> Stream:
    """The stream with every author saying rightly whether more will come within the window.

    >>> from tarry.core.verify.streams import Act
    >>> [act.declared for act in truthful((Act(0, 0, 0), Act(1, 0, 1)), 1)]
    [True, False]
    """
    return tuple(act._replace(declared=_more(stream, i, window)) for i, act in enumerate(stream))


def _more(stream: Stream, i: int, window: int) -> bool:
    now = stream[i]
    return any(
        later.actor == now.actor
        and later.target != now.target
        and 0 <= later.at - now.at <= window
        and (later.at, j) > (now.at, i)
        for j, later in enumerate(stream)
    )
