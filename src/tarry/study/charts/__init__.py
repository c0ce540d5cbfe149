"""Charts of an audit and of a recommendation, each by its name."""

import re
from collections.abc import Sequence

import altair as alt

from tarry.study.audit import Report
from tarry.study.charts.curves import gaps_chart, posterior_chart, precision_chart, rates_chart, roc_chart
from tarry.study.charts.style import chart_png, chart_svg, write_charts
from tarry.study.charts.trade import Trade, trade_chart, trades
from tarry.study.runs import AttackRun

__all__ = [
    "Trade",
    "audit_charts",
    "chart_png",
    "chart_svg",
    "gaps_chart",
    "posterior_chart",
    "precision_chart",
    "rates_chart",
    "roc_chart",
    "threat_name",
    "threats_of",
    "trade_chart",
    "trades",
    "write_charts",
]


def threats_of(report: Report) -> dict[tuple[str, str], Sequence[AttackRun]]:
    """The runs of a report by observer and attack: what belongs into one chart.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> list(threats_of(audit(table, Question(practices=["nothing"], observers=["archive"]))))
    [('archive', 'cutoff')]
    """
    threats = dict.fromkeys((run.observer, run.attack) for run in report.runs)
    return {
        threat: [run for run in report.runs if (run.observer, run.attack) == threat] for threat in threats
    }


def threat_name(observer: str, attack: str) -> str:
    """An observer and an attack as part of a file's name.

    >>> threat_name("poller:10m", "nearest:0.1")
    'poller-10m-nearest-0.1'
    """
    return re.sub(r"[^a-z0-9.]+", "-", f"{observer}-{attack}".lower())


def audit_charts(report: Report) -> dict[str, alt.LayerChart]:
    """Every chart that there are figures for, by a name that is fit for a file.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 9_000_000_000])
    >>> list(audit_charts(audit(table, Question(practices=[]))))
    ['gaps', 'rates', 'posterior']
    """
    charts: dict[str, alt.LayerChart] = {}
    measures, advice = report.measures, report.advice
    if measures.in_batch_curve_s or measures.null_curve_s:
        charts["gaps"] = gaps_chart(measures)
    if measures.actor_rates:
        charts["rates"] = rates_chart(measures)
    if report.posteriors:
        charts["posterior"] = posterior_chart(report)
    charts |= _of_threats(report, "")
    if advice is not None and advice.choices and advice.before:
        charts["advice"] = trade_chart(advice)
    if report.after is not None:
        charts |= _of_threats(report.after, "after-")
    return charts


def _of_threats(report: Report, when: str) -> dict[str, alt.LayerChart]:
    charts: dict[str, alt.LayerChart] = {}
    if not report.linked_pairs:  # nothing to find: no curve
        return charts
    for (observer, attack), runs in threats_of(report).items():
        where = threat_name(observer, attack)
        charts[f"{when}precision-{where}"] = precision_chart(runs)
        charts[f"{when}roc-{where}"] = roc_chart(runs)
        if len({run.policy for run in runs}) > 1 and not when:
            charts[f"trade-{where}"] = trade_chart(report, observer=observer, attack=attack)
    return charts
