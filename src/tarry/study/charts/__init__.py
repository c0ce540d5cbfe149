"""Charts of an audit and of a recommendation, each by its name."""

import re
from collections.abc import Sequence

import altair as alt

from tarry.study.advice import Advice
from tarry.study.answer import posteriors_of
from tarry.study.audit import Audit, Run
from tarry.study.charts.curves import precision_chart, roc_chart
from tarry.study.charts.files import chart_png, chart_svg, write_charts
from tarry.study.charts.people import gaps_chart, posterior_chart, rates_chart
from tarry.study.charts.trade import Trade, trade_chart, trades

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
    "scene_name",
    "scenes_of",
    "trade_chart",
    "trades",
    "write_charts",
]


def scenes_of(found: Audit) -> dict[tuple[str, str], Sequence[Run]]:
    """The runs of an audit by observer and attack: what belongs into one chart.

    >>> run = Run(attack="cutoff", observer="archive", policy="nothing", draw=0, scores=())
    >>> found = Audit(measures=None, linked_pairs=0, candidate_pairs=0, runs=[run], costs=())
    >>> list(scenes_of(found))
    [('archive', 'cutoff')]
    """
    kinds = dict.fromkeys((run.observer, run.attack) for run in found.runs)
    return {kind: [run for run in found.runs if (run.observer, run.attack) == kind] for kind in kinds}


def scene_name(observer: str, attack: str) -> str:
    """An observer and an attack as part of a file's name.

    >>> scene_name("poller:10m", "nearest:0.1")
    'poller-10m-nearest-0.1'
    """
    return re.sub(r"[^a-z0-9.]+", "-", f"{observer}-{attack}".lower())


def audit_charts(
    found: Audit, advice: Advice | str | None = None, after: Audit | None = None
) -> dict[str, alt.LayerChart]:
    """Every chart that there are figures for, by a name that is fit for a file.

    `after` is an audit of the recommended policy beside doing nothing.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5_000_000, 9_000_000_000])
    >>> list(audit_charts(audit(table, Question(practices=[]))))
    ['gaps', 'rates', 'posterior']
    """
    charts: dict[str, alt.LayerChart] = {}
    measures = found.measures
    if measures.in_batch_curve_s or measures.null_curve_s:
        charts["gaps"] = gaps_chart(measures)
    if measures.actor_rates:
        charts["rates"] = rates_chart(measures)
    if posteriors_of(found):
        charts["posterior"] = posterior_chart(found)
    charts |= _of_scenes(found, "")
    if isinstance(advice, Advice) and advice.choices and advice.before:
        charts["advice"] = trade_chart(advice)
    if after is not None:
        charts |= _of_scenes(after, "after-")
    return charts


def _of_scenes(found: Audit, when: str) -> dict[str, alt.LayerChart]:
    charts: dict[str, alt.LayerChart] = {}
    if not found.linked_pairs:  # nothing to find: no curve
        return charts
    for (observer, attack), runs in scenes_of(found).items():
        where = scene_name(observer, attack)
        charts[f"{when}precision-{where}"] = precision_chart(runs)
        charts[f"{when}roc-{where}"] = roc_chart(runs)
        if len({run.policy for run in runs}) > 1 and not when:
            charts[f"trade-{where}"] = trade_chart(found, observer=observer, attack=attack)
    return charts
