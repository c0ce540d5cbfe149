"""A history that ends: the corollary on a finite horizon, and what a deadline may do to a delay.

The paper (section on impossibility, corollary after the theorem): with neighbours of kind (2), where a
batched comment may move anywhere, every private mechanism posts everything at the end of the horizon.
That is right for delta 0; for delta above 0 it holds with a chance of at least 1 - delta. For the
one-sided promise a deadline is easy: min(release, end) is safe. Three other rules that look as good are
not, and this script says by how much (`docs/theory.md`, what breaks the promise).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from tarry.core.exact import log_of
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.verify import DelayRule, Size, Verdict, moves, paired, search
from tarry.paper.finding import Cell, Chart, Finding, RunSettings, Table, TableRows, line_chart, tabled
from tarry.paper.laws import default_laws

__all__ = ["CAPPED", "CLIPPED", "LATE", "RENORMALISED", "TITLE", "event_loss", "find", "pair_loss"]

TITLE = "A history that ends: everything at the end, and what a deadline may do"

EPSILON = Fraction(1)
GAP, END = 10, 26  # ticks: at epsilon 1 and weight 1, a gap of 10 ticks gives delays below 26
LEFT = (10, 12, 18, 26)  # ticks from the arrival to the deadline

#: What is seen of one event: how likely each release is, for an arrival at 0.
Seen = Mapping[int, Fraction]
#: A rule at a deadline: from an arrival, its law and the deadline to what is seen.
Rule = Callable[[int, Law, int], Seen]


# --- four rules ----------------------------------------------------------------------------------


def _pushed(law: Law, release: Callable[[int], int]) -> dict[int, Fraction]:
    """What a law of delays becomes when each delay is turned into a release."""
    seen: dict[int, Fraction] = defaultdict(Fraction)
    for delay in range((law.maximum or 0) + 1):
        if mass := law.mass(delay):
            seen[release(delay)] += mass
    return dict(seen)


def _renormalised(arrival: int, law: Law, deadline: int) -> Seen:
    left = deadline - arrival
    within = law.cumulative(left)
    if not within:  # a batched delay is longer than what is left: it can only leave at the deadline
        return {deadline: Fraction(1)}
    return {arrival + k: law.mass(k) / within for k in range(left + 1) if law.mass(k)}


CLIPPED = "the release, or the deadline if that is earlier"
RENORMALISED = "a delay drawn anew to end by the deadline"
CAPPED = "a cap on the delay"
LATE = "released at once when it would be late"
RULES: dict[str, Rule] = {
    CLIPPED: lambda at, law, end: _pushed(law, lambda delay: min(at + delay, end)),
    RENORMALISED: _renormalised,
    # No delay is longer than the gap, wherever the deadline is: the cap costs most just there.
    CAPPED: lambda at, law, end: _pushed(law, lambda delay: min(at + min(delay, GAP), end)),
    LATE: lambda at, law, end: _pushed(law, lambda delay: at + delay if at + delay <= end else at),
}


# --- what they cost ------------------------------------------------------------------------------


def event_loss(rule: str, left: int, pair: LawPair, *, moves_by: int | None = None) -> Fraction | None:
    """The largest ratio for one event, `left` ticks before the deadline; None for an infinite one.

    Batched now, against unbatched and up to a gap later (or later by exactly `moves_by` ticks), as long
    as that is no later than the deadline.

    >>> event_loss(LATE, 10, default_laws(10)) is None
    True
    """
    show = RULES[rule]
    batched, ratios = show(0, pair.batched, left), []
    for shift in range(min(pair.start, left) + 1) if moves_by is None else [moves_by]:
        other = show(shift, pair.unbatched, left)
        if batched.keys() - other.keys():
            return None
        ratios += [mass / other[at] for at, mass in batched.items()]
    return max(ratios)


def pair_loss(rule: str, left: int, pair: LawPair) -> Fraction | None:
    """The same for a batched pair: one stays where it is, the other may have come later.

    >>> round(log_of(pair_loss(RENORMALISED, 10, default_laws(10))), 2)
    4.86
    """
    stays, moved = event_loss(rule, left, pair, moves_by=0), event_loss(rule, left, pair)
    return None if stays is None or moved is None else stays * moved


def _nats(ratio: Fraction | None) -> Cell:
    return "infinite" if ratio is None else log_of(ratio)


def _losses() -> Table:
    pair = default_laws(GAP)
    return Table(
        title=f"What a rule at the deadline costs, in nats: epsilon 1, gap {GAP} ticks, delays below {END}",
        header=("rule", "ticks left", "an event", "a pair", "promised for a pair"),
        rows=[
            (
                rule,
                left,
                _nats(event_loss(rule, left, pair)),
                _nats(pair_loss(rule, left, pair)),
                float(EPSILON),
            )
            for rule in RULES
            for left in LEFT
        ],
    )


def _finer(gaps: tuple[int, ...]) -> Table:
    """Ticks that grow finer: the same moments, ever more ticks in a gap."""
    return Table(
        title="The same with finer ticks, one gap before the deadline: nats for a pair",
        header=("ticks in a gap", RENORMALISED, CLIPPED),
        rows=[
            (
                gap,
                _nats(pair_loss(RENORMALISED, gap, default_laws(gap))),
                _nats(pair_loss(CLIPPED, gap, default_laws(gap))),
            )
            for gap in gaps
        ],
    )


# --- the corollary -------------------------------------------------------------------------------


@tabled(
    "At once with a chance of delta, else at the end: private, and not all of it at the end",
    "delta",
    "can be told apart by",
    "leaves before the end",
)
def _corollary(horizon: int = 20) -> TableRows:
    """A mechanism that is (0, delta)-private and does not hold everything back until the end.

    Each comment leaves at once with a chance of delta, else at the end. A neighbour of kind (2) moves
    one comment anywhere; what can be told apart is the total variation, over all moves.
    """
    for delta in (Fraction(0), Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10)):
        shown = [{at: delta, horizon: 1 - delta} for at in range(horizon)]
        apart = max(
            sum(max(mass - other.get(at, Fraction(0)), Fraction(0)) for at, mass in one.items())
            for one in shown
            for other in shown
        )
        yield float(delta), float(apart), float(1 - shown[0][horizon])


@tabled(
    "What is paid for it: hours, over a week with a gap of one hour, epsilon 1",
    "rule",
    "mean delay at most",
    "longest delay",
)
def _cost() -> TableRows:
    """What it costs to hold everything back: a week, arrivals at any time of it, a gap of one hour."""
    week = 7 * 86_400
    mechanism = Policy(epsilon=EPSILON, gap="1h", labels="simultaneous", tick="1s").mechanism()
    yield "everything at the end", week / 2 / 3600, float(week / 3600)
    for name, law in (("batched", mechanism.pair.batched), ("unbatched", mechanism.pair.unbatched)):
        # An arrival so late that its delay does not fit is let out earlier; that only shortens the mean.
        yield f"{CLIPPED}: {name}", float(law.mean / 3600), (law.maximum or 0) / 3600


def _chart(pair: LawPair) -> Chart:
    rows = [
        {"line": rule, "left": left, "nats": log_of(loss)}
        for rule in (CLIPPED, RENORMALISED, CAPPED)
        for left in range(GAP, 2 * END + 1)
        if (loss := pair_loss(rule, left, pair)) is not None
    ]
    return line_chart(
        rows,
        x=("left", {"axis": {"title": "ticks from the arrival to the deadline"}}),
        y=("nats", {"axis": {"title": "nats for a pair (1 is promised)"}}),
    )


def _safe_says(pairs: Sequence[Cell], verdict: Verdict) -> str:
    """Whether a public deadline keeps the promise: by the laws, and by the search."""
    bounded = [nats for nats in pairs if isinstance(nats, float)]
    kept = len(bounded) == len(pairs) and max(bounded) <= EPSILON
    most = f"{max(bounded):.3f}" if len(bounded) == len(pairs) else "infinitely many"
    return (
        f"Letting everything out by a public deadline {'is' if kept and verdict.holds else 'is not'} safe: "
        f"at most {most} nats for a pair, where {float(EPSILON):g} is promised, and a search finds "
        f"{'no' if verdict.holds else 'a'} stream that is told apart by more ({verdict.scope})."
    )


def find(settings: RunSettings) -> Finding:
    """Check the deadline by search, price the other rules exactly, and draw them.

    >>> find(RunSettings(tiny=True)).name
    'horizon'
    """
    losses, corollary, cost = _losses(), _corollary(), _cost()
    finer = _finer((10, 100) if settings.tiny else (10, 30, 100, 300))
    size = Size(events=2 if settings.tiny else 3, span=3, moved=1)
    verdict = search(
        DelayRule(pair=default_laws(2), labels=paired(0), deadline=5),
        moves(paired(0), 2, size),
        EPSILON / 2,
        size,
    )
    at = {(row[0], row[1]): row for row in losses.rows}
    events, pairs = (", ".join(f"{at[RENORMALISED, left][i]:.2f}" for left in LEFT[:3]) for i in (2, 3))
    means = cost.column("mean delay at most")
    says = [
        _safe_says([row[3] for row in losses.rows if row[0] == CLIPPED], verdict),
        (
            f"Drawing the delay anew so that it ends in time is not: {pairs} nats for a pair "
            f"({events} for each of its events) when {', '.join(map(str, LEFT[:3]))} ticks are left, and "
            f"{finer.rows[-1][1]:.2f} with {finer.rows[-1][0]:,} ticks in a gap: it grows without end."
        ),
        (
            f"A cap on the delay at the gap costs up to {at[CAPPED, END][2]:.2f} nats for an event and "
            f"{at[CAPPED, END][3]:.2f} for a pair. Letting a late post out at once has no bound "
            f"({at[LATE, GAP][3]}): somebody who came later could not have been out that early."
        ),
        (
            "The corollary on a finite horizon is printed without a chance to fail. With delta "
            f"{corollary.rows[2][0]:g} a mechanism is private that lets {corollary.rows[2][2]:.0%} of the "
            "comments out at once, so that it holds with a chance of 1 - delta; with delta 0 it stands."
        ),
        (
            f"Holding everything back costs {means[0]:.0f} hours on average over a week, where the "
            f"one-sided promise at epsilon {float(EPSILON):g} and a gap of one hour takes {means[1]:.1f} "
            f"for batched and {means[2]:.1f} for unbatched events."
        ),
    ]
    return Finding(
        name="horizon",
        title=TITLE,
        says=says,
        tables={"losses": losses, "finer": finer, "corollary": corollary, "cost": cost},
        charts={"losses": _chart(default_laws(GAP))},
    )
