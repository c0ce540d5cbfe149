"""What the paper and its notebook say of the attack on Wikipedia, and what made-up months give.

Each statement is measured on several months, as coded and with the percentile that a curve is named
after, so that it shows which of the two the printed figures come from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tarry.paper.finding import Cell, Table
from tarry.paper.months import wikipedia_month
from tarry.paper.wikipedia_coded import LOWER, SLIP_S, Curve, Delay, attack_samples, sampled_gaps
from tarry.paper.wikipedia_weeks import split_weeks
from tarry.study.figures import percent

__all__ = ["EPSILON", "STATEMENTS", "Measured", "Statement", "measure_statements", "printed_table"]

EPSILON = "0.5"  # of all statements with delay


_TEXT, _NOTEBOOK = "text", "notebook"
_READ = "the text's, read at 280 s"  # the text's recall, at a cutoff that it does not name
_TOLD = {_TEXT: "printed {}", _NOTEBOOK: "notebook {}", _READ: "the text's {}, read at 280 s"}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One figure of the paper, or of its notebook.

    >>> STATEMENTS["small"].told
    'notebook 68.0 %'
    """

    text: str
    printed: float
    source: str  # where it stands: one of `_TOLD`
    percentile: int | None  # of the curve, by its name; None: without delay
    figure: Callable[[Curve], float]
    expected: tuple[float | None, float | None] = (None, None)  # by our theory: as coded, as named

    @property
    def told(self) -> str:
        """The figure and where it is from."""
        return _TOLD[self.source].format(percent(self.printed))


#: In the section Experiments, Wikipedia, unless said otherwise.
STATEMENTS = {
    "plain": Statement(
        text="no delay: precision at 85 % recall",
        printed=0.80,  # "recall of 85 % at a precision of 80 %"
        source=_TEXT,
        percentile=None,
        figure=lambda curve: curve.precision_at(0.85),
    ),
    "precision": Statement(
        text="25th percentile: precision at 65 % recall",
        printed=0.60,  # "65 % recall at 60 % precision", said of a gap of 11 minutes
        source=_TEXT,
        percentile=25,
        figure=lambda curve: curve.precision_at(0.65),
    ),
    "small": Statement(
        text="25th percentile: precision at small cutoffs (30 s)",
        printed=0.68,
        source=_NOTEBOOK,
        percentile=25,
        figure=lambda curve: curve.at(30).precision,
        expected=(0.73, 0.46),
    ),
    "recall": Statement(
        text="25th percentile: recall at 280 s",
        printed=0.65,  # the other half of "65 % recall at 60 % precision": no figure of its own
        source=_READ,
        percentile=25,
        figure=lambda curve: curve.at(280).recall,
        expected=(0.64, 0.23),
    ),
    "far": Statement(
        text="75th percentile: precision at 80 % recall",
        printed=0.10,  # "80 % recall at 10 % precision": appendix, said of a gap of 79 minutes
        source=_TEXT,
        percentile=75,
        figure=lambda curve: curve.precision_at(0.80),
    ),
    "reordered": Statement(
        text="25th percentile: neighbours on a page that change places",
        printed=0.10,  # "roughly 10 % of revisions were reordered": Discussion
        source=_TEXT,
        percentile=25,
        figure=lambda curve: curve.reordered,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A statement's figure on each month.

    >>> Measured(coded=(0.5, 0.75), named=(0.25, 0.25)).mean_coded
    0.625
    """

    coded: Sequence[float]  # as coded
    named: Sequence[float]  # with the percentile that is named, all else as coded

    @property
    def mean_coded(self) -> float:
        """The mean over the months, as coded."""
        return fmean(self.coded)

    @property
    def mean_named(self) -> float:
        """The mean over the months, with the percentile that is named."""
        return fmean(self.named)


def measure_statements(seeds: Sequence[int], events: int, draws: int) -> dict[str, Measured]:
    """Every statement on a made-up month for each seed.

    >>> measure_statements([1], events=3_000, draws=1)["plain"].mean_coded > 0.5
    True
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for seed in seeds:
        curves = _curves(seed, events, draws)
        for name, one in STATEMENTS.items():
            coded, named = curves[one.percentile]
            found[name].append((one.figure(coded), one.figure(named)))
    return {
        name: Measured(coded=[pair[0] for pair in pairs], named=[pair[1] for pair in pairs])
        for name, pairs in found.items()
    }


def _curves(seed: int, events: int, draws: int) -> dict[int | None, tuple[Curve, Curve]]:
    """The curves of one month by their percentile: as coded, and with the percentile that is named."""
    weeks = split_weeks(wikipedia_month(seed, events))
    sampled = sampled_gaps(weeks.learn, draws, seed)
    plain = attack_samples(weeks.replay, None, draws, seed)
    found: dict[int | None, tuple[Curve, Curve]] = {None: (plain, plain)}
    for percentile in (25, 75):
        coded, named = (
            attack_samples(weeks.replay, Delay(EPSILON, sampled[which] + SLIP_S), draws, seed)
            for which in (LOWER[percentile], percentile)
        )
        found[percentile] = coded, named
    return found


def printed_table(measured: dict[str, Measured]) -> Table:
    """What is printed beside what the months give.

    >>> printed_table({"plain": Measured(coded=[0.5], named=[0.5])}).rows[0][:3]
    ['no delay: precision at 85 % recall', 0.8, 'text']
    """
    header = (
        *("statement", "printed", "source", "as coded", "as coded, least", "as coded, most"),
        *(
            "percentile as named",
            "as named, least",
            "as named, most",
            "expected as coded",
            "expected as named",
        ),
    )
    rows: list[list[Cell]] = [
        [
            *(STATEMENTS[name].text, STATEMENTS[name].printed, STATEMENTS[name].source),
            *(one.mean_coded, min(one.coded), max(one.coded)),
            *(one.mean_named, min(one.named), max(one.named)),
            *STATEMENTS[name].expected,
        ]
        for name, one in measured.items()
    ]
    months = max((len(one.coded) for one in measured.values()), default=0)
    title = f"What the paper says of the attack (epsilon {EPSILON}), on {months} made-up months"
    return Table(title=title, header=header, rows=rows)
