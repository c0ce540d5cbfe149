"""What the workbench shows at a glance: waits, how often an observer is right, and the trade between them.

`static/preview.js` computes the same while a slider moves.
"""

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from tarry.console.workbench.evening import Success, base_rate, releases, success, watch
from tarry.console.workbench.figures import FIELDS, STRANGERS_S, Choices, Figures
from tarry.console.workbench.seasons import masses, season_grid
from tarry.core.exact import parse_duration
from tarry.core.law import Law, Run
from tarry.core.mechanism import LawPair
from tarry.core.plan import plan
from tarry.core.policy import Policy

__all__ = ["PRESETS", "BudgetStop", "Facts", "about", "facts", "season_pair", "share_words", "trades"]

#: Where to begin, by the name of a text: what people do there, and what they can wait.
PRESETS = {
    "forum": {"law": "pair", "epsilon": "1", "gap": "11m", "window": "5m"},
    "conference": {"law": "season", "pairs": "30", "total": "4", "gap": "1h", "window": "10m"},
    "wiki": {"law": "pair", "epsilon": "2", "gap": "30m", "window": "5m"},
    "wallet": {"law": "pair", "epsilon": "0.5", "gap": "1h", "window": "20m"},
}


class BudgetStop(NamedTuple):
    """One stop of the slider of the budget: what batched acts wait, and how often an observer is right.

    >>> BudgetStop(value="1", wait_s=1999.5, right=0.27).value
    '1'
    """

    value: str
    wait_s: float
    right: float | None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is drawn, in plain numbers: for the browser and the pictures of the server alike.

    >>> from tarry.console.workbench.figures import START, figures
    >>> facts(figures(START)).waits["batched"]
    (1260.0, 1999.5, 2739.0)
    """

    law: str
    hold: int
    start: int
    epsilon: float  # of one pair
    innocent: float  # P0
    laws: dict[str, list[tuple[int, float]]]  # runs of ticks, and the mass of each
    shape: tuple[int, float] | None  # blocks and order of a season
    waits: dict[str, tuple[float, float, float]]  # shortest, mean, longest; hold included
    without: Success
    delayed: Success
    base: float
    trades: tuple[BudgetStop, ...]
    budget: str  # the slider that the trades are stops of
    weight_counts: bool

    def as_json(self) -> dict[str, Any]:
        """By name, successes and trades too."""
        named: dict[str, Any] = {name: getattr(self, name)._asdict() for name in ("without", "delayed")}
        named["trades"] = [trade._asdict() for trade in self.trades]
        return {**asdict(self), **named, "strangers_s": STRANGERS_S}


def facts(numbers: Figures) -> Facts:
    """The facts of one set of choices.

    >>> from tarry.console.workbench.figures import START, figures
    >>> round(facts(figures(START)).delayed.person, 2)
    0.27
    """
    choices, policy, delays = numbers.choices, numbers.choices.policy, numbers.delays
    pair, evening = policy.mechanism().pair, watch(choices)
    kinds = {"batched": (pair.batched, delays.batched), "unbatched": (pair.unbatched, delays.unbatched)}
    return Facts(
        law=choices.law,
        hold=policy.hold_ticks,
        start=pair.start,
        epsilon=float(policy.epsilon),
        innocent=float(numbers.mass),
        laws={
            name: [(run.length, float(run.mass)) for run in law.head] for name, (law, _) in kinds.items()
        },
        shape=None if policy.blocks is None else (policy.blocks, float(policy.order or 0)),
        waits={
            name: (float(waits.minimum), float(waits.mean), float(waits.maximum or 0))
            for name, (_, waits) in kinds.items()
        },
        without=evening.without,
        delayed=evening.delayed,
        base=base_rate(),
        trades=trades(replace(choices, draw=1)),
        budget="total" if choices.law == "season" else "epsilon",
        weight_counts=choices.weight_counts,
    )


@lru_cache(maxsize=128)
def trades(choices: Choices) -> tuple[BudgetStop, ...]:
    """The stops of the budget, all else as chosen; none for a season whose numbers are no stops themselves.

    >>> from tarry.console.workbench.figures import START
    >>> [round(trade.wait_s / 60) for trade in trades(START)[::7]]
    [177, 40, 26, 22]
    """
    if choices.law == "season":
        return tuple(_season_trades(choices))
    found = []
    for value in FIELDS["epsilon"].steps.split():
        policy = replace(choices.policy, epsilon=Fraction(value))
        pair = policy.mechanism().pair
        found.append(
            BudgetStop(value, float(plan(policy).batched.mean), _right(pair, policy, choices.cutoff).person)
        )
    return tuple(found)


def _season_trades(choices: Choices) -> list[BudgetStop]:
    found = []
    for value in FIELDS["total"].steps.split():
        shape = season_grid().shape(str(choices.pairs), value, choices.delta)
        if shape is None:
            continue
        start = choices.policy.mechanism().pair.start
        pair = season_pair(*shape, start)
        wait = choices.policy.hold_ticks + (start + shape[0] * start - 1) / 2
        found.append(BudgetStop(value, wait, _right(pair, choices.policy, choices.cutoff).person))
    return found


def season_pair(blocks: int, order: float, start: int) -> LawPair:
    """The cosine pair in floats: quick enough for a curve, and for nothing else.

    >>> season_pair(7, 6.0, 10).batched.maximum
    69
    """
    unbatched, batched = (
        tuple(Run(start, Fraction(mass / start)) for mass in row) for row in masses(blocks, order)
    )
    return LawPair(
        batched=_law((Run(start, Fraction(0)), *batched)), unbatched=_law(unbatched), start=start
    )


def _law(runs: tuple[Run, ...]) -> Law:
    """With a sum of exactly 1, which floats miss."""
    *first, last = runs
    left = 1 - sum((run.total for run in first), Fraction(0))
    return Law((*first, Run(last.length, left / last.length)))


def _right(pair: LawPair, policy: Policy, cutoff: str) -> Success:
    window = policy.window_ticks
    at = releases(pair.batched, pair.unbatched, policy.hold_ticks, window)
    return success(at, window, int(parse_duration(cutoff)))


# --- in words that a glance takes in -------------------------------------------------------------------


def about(seconds: float) -> str:
    """A delay, to two digits or so.

    >>> about(40), about(1999.5), about(9000), about(200_000)
    ('40 s', '33 min', '2.5 h', '2.3 d')
    """
    for most, size, unit in ((90, 1, "s"), (5400, 60, "min"), (129_600, 3600, "h")):
        if seconds < most:
            return f"{_two(seconds / size, whole=unit != 'h')} {unit}"
    return f"{_two(seconds / 86_400, whole=False)} d"


def _two(number: float, *, whole: bool) -> str:
    # Halves up, as browsers round.
    if whole or number >= 10:
        return str(int(number + 0.5))
    return f"{int(10 * number + 0.5) / 10:g}"


def share_words(share: float | None, none: str) -> str:
    """A share in whole percent.

    >>> share_words(0.294, "no guess"), share_words(None, "no guess")
    ('29 %', 'no guess')
    """
    return none if share is None else f"{int(100 * share + 0.5)} %"
