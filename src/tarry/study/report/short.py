"""The beginning of a report: what matters most, and which part of the history each figure is about."""

from collections.abc import Mapping

from tarry.study.advice import Advice
from tarry.study.audit import Audit
from tarry.study.compare import compare
from tarry.study.figures import number, percent, seconds
from tarry.study.report.markup import Html, el, items, table
from tarry.study.report.sections import section
from tarry.study.report.spent import spent_words
from tarry.study.words import shown_names, spread_percent

__all__ = ["in_short"]

_CLAIMS = (
    "Claims: an observer says of two acts that they are one person's. Told is how often the claims of the "
    "best cutoff are right, among those that find at least a tenth of the linked pairs; lower is more "
    "private."
)


def in_short(
    found: Audit,
    advice: Advice | str | None = None,
    worth: Mapping[str, str] | None = None,
) -> Html:
    """The figures that matter most; `worth` says what each practice promises, by its name.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "The whole history" in in_short(audit(table, Question(practices=[])))
    True
    """
    advised = isinstance(advice, Advice) and bool(advice.before)
    several = len({run.policy for run in found.runs}) > 1
    parts = [
        el("h3", "The whole history, as it is"),
        _tiles(_whole(found, claims=not advised and not several)),
    ]
    if several:
        parts += [el("h3", "The whole history, under each practice"), _sides(found, worth or {})]
        parts += [el("p", told) for told in [spent_words(found)] if told]
    if isinstance(advice, Advice):
        if advised:
            later = f"Its later part ({number(advice.measured_on)} events), where policies were measured"
            parts += [el("h3", later), _tiles(_later(advice))]
        parts += [el("p", advice.sentence, class_="advice"), items("ul", advice.cautions)]
    return section("In short", *parts, el("p", _CLAIMS, class_="small") if found.linked_pairs else "")


def _whole(found: Audit, *, claims: bool) -> list[tuple[str, str]]:
    """Figures of all events; how often claims are right only where nothing else tells it."""
    m = found.measures
    tiles = [
        (percent(m.batching.batched_share), f"of acts have a partner within {seconds(m.window / 1e6)}"),
        (number(found.linked_pairs), "linked pairs: two acts of one person that close together"),
    ]
    now = [line.precision for line in compare(found) if line.policy == "nothing"][:1]
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
    told = [el("div", el("dt", words), el("dd", figure)) for figure, words in figures]
    return el("dl", *told, class_="tiles")


def _sides(found: Audit, worth: Mapping[str, str]) -> Html:
    """The practices side by side: what each costs, buys under every attack, and promises."""
    lines = compare(found)
    scenes = dict.fromkeys((line.observer, line.attack) for line in lines)
    one = len({attack for _, attack in scenes}) == 1  # then its name need not stand in every column
    rows = []
    for policy, name in shown_names([line.policy for line in lines]).items():
        own = {(line.observer, line.attack): line for line in lines if line.policy == policy}
        right = [spread_percent(own[scene].precision) if scene in own else "-" for scene in scenes]
        delay = seconds(next(iter(own.values())).mean_s)
        rows.append([name, delay, *right, *([worth.get(policy, "-")] if worth else [])])
    header = ["practice", "mean delay"]
    header += [f"claims right, observer {seen}" + f", {attack}" * (not one) for seen, attack in scenes]
    return table("Practices side by side", header + ["promise"] * bool(worth), rows)
