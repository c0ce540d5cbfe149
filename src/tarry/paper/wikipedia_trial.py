"""What both versions of the Wikipedia experiment give: on one history, and for each printed statement.

A statement of the paper or its notebook is measured on several made-up months, as coded and with the
percentile that a curve is named after: it shows which of the two the printed figures come from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tarry.core.calibrate import LearnedGap
from tarry.paper.finding import Cell, Chart, Table, line_chart
from tarry.paper.wikipedia_months import Weeks, split_weeks, wikipedia_month
from tarry.paper.wikipedia_versions import (
    EPSILONS,
    LOWER,
    NOTHING,
    PERCENTILES,
    SLIP_S,
    Curve,
    Delay,
    attack_samples,
    distinct_gaps,
    learn_gaps,
    practice_name,
    replay_everybody,
    result_of,
    sampled_gaps,
)
from tarry.study.audit import Report
from tarry.study.charts.curves import precision_chart
from tarry.study.charts.style import percent_axis
from tarry.study.figures import percent

__all__ = [
    "EPSILON",
    "STATEMENTS",
    "Measured",
    "Statement",
    "WikiTrial",
    "coded_table",
    "corrected_table",
    "gap_rows",
    "measure_statements",
    "printed_table",
    "run_trial",
    "trial_charts",
]


# Cutoffs in the corrected pictures, seconds: as many as have room for their names.
_SHOWN = {10, 60, 120, 200, 300, 600, 1800, 7200}


@dataclass(frozen=True, kw_only=True)
class WikiTrial:
    """What both versions find on one history.

    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> len(trial.coded), trial.learned[25].gap
    (12, Fraction(301, 1))
    """

    name: str
    weeks: Weeks
    sampled: Mapping[int, float]  # seconds: percentiles of gaps as coded
    plain: Curve  # as coded, without any delay
    coded: Mapping[tuple[int, str], Curve]  # by the percentile in the curve's name, and epsilon
    learned: Mapping[int, LearnedGap]  # everybody's gaps
    held: Report  # corrected, labels known after the window
    declared: Report  # corrected, labels known at once


def run_trial(name: str, weeks: Weeks, draws: int, seed: int) -> WikiTrial:
    """Run both versions; samples of users differ more than delays do, so they are drawn more often.

    >>> run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0).plain.mean_s
    0.0
    """
    samples = 4 * draws
    sampled = sampled_gaps(weeks.learn, samples, seed)
    coded = {
        (percent, epsilon): attack_samples(
            weeks.replay, Delay(epsilon, sampled[LOWER[percent]] + SLIP_S), samples, seed
        )
        for percent in PERCENTILES
        for epsilon in EPSILONS
    }
    return WikiTrial(
        name=name,
        weeks=weeks,
        sampled=sampled,
        plain=attack_samples(weeks.replay, None, samples, seed),
        coded=coded,
        learned=learn_gaps(weeks.learn),
        held=replay_everybody(weeks, "held", draws, seed),
        declared=replay_everybody(weeks, "declared", draws, seed),
    )


def gap_rows(trial: WikiTrial) -> list[list[Cell]]:
    """A row for each percentile: the gap as coded, everybody's, and what was done to it.

    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> gap_rows(trial)[0][-1]
    'the learned gap 21s is not above the window 5m: raised to 5m1s'
    """
    return [
        [
            trial.name,
            percent,
            trial.sampled[percent],
            trial.sampled[LOWER[percent]],
            float(one.measured),
            float(one.gap),
            one.message or None,
        ]
        for percent, one in trial.learned.items()
    ]


def coded_table(trial: WikiTrial) -> Table:
    """Every curve of the authors' version.

    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> coded_table(trial).column("epsilon")[:3]
    [None, '0.1', '0.5']
    """
    named: list[tuple[int | None, str | None, Curve]] = [
        (None, None, trial.plain),
        *((percent, epsilon, curve) for (percent, epsilon), curve in trial.coded.items()),
    ]
    return Table(
        title=f"As coded, {trial.name}: samples of a tenth of the users",
        header=(
            *("percentile named", "gap it ran with, s", "epsilon", "precision at 30 s"),
            *("recall at 280 s", "precision at 65 % recall", "mean delay, min", "reordered"),
        ),
        rows=[
            [
                percent,
                None if percent is None else trial.sampled[LOWER[percent]],
                epsilon,
                curve.at(30).precision,
                curve.at(280).recall,
                curve.precision_at(0.65),
                curve.mean_s / 60,
                curve.reordered,
            ]
            for percent, epsilon, curve in named
        ],
    )


def corrected_table(trial: WikiTrial) -> Table:
    """Every policy of the corrected version.

    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> sorted(set(corrected_table(trial).column("labels")))
    ['-', 'declared', 'held']
    """
    policies = (
        [
            labels,
            ", ".join(map(str, percents)),
            float(gap),
            epsilon,
            *_figures(measured, practice_name(gap, epsilon)),
        ]
        for labels, measured in (("held", trial.held), ("declared", trial.declared))
        for gap, percents in distinct_gaps(trial.learned).items()
        for epsilon in EPSILONS
    )
    return Table(
        title=f"Corrected, {trial.name}: everybody",
        header=(
            *("labels", "percentiles", "gap used, s", "epsilon", "precision at 30 s"),
            *("recall at 280 s", "precision at 65 % recall", "average precision"),
            *("mean delay, min", "longest, min", "reordered"),
        ),
        rows=[["-", "-", None, None, *_figures(trial.held, NOTHING)], *policies],
    )


def _figures(measured: Report, practice: str) -> list[Cell]:
    one = result_of(measured, practice)
    attacked = [one.precision, one.recall, one.precision_far, one.average_precision]
    return [*attacked, one.mean_s / 60, one.longest_s / 60, one.reordered]


def trial_charts(trial: WikiTrial, percents: tuple[int, ...] = PERCENTILES) -> dict[str, Chart]:
    """Precision over recall in both versions; percentiles with one and the same gap share a picture.

    >>> trial = run_trial("made-up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> list(trial_charts(trial, (25, 50)))
    ['made-up-as-coded-25', 'made-up-as-coded-50', 'made-up-corrected-25-50']
    """
    charts = {f"{trial.name}-as-coded-{percent}": _coded_chart(trial, percent) for percent in percents}
    gaps = distinct_gaps({percent: trial.learned[percent] for percent in percents})
    for gap, same in gaps.items():
        names = {
            NOTHING: NOTHING,
            **{practice_name(gap, epsilon): f"epsilon {epsilon}" for epsilon in EPSILONS},
        }
        runs = [
            replace(
                run, policy=names[run.policy], scores=[one for one in run.scores if one.cutoff_s in _SHOWN]
            )
            for run in trial.held.runs
            if run.policy in names
        ]
        charts[f"{trial.name}-corrected-{'-'.join(map(str, same))}"] = precision_chart(runs)
    return charts


def _coded_chart(trial: WikiTrial, percent: int) -> Chart:
    """As in the paper's figures: the mean over the draws, precision made monotone."""
    curves = {NOTHING: trial.plain}
    curves |= {f"epsilon {epsilon}": trial.coded[percent, epsilon] for epsilon in EPSILONS}
    rows = [{"line": name, **point._asdict()} for name, curve in curves.items() for point in curve.points]
    return line_chart(
        rows,
        x=("recall", percent_axis("linked pairs that are found (recall)")),
        y=("precision", percent_axis("claims that are right (precision), smoothed")),
        dots=rows,
    )


# --- what the paper and its notebook say of the attack --------------------------------------------

EPSILON = "0.5"  # of all statements with delay


_TEXT, _NOTEBOOK = "text", "notebook"
_READ = "the text's, read at 280 s"  # the text's recall, at a cutoff that it does not name
_QUOTED = {_TEXT: "printed {}", _NOTEBOOK: "notebook {}", _READ: "the text's {}, read at 280 s"}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One figure of the paper, or of its notebook.

    >>> STATEMENTS["small"].quoted
    'notebook 68.0 %'
    """

    text: str
    printed: float
    source: str  # where it stands: one of `_QUOTED`
    percentile: int | None  # of the curve, by its name; None: without delay
    figure: Callable[[Curve], float]
    expected: tuple[float | None, float | None] = (None, None)  # by our theory: as coded, as named

    @property
    def quoted(self) -> str:
        """The figure and where it is from."""
        return _QUOTED[self.source].format(percent(self.printed))


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
    months = [_curves(seed, events, draws) for seed in seeds]
    return {
        name: Measured(
            coded=[one.figure(curves[one.percentile][0]) for curves in months],
            named=[one.figure(curves[one.percentile][1]) for curves in months],
        )
        for name, one in STATEMENTS.items()
    }


def _curves(seed: int, events: int, draws: int) -> dict[int | None, tuple[Curve, Curve]]:
    """The curves of one month by their percentile: as coded, and with the percentile that is named."""
    weeks = split_weeks(wikipedia_month(seed, events))
    sampled = sampled_gaps(weeks.learn, draws, seed)
    plain = attack_samples(weeks.replay, None, draws, seed)

    def delayed(percentile: int) -> Curve:
        return attack_samples(weeks.replay, Delay(EPSILON, sampled[percentile] + SLIP_S), draws, seed)

    return {None: (plain, plain)} | {which: (delayed(LOWER[which]), delayed(which)) for which in (25, 75)}


def printed_table(measured: dict[str, Measured]) -> Table:
    """What is printed beside what the months give.

    >>> printed_table({"plain": Measured(coded=[0.5], named=[0.5])}).rows[0][:3]
    ['no delay: precision at 85 % recall', 0.8, 'text']
    """
    months = max((len(one.coded) for one in measured.values()), default=0)
    return Table(
        title=f"What the paper says of the attack (epsilon {EPSILON}), on {months} made-up months",
        header=(
            *("statement", "printed", "source", "as coded", "as coded, least"),
            *("as coded, most", "percentile as named", "as named, least", "as named, most"),
            *("expected as coded", "expected as named"),
        ),
        rows=[
            [
                *(STATEMENTS[name].text, STATEMENTS[name].printed, STATEMENTS[name].source),
                *(one.mean_coded, min(one.coded), max(one.coded)),
                *(one.mean_named, min(one.named), max(one.named)),
                *STATEMENTS[name].expected,
            ]
            for name, one in measured.items()
        ],
    )
