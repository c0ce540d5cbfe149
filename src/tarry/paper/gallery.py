"""A gallery of counterexamples: what one would think, two streams that show otherwise, and by how much.

Each row is a rule, what truly arrived, and another story that it should be confused with. The largest
ratio between the two is computed by following every draw, so it is exact; "infinite" means that something
is seen which cannot happen in the other story. The rules that hold are searched the same way, over all
small streams. Last comes the theorem on optimality, which a pair of laws outside its class beats.
"""

from fractions import Fraction
from math import inf, log

from tarry.core.exact import log_of
from tarry.core.verify import DelayRule, Rule, Size, moves, paired, search
from tarry.core.verify.streams import Neighbours, Stream
from tarry.paper.finding import Finding, RunSettings, Table, TableRows, tabled
from tarry.paper.frontier import COUNTEREXAMPLE, best_symmetric, counterexample_ratios
from tarry.paper.gallery_cases import AT_ONCE, CASES, HELD, ON_CLOCK, REDRAWN, in_words, nats, redrawn
from tarry.paper.gallery_rules import SHARE, UNITS, joint, stamped
from tarry.paper.laws import default_laws

__all__ = ["TITLE", "find"]

TITLE = "A gallery of counterexamples"

BURST_GAP, BURST_SHARE = 300, Fraction(1, 4)  # ticks and share of the burst that theory prices at 7.2 nats


@tabled(
    "What breaks: the largest log ratio between two stories, in nats, at epsilon 1",
    *("section", "rule", "one would think", "what arrived"),
    *("what it should be confused with", "nats", "one would promise", "right rule"),
)
def _broken() -> TableRows:
    for case in CASES:
        cost = nats(case)
        yield (
            case.section,
            case.name,
            case.thought,
            in_words(case.stream),
            in_words(case.other),
            "infinite" if cost == inf else cost,
            case.shares * float(SHARE),
            None if case.right is None else nats(case, case.right),
        )


# --- what holds ----------------------------------------------------------------------------------


def _after_parent(_: Stream, noisy: list[int]) -> list[int]:
    """Every act refers to the first one, in both stories, and does not appear before it."""
    return [noisy[0], *(max(at, noisy[0]) for at in noisy[1:])]


@tabled("What holds, by the same search over every small stream", "rule", "verdict", "looked at")
def _kept(size: Size) -> TableRows:
    pairs = Size(events=2, span=2, moved=1)
    at_once, on_clock = moves(paired(0), 2, size), moves(stamped(paired(0)), 2 * UNITS, size)
    deadline = DelayRule(pair=default_laws(2), labels=paired(0), deadline=5)
    sound: dict[str, tuple[Rule, Neighbours, Size]] = {
        "batches in one tick": (AT_ONCE, at_once, size),
        "labels held for a window": (HELD, moves(paired(1), 3, size), size),
        "a public deadline": (deadline, at_once, size),
        "arrivals rounded up to the tick": (ON_CLOCK, on_clock, size),
        "nothing before what it refers to": (joint(_after_parent), moves(paired(0), 2, pairs), pairs),
    }
    for name, (rule, neighbours, looked_at) in sound.items():
        verdict = search(rule, neighbours, SHARE, looked_at)
        yield name, verdict.word, verdict.scope


def _kept_says(kept: Table) -> str:
    passed, failed = (
        ", ".join(str(name) for name, word, _ in kept.rows if (word == "holds") == holds)
        for holds in (True, False)
    )
    if failed:
        return f"Of the rules that tarry follows some do not pass the same search: {failed}."
    return f"The rules that tarry follows pass the same search: {passed}."


# --- section 5: optimality -----------------------------------------------------------------------


def _optimality() -> Table:
    stays, moves_by = counterexample_ratios()
    epsilon = log(stays * moves_by)
    bound, gap = stays * moves_by, COUNTEREXAMPLE.start
    return Table(
        title=f"A pair of laws that beats the optimum: epsilon ln {bound}, a gap of {gap} ticks",
        header=(
            *("laws", "who stays, nats", "who moves, nats", "a pair, nats", "mean batched"),
            "mean unbatched",
        ),
        rows=[
            (
                "outside the class",
                log_of(stays),
                log_of(moves_by),
                log_of(stays * moves_by),
                float(COUNTEREXAMPLE.batched.mean),
                float(COUNTEREXAMPLE.unbatched.mean),
            ),
            ("best of the class", epsilon / 2, epsilon / 2, epsilon, best_symmetric(), None),
        ],
    )


def find(settings: RunSettings) -> Finding:
    """Price every counterexample, check what holds, and beat the optimum.

    >>> find(RunSettings(tiny=True)).name
    'gallery'
    """
    broken, optimality = _broken(), _optimality()
    kept = _kept(Size(events=2, span=2, moved=1) if settings.tiny else Size(events=3, span=3, moved=1))
    cost = dict(zip(broken.column("rule"), broken.column("nats"), strict=True))
    without = sum(value == "infinite" for value in cost.values())
    fresh = [nats(case, redrawn(draws)) for case in CASES if case.name == REDRAWN for draws in (2, 3)]
    burst = log_of(1 / default_laws(BURST_GAP, BURST_SHARE).unbatched.mass(1))
    says = [
        (
            f"In {without} of {len(cost)} cases one look can rule out the other story altogether (no "
            "bound): among them are Definition 1 read literally, Algorithm 3, and the paper's queue, which "
            "shows who came first. Look-back labels, which tarry offers as follower labels, do so only "
            "when the first of a batch moves."
        ),
        (
            "A pair costs epsilon, but a twin on the same target, a bridge, or a batch of three cost "
            f"{cost['a twin on the same target']:.2f}, {cost['a bridge between two lone posts']:.2f} and "
            f"{cost['a batch of three, dissolved']:.2f} at epsilon 1; a fresh draw after a withdrawal "
            f"{fresh[0]:.2f}, and {fresh[1] - fresh[0]:.2f} more for each further one, without end."
        ),
        (
            "Noise that is coordinated by actor meets the paper's definition exactly "
            f"({cost['a session for each actor, same person']:.2f} nats) and hides nothing from anybody "
            "who wonders whether two people were at work "
            f"({cost['a session for each actor, different people']})."
        ),
        (
            f"One draw for a burst costs {cost['one draw for a burst on one target']:.2f} nats at a gap of "
            f"two ticks; at {BURST_GAP} ticks and epsilon {float(2 * BURST_SHARE):g} it is {burst:.1f} "
            f"instead of {float(BURST_SHARE):g}."
        ),
        (
            "The theorem on optimality holds within its class alone: at epsilon "
            f"{optimality.rows[1][3]:.2f} laws outside it cost a pair {optimality.rows[0][3]:.2f} nats and "
            f"have a mean batched delay of {optimality.rows[0][4]:g} ticks, where the best of the class "
            f"has {optimality.rows[1][4]:.2f}."
        ),
        _kept_says(kept),
    ]
    return Finding(
        name="gallery",
        title=TITLE,
        says=says,
        tables={"broken": broken, "kept": kept, "optimality": optimality},
    )
