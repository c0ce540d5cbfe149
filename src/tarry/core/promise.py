"""What a policy promises, in numbers and in words.

The promise is Theorem 1'' (`docs/theory.md`), not the paper's Definition 1: the words below say it,
and what is not promised, wherever epsilon is shown. The theorem counts ticks and people count time, so
the words are those of its corollary in real time, and `verify` checks the numbers in them.
"""

from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import inf, nextafter

from tarry.core.exact import exp_upper, format_duration
from tarry.core.policy import Policy
from tarry.core.season import Accountant, Season, on_ladder

__all__ = ["MEANINGLESS", "Promise", "coarse_tick", "promise"]

#: Nats above which a promise says next to nothing.
MEANINGLESS = Fraction(3)
#: Ticks that a window must have for acts that count as batched to be close to those within it.
_FINE = 10


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A promise: its numbers, and two lists of sentences a person can hold us to.

    >>> claim = promise(Policy(epsilon="1", gap="11m", window="5m"))
    >>> int(claim.window), int(claim.near), int(claim.reach)
    (300, 301, 960)
    """

    epsilon: Fraction  # per batched pair
    share: Fraction  # per event whose label differs
    window: Fraction  # seconds: one person's acts at most this far apart surely count as batched
    near: Fraction  # seconds: those at least this far apart surely do not; 0 without labels
    reach: Fraction  # seconds later that a batched act might as well have arrived
    delta: Fraction
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    season: Season | None
    accountant: Accountant = field(compare=False, repr=False)  # of acts whose labels differ

    @property
    def covers(self) -> int:
        """Batched events of one person up to which something meaningful is promised for all of them.

        >>> promise(Policy(epsilon="0.5", gap="11m")).covers  # six pairs
        12
        """
        return self.season.acts if self.season is not None else int(MEANINGLESS // self.share)

    def loss(self, batched_events: int, *, exact: bool = False) -> Fraction:
        """Nats that dissolving this many batched events may cost, at most; in a season, but for its delta.

        A season's costs are worked out for the counts of a ladder, and a count counts as the next one
        there; `exact` takes it as it is.

        >>> promise(Policy(epsilon="0.5", gap="11m")).loss(40)  # twenty pairs: nothing is left
        Fraction(10, 1)
        """
        if self.season is None:
            return self.share * batched_events
        acts = batched_events if exact else on_ladder(batched_events)
        return self.accountant.epsilon(acts, self.season.delta, rough=not exact)

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
        window=policy.window,
        near=_near(policy),
        reach=reach,
        delta=policy.delta,
        season=policy.season,
        accountant=Accountant(policy.mechanism().pair, policy.share),
        promised=(*_season(policy, reach), *_promised(policy, reach)),
        not_promised=(
            *_worthless(policy),
            *filter(None, (coarse_tick(policy),)),
            *_NOT_BY_RULE[policy.labels],
            *(() if policy.labels == "none" else _WITH_LABELS),
            *_near_the_end(policy, reach),
            _LONG_WATCH if policy.season is None else _BEYOND.format(acts=policy.season.acts),
            *_NEVER,
        ),
    )


def coarse_tick(policy: Policy) -> str:
    """A sentence about a tick that is not small against the window; empty where it is.

    >>> coarse_tick(Policy(epsilon="1", gap="11m", window="5m", tick="1m"))[:51]
    'Acts between 5m and 6m apart may count as batched o'
    """
    finest = policy.window / _FINE
    if not policy.window or policy.tick <= finest:
        return ""
    lengths = (policy.window, _near(policy), policy.tick, finest)
    window, near, tick, small = (format_duration(length) for length in lengths)
    return (
        f"Acts between {window} and {near} apart may count as batched or not: the tick ({tick}) is more "
        f"than a tenth of the window ({window}). Choose a tick of at most {small}."
    )


def _near(policy: Policy) -> Fraction:
    """H + 1 ticks: acts that far apart have arrival ticks that differ by more than H."""
    return Fraction(0) if policy.labels == "none" else (policy.window_ticks + 1) * policy.tick


def _promised(policy: Policy, reach: Fraction) -> tuple[str, ...]:
    until = format_duration(reach)
    if policy.labels == "none":
        return _promised_without_labels(policy, until)
    until += _reached_by(policy)
    together = (
        f"within {format_duration(policy.window)} of each other" if policy.window else "at one moment"
    )
    near = format_duration(_near(policy))
    follower = policy.labels == "follower"
    odds = _rounded_up(exp_upper(policy.share if follower else 2 * policy.share))
    pair = (
        f"Suppose two acts of one person on different targets arrived {together}, and nothing else of "
        f"theirs less than {near} from either. Whatever is seen is at most {odds} times as likely as if "
        f"{'the later one' if follower else 'either one'} had arrived up to {until} later, done by anyone "
        f"with no act on another target less than {near} from that moment."
    )
    each = f"{float(policy.share):g}"
    more = (
        f"In the unit of epsilon, each act that loses its partner costs {each}: a pair "
        f"{_multiple(policy, 2)}, an act that bridges two lone ones {_multiple(policy, 3)}, bursts of m "
        f"and k acts on two targets (m + k) x {each}."
    )
    # In a season costs do not add up so simply: the accountant says what a number of acts costs.
    return (pair,) if follower or policy.season is not None else (pair, more)


def _season(policy: Policy, reach: Fraction) -> tuple[str, ...]:
    """What is promised for all acts of a season together."""
    if (season := policy.season) is None:
        return ()
    factor = exp_upper(season.epsilon)
    moves = ", ".join(f"1:{against} to {_rounded_up(factor / against)}:1" for against in (1, 9, 99))
    odds = (
        f"For a season: compare what happened with any story in which up to {season.acts} acts of one "
        f"person ({float(season.pairs):g} pairs) were not batched and arrived up to "
        f"{format_duration(reach)} later, each as below. Whatever is seen moves the odds between the two "
        f"by a factor of at most "
        f"{_rounded_up(factor)}: from {moves}. They move further with a chance of at most "
        f"{float(season.delta):g} for each person: {float(1000 * season.delta):g} of 1,000 people."
    )
    beyond = (
        f"Whoever has more than {season.acts} batched acts stays covered against every story that changes "
        f"at most {season.acts} of them."
    )
    return odds, beyond


def _reached_by(policy: Policy) -> str:
    """What the reach is made of, where it is not just the gap."""
    windowed = policy.labels in ("held", "declared") and policy.window
    gap = "the smallest gap" if len(policy.gaps) > 1 else "the gap"
    if not windowed and len(policy.gaps) == 1:
        return ""
    exactly = all(length % policy.tick == 0 for length in (min(policy.gaps), policy.window))
    return f" ({gap}{' and the window' if windowed else ''}{'' if exactly else ', in whole ticks'})"


def _promised_without_labels(policy: Policy, until: str) -> tuple[str, ...]:
    odds = _rounded_up(exp_upper(policy.epsilon))
    one = (
        f"Suppose any one act had arrived up to {until} later, by anyone, in whatever company. Whatever "
        f"one looks for among the releases is seen at most {odds} times as often as it would be then, "
        f"and a chance of {float(policy.delta):g} on top."
    )
    return one, "Each further act that moves adds epsilon again, and more than delta again to the chance."


def _worthless(policy: Policy) -> tuple[str, ...]:
    sentence = f"Much: an epsilon of {float(policy.epsilon):g} hides hardly anything; 0.5 to 2 is usual."
    return (sentence,) if policy.epsilon > MEANINGLESS else ()


def _near_the_end(policy: Policy, reach: Fraction) -> tuple[str, ...]:
    """What arrives shortly before a deadline could not have arrived much later."""
    bounds = {"deadline": policy.deadline_at, "end": policy.ends_at}
    ends = {name: at for name, at in bounds.items() if at is not None}
    if not ends:
        return ()
    # Arrivals are refused from the last whole tick before it on.
    within = reach + max(at % policy.tick for at in ends.values())
    sentence = (
        f"Within {format_duration(within)} of the policy's {' or '.join(ends)}: a later arrival would have "
        "been refused, so only stories with an arrival before it are covered."
    )
    return (sentence,)


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
_LONG_WATCH = (
    "A long watch: epsilon is spent again and again; above 3 to 5 in all, for one person, nothing "
    "meaningful is promised against someone who keeps watching."
)
_BEYOND = (
    "A story that changes more than {acts} acts of one person. And who is active on the same days: delays "
    "of hours do not hide that."
)
_NEVER = (
    (
        "Style, content, network address, or times that a client or platform writes down itself: only "
        "the moment of release is protected."
    ),
)
