"""One history through the Wikipedia experiment, in both versions, with its tables and charts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import altair as alt

from tarry.core.calibrate import LearnedGap
from tarry.paper.finding import Cell, Table
from tarry.paper.lines import line_chart
from tarry.paper.wikipedia_coded import (
    LOWER,
    PERCENTILES,
    SLIP_S,
    Curve,
    Delay,
    attack_samples,
    sampled_gaps,
)
from tarry.paper.wikipedia_corrected import (
    EPSILONS,
    NOTHING,
    distinct_gaps,
    learn_gaps,
    practice_name,
    replay_everybody,
    result_of,
)
from tarry.paper.wikipedia_weeks import Weeks
from tarry.study.audit import Report
from tarry.study.charts.curves import precision_chart
from tarry.study.charts.style import percent_axis
from tarry.study.runs import AttackRun

__all__ = ["Trial", "coded_table", "corrected_table", "gap_rows", "run_trial", "trial_charts"]

# Cutoffs in the corrected pictures, seconds: as many as have room for their names.
_SHOWN = {10, 60, 120, 200, 300, 600, 1800, 7200}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What both versions find on one history.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
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


def run_trial(name: str, weeks: Weeks, draws: int, seed: int) -> Trial:
    """Run both versions; samples of users differ more than delays do, so they are drawn more often.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
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
    return Trial(
        name=name,
        weeks=weeks,
        sampled=sampled,
        plain=attack_samples(weeks.replay, None, samples, seed),
        coded=coded,
        learned=learn_gaps(weeks.learn),
        held=replay_everybody(weeks, "held", draws, seed),
        declared=replay_everybody(weeks, "declared", draws, seed),
    )


def gap_rows(trial: Trial) -> list[list[Cell]]:
    """A row for each percentile: the gap as coded, everybody's, and what was done to it.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
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


def coded_table(trial: Trial) -> Table:
    """Every curve of the authors' version.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> coded_table(trial).column("epsilon")[:3]
    [None, '0.1', '0.5']
    """
    header = (
        *("percentile named", "gap it ran with, s", "epsilon", "precision at 30 s", "recall at 280 s"),
        *("precision at 65 % recall", "mean delay, min", "reordered"),
    )
    named: list[tuple[int | None, str | None, Curve]] = [(None, None, trial.plain)]
    named += [(percent, epsilon, curve) for (percent, epsilon), curve in trial.coded.items()]
    rows = [
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
    ]
    return Table(title=f"As coded, {trial.name}: samples of a tenth of the users", header=header, rows=rows)


def corrected_table(trial: Trial) -> Table:
    """Every policy of the corrected version.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
    >>> trial = run_trial("made up", split_weeks(wikipedia_month(seed=1)), draws=1, seed=0)
    >>> sorted(set(corrected_table(trial).column("labels")))
    ['-', 'declared', 'held']
    """
    header = (
        *("labels", "percentiles", "gap used, s", "epsilon", "precision at 30 s", "recall at 280 s"),
        *("precision at 65 % recall", "average precision", "mean delay, min", "longest, min", "reordered"),
    )
    rows = [["-", "-", None, None, *_figures(trial.held, NOTHING)]]
    rows += [
        [
            labels,
            ", ".join(map(str, percents)),
            float(gap),
            epsilon,
            *_figures(found, practice_name(gap, epsilon)),
        ]
        for labels, found in (("held", trial.held), ("declared", trial.declared))
        for gap, percents in distinct_gaps(trial.learned).items()
        for epsilon in EPSILONS
    ]
    return Table(title=f"Corrected, {trial.name}: everybody", header=header, rows=rows)


def _figures(found: Report, practice: str) -> list[Cell]:
    one = result_of(found, practice)
    attacked = [one.precision, one.recall, one.precision_far, one.average_precision]
    return [*attacked, one.mean_s / 60, one.longest_s / 60, one.reordered]


def trial_charts(trial: Trial, percents: tuple[int, ...] = PERCENTILES) -> dict[str, alt.LayerChart]:
    """Precision over recall in both versions; percentiles with one and the same gap share a picture.

    >>> from tarry.paper.months import wikipedia_month
    >>> from tarry.paper.wikipedia_weeks import split_weeks
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
        runs = [_thinned(run, names[run.policy]) for run in trial.held.runs if run.policy in names]
        charts[f"{trial.name}-corrected-{'-'.join(map(str, same))}"] = precision_chart(runs)
    return charts


def _thinned(run: AttackRun, name: str) -> AttackRun:
    return replace(run, policy=name, scores=[score for score in run.scores if score.cutoff_s in _SHOWN])


def _coded_chart(trial: Trial, percent: int) -> alt.LayerChart:
    """As in the paper's figures: the mean over the draws, precision made monotone."""
    curves = {NOTHING: trial.plain}
    curves |= {f"epsilon {epsilon}": trial.coded[percent, epsilon] for epsilon in EPSILONS}
    rows = [{"line": name, **point._asdict()} for name, curve in curves.items() for point in curve.points]
    x = alt.X("recall:Q", **percent_axis("linked pairs that are found (recall)"))
    y = alt.Y("precision:Q", **percent_axis("claims that are right (precision), smoothed"))
    return line_chart(rows, x=x, y=y, dots=rows)
