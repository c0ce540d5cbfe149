"""What a policy promises, in numbers and in words.

The promise is Theorem 1'' (`docs/theory.md`), not the paper's Definition 1: the words below say it,
and what is not promised, wherever epsilon is shown.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import inf, nextafter

from tarry.core.durations import format_duration
from tarry.core.exact import exp_upper
from tarry.core.policy import Policy

__all__ = ["MEANINGLESS", "Promise", "promise"]

#: Nats above which a promise says next to nothing.
MEANINGLESS = Fraction(3)


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise: its numbers, and two lists of sentences a person can hold us to.

    >>> promise(Policy(epsilon="1", gap="11m", window="5m")).reach
    Fraction(960, 1)
    """

    epsilon: Fraction  # per batched pair
    share: Fraction  # per event whose label differs
    reach: Fraction  # seconds later that a batched act might as well have arrived
    delta: Fraction
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]

    def loss(self, batched_events: int) -> Fraction:
        """Nats that dissolving this many batched events may cost, at most.

        >>> promise(Policy(epsilon="0.5", gap="11m")).loss(40)  # twenty pairs: nothing is left
        Fraction(10, 1)
        """
        return self.share * batched_events

    def odds(self, batched_events: int) -> float:
        """The factor by which an observer's odds may move, rounded up."""
        loss = self.loss(batched_events)
        return nextafter(float(exp_upper(loss)), inf) if 0 < loss < 700 else inf if loss else 1.0


def promise(policy: Policy) -> Promise:
    """The promise of a policy.

    >>> promise(Policy(epsilon="1", gap="11m", window="5m")).promised[0][:60]
    'Suppose two acts of one person on different targets arrived '
    """
    reach = policy.start_ticks(min(policy.gaps)) * policy.tick
    return Promise(
        epsilon=policy.epsilon,
        share=policy.share,
        reach=reach,
        delta=policy.delta,
        promised=_promised(policy, reach),
        not_promised=(
            *_worthless(policy),
            *_NOT_BY_RULE[policy.labels],
            *(() if policy.labels == "none" else _WITH_LABELS),
            *_near_the_end(policy, reach),
            *_NEVER,
        ),
    )


def _promised(policy: Policy, reach: Fraction) -> tuple[str, ...]:
    until = format_duration(reach)
    if policy.labels == "none":
        return _promised_without_labels(policy, until)
    until += _reached_by(policy)
    near = f"within {format_duration(policy.window)} of each other" if policy.window else "at one moment"
    follower = policy.labels == "follower"
    odds = _rounded_up(exp_upper(policy.share if follower else 2 * policy.share))
    pair = (
        f"Suppose two acts of one person on different targets arrived {near}, and nothing else of theirs "
        f"that near. Whatever is seen is at most {odds} times as likely as if "
        f"{'the later one' if follower else 'either one'} had arrived up to {until} later, done by anyone "
        "who was not acting elsewhere then."
    )
    each = f"{float(policy.share):g}"
    more = (
        f"In the unit of epsilon, each act that loses its partner costs {each}: a pair "
        f"{_multiple(policy, 2)}, an act that bridges two lone ones {_multiple(policy, 3)}, bursts of m "
        f"and k acts on two targets (m + k) x {each}."
    )
    return (pair,) if follower else (pair, more)


def _reached_by(policy: Policy) -> str:
    """What the reach is made of, where it is not just the gap."""
    windowed = policy.labels in ("held", "declared") and policy.window
    gap = "the smallest gap" if len(policy.gaps) > 1 else "the gap"
    return f" ({gap} and the window)" if windowed else f" ({gap})" if len(policy.gaps) > 1 else ""


def _promised_without_labels(policy: Policy, until: str) -> tuple[str, ...]:
    odds = _rounded_up(exp_upper(policy.epsilon))
    one = (
        f"Suppose any one act had arrived up to {until} later, by anyone, in whatever company. Whatever "
        f"one looks for among the releases is seen at most {odds} times as often as it would be then, "
        f"and a chance of {float(policy.delta):g} on top."
    )
    return one, "Each further act that moves adds epsilon again, and more than delta again to the chance."


def _worthless(policy: Policy) -> tuple[str, ...]:
    told = f"Much: an epsilon of {float(policy.epsilon):g} hides hardly anything; 0.5 to 2 is usual."
    return (told,) if policy.epsilon > MEANINGLESS else ()


def _near_the_end(policy: Policy, reach: Fraction) -> tuple[str, ...]:
    """What arrives shortly before a deadline could not have arrived much later."""
    bounds = (("deadline", policy.deadline_at), ("end", policy.ends_at))
    ends = " or ".join(name for name, at in bounds if at is not None)
    told = (
        f"Within {format_duration(reach)} of the policy's {ends}: a later arrival would have been "
        "refused, so only stories with an arrival before it are covered."
    )
    return (told,) if ends else ()


def _rounded_up(number: Fraction) -> str:
    """Three digits, never fewer odds than there are."""
    up = Context(prec=3, rounding=ROUND_CEILING)
    return f"{float(up.divide(Decimal(number.numerator), Decimal(number.denominator))):g}"


def _multiple(policy: Policy, events: int) -> str:
    return f"{float(policy.share * events):g}"


_NOT_BY_RULE = {
    "held": (),
    "simultaneous": ("Acts at different ticks are not counted as batched, however close.",),
    "declared": ("A first act whose author did not say that more would come: its time is not protected.",),
    "follower": (
        "The first act of a burst: its own time is not protected.",
        "The second and third act of a burst against each other: only at twice epsilon.",
    ),
    "none": ("An act that in truth arrived later than in the story it is compared with.",),
}
_WITH_LABELS = (
    "That an act was alone: the delays may show that it was not batched.",
    "An act that in truth arrived later than in the story it is compared with.",
    "Which of two batches an act belongs to, batches merged into one, or moves inside the window.",
)
_NEVER = (
    (
        "A long watch: epsilon is spent again and again; above 3 to 5 in all, for one person, nothing "
        "meaningful is promised against someone who keeps watching."
    ),
    (
        "Style, content, network address, or times that a client or platform writes down itself: only "
        "the moment of release is protected."
    ),
)
