"""The report as a page: one HTML file with everything in it, without a script."""

from fractions import Fraction
from importlib.metadata import version

from tarry.core.exact import format_duration
from tarry.core.promise import MEANINGLESS
from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.charts import audit_charts
from tarry.study.compare import spread_percent
from tarry.study.figures import day, number, percent, seconds, shown_names
from tarry.study.practice import MICROSECONDS
from tarry.study.report.advice import glossary, promises, recommendation
from tarry.study.report.markup import Html, el, items, table, whole_page
from tarry.study.report.sections import batching, linking, measured, section, suspects

__all__ = ["TITLE", "in_short", "report_html", "spent_words", "stamp"]

TITLE = "How linkable are these people by when they act?"
_LISTED = 20  # cutoffs; of more only the ends are named
_CLAIMS = (
    "Claims: an observer says of two acts that they are one person's. The figure is the precision of the "
    "best cutoff among those that find at least a tenth of the linked pairs; lower is more private."
)


def report_html(report: Report, *, title: str = TITLE) -> str:
    """A whole page. No name of an actor or target is in it, and no path of a file.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report_html(audit(table, Question(practices=["nothing"])), title="Us")[:15]
    '<!doctype html>'
    """
    charts = audit_charts(report)
    return whole_page(
        title,
        _header(report, title),
        in_short(report),
        measured(report, stamp(report)),
        batching(report, charts),
        suspects(report, charts),
        linking(report, charts),
        recommendation(report, charts),
        promises(report),
        glossary(),
    )


def stamp(report: Report) -> dict[str, str]:
    """What one needs to make a report again: no file, no machine, no hour.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> stamp(audit(table, Question(practices=["nothing"], cutoffs=["1m", "5m"], collapse=True)))["cutoffs"]
    '1m, 5m'
    """
    question = report.question
    advised = f"; for the recommendation {question.advice_draws}" if question.recommend else ""
    filters = {
        "without bots": question.without_bots,
        "same events once": question.collapse,
        f"at most {question.busy_limit} events of an actor": question.busy_limit is not None,
    }
    cutoffs = [format_duration(Fraction(cutoff, MICROSECONDS)) for cutoff in question.cutoffs]
    listed = ", ".join(cutoffs) if len(cutoffs) <= _LISTED else f"{cutoffs[0]} to {cutoffs[-1]}"
    return {
        "tarry": version("tarry"),
        "seed": str(question.seed),
        "draws": f"{question.draws}{advised}",
        "practices": "; ".join(shown_names([one.name for one in question.practices]).values()),
        "observers": "; ".join(one.name for one in question.observers),
        "attacks": "; ".join(one.name for one in question.attacks),
        "window": format_duration(Fraction(question.window, MICROSECONDS)),
        "cutoffs": listed + (", and on until all linked pairs lie within" if question.stretch else ""),
        "filters": ", ".join(words for words, used in filters.items() if used) or "none",
    }


def _header(report: Report, title: str) -> Html:
    m = report.measures
    lead = (
        f"{number(m.events)} events by {number(m.actors)} people on {number(m.targets)} targets, "
        f"{day(m.first)} to {day(m.last)}"
    )
    return el("header", el("h1", title), el("p", lead, class_="lead"))


def in_short(report: Report) -> Html:
    """The figures that matter most, and which part of the history each is about.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "The whole history" in in_short(audit(table, Question(practices=[])))
    True
    """
    advice = report.advice
    advised = advice is not None and bool(advice.before)
    several = len({run.policy for run in report.runs}) > 1
    parts = [
        el("h3", "The whole history, as it is"),
        _tiles(_whole(report, claims=not advised and not several)),
    ]
    if several:
        parts += [el("h3", "The whole history, under each practice"), _sides(report)]
        parts += [el("p", words) for words in [spent_words(report)] if words]
    if advice is not None:
        if advised:
            later = f"Its later part ({number(advice.measured_on)} events), where policies were measured"
            parts += [el("h3", later), _tiles(_later(advice))]
        parts += [el("p", advice.sentence, class_="advice"), items("ul", advice.cautions)]
    return section("In short", *parts, el("p", _CLAIMS, class_="small") if report.linked_pairs else "")


def _whole(report: Report, *, claims: bool) -> list[tuple[str, str]]:
    """Figures of all events; how often claims are right only where nothing else tells it."""
    m = report.measures
    tiles = [
        (percent(m.batching.batched_share), f"of acts have a partner within {seconds(m.window / 1e6)}"),
        (number(report.linked_pairs), "linked pairs: two acts of one person that close together"),
    ]
    now = [line.precision for line in report.lines if line.policy == "nothing"][:1]
    known = [spread for spread in now if spread is not None and claims]
    return tiles + [(percent(spread.mean), "of claims are right with nothing done") for spread in known]


def _later(advice: Advice) -> list[tuple[str, str]]:
    """Figures of the part that no policy was learned on."""
    tiles = [(percent(advice.before), "of claims are right with nothing done")]
    if advice.best is None:
        return tiles
    return [
        *tiles,
        (percent(advice.best.precision), "of claims are right with the recommended policy"),
        (seconds(advice.best.mean_s), "mean delay of that policy"),
    ]


def _tiles(figures: list[tuple[str, str]]) -> Html:
    tiles = [el("div", el("dt", words), el("dd", figure)) for figure, words in figures]
    return el("dl", *tiles, class_="tiles")


def _sides(report: Report) -> Html:
    """The practices side by side: what each costs, buys under every attack, and promises."""
    lines = report.lines
    threats = dict.fromkeys((line.observer, line.attack) for line in lines)
    one = len({attack for _, attack in threats}) == 1  # then its name need not stand in every column
    rows = []
    for policy, name in shown_names([line.policy for line in lines]).items():
        under = {(line.observer, line.attack): line for line in lines if line.policy == policy}
        right = [spread_percent(under[threat].precision) if threat in under else "-" for threat in threats]
        delay = seconds(next(iter(under.values())).mean_s)
        rows.append([name, delay, *right, report.promises[policy]])
    header = ["practice", "mean delay"]
    header += [f"claims right, observer {seen}" + f", {attack}" * (not one) for seen, attack in threats]
    return table("Practices side by side", [*header, "promise"], rows)


def spent_words(report: Report) -> str:
    """How many people have no meaningful promise left under each policy, in the worst draw.

    Nothing where no policy counts batched acts.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=[replay(Policy(epsilon="9", gap="11m"), "mine")]))
    >>> spent_words(report)[:58]
    'Epsilon adds up. In this history 1 of 2 people (under mine'
    """
    worst: dict[str, int] = {}
    for cost in report.costs:
        if cost.spent_actors is not None:
            worst[cost.policy] = max(cost.spent_actors, worst.get(cost.policy, 0))
    if not worst:
        return ""
    names, actors = shown_names([cost.policy for cost in report.costs]), number(report.measures.actors)
    people_spent = ", ".join(
        f"{number(people)} of {actors} people (under {names[policy]})" for policy, people in worst.items()
    )
    return (
        f"Epsilon adds up. In this history {people_spent} batch so often that more than "
        f"{float(MEANINGLESS):g} is used on them: no meaningful promise is left to them against somebody "
        "who watches throughout. Each pair by itself is covered all the same. The longer the history, the "
        "more is used up."
    )
