"""The sections of a report about what to do: what a policy would change, and what is promised."""

from collections.abc import Mapping
from fractions import Fraction

from tarry.core.exact import format_duration
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.promise import promise
from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.charts import threats_of
from tarry.study.figures import number, shown_names
from tarry.study.report.markup import Html, el, items, join, table
from tarry.study.report.sections import Charts, curves, picture, section, threat_title
from tarry.study.report.tables import choices_table, costs_table

__all__ = ["GLOSSARY", "glossary", "promises", "recommendation"]

GLOSSARY = {
    "actor": "the person behind an event; their names are in no part of this report",
    "target": "the visible thing acted on: a paper, a page, an address, a thread",
    "window": "two events of one actor on different targets, at most this far apart, are batched",
    "gap": "how far apart two acts would plausibly be had they not been batched",
    "candidates": "all pairs of events on different targets",
    "linked": "candidates of one actor whose arrivals are at most the window apart: what is to be found",
    "cutoff": "what an attack takes for close: it claims the pairs that appear at most this far apart",
    "right and wrong": "claimed pairs that are linked, and claimed pairs that are not",
    "precision": "the share of claims that are right, as measured, never smoothed",
    "recall": "the share of linked pairs that are claimed",
    "false alarms": "the share of pairs not linked that are claimed all the same",
    "claims right, finding a tenth": (
        "the highest precision of a cutoff that finds at least a tenth of the linked pairs"
    ),
    "average precision": "precision averaged over the recall that is reached; 100 % is a perfect attack",
    "error crossover": "where misses and false alarms are equally frequent; higher is more private",
    "reordered": "neighbours on one target that appear in another order than they arrived in",
    "epsilon": "the budget of the promise for each batched pair; smaller is more private and slower",
    "epsilon used": (
        "what the batched acts of one person cost together; above 3 to 5 little is left of a promise "
        "against somebody who keeps watching"
    ),
    "draw": "one replay of the history with freshly drawn delays",
    "move": "two consecutive events of one actor on different targets",
}


def recommendation(report: Report, charts: Charts) -> Html:
    """What a delay would change, what it costs, and which policy to take.

    >>> from tarry.study.audit import audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> recommendation(audit(table), {})[:67]
    '<section><h2>What a delay would change, and cost</h2><p>No recommen'
    """
    title, advice = "What a delay would change, and cost", report.advice
    if report.no_advice:
        return section(title, el("p", f"No recommendation: {report.no_advice}."))
    if advice is None:
        return Html()
    if not advice.choices or not advice.before:
        return section(title, el("p", advice.sentence), items("ul", advice.cautions))
    trade = "What each policy costs (mean delay) and buys (fewer right claims); numbers as in the table."
    notes = dict.fromkeys(choice.note for choice in advice.choices if choice.note)
    return section(
        title,
        el("p", _how(advice)),
        el("p", advice.sentence, class_="advice"),
        items("ul", advice.cautions),
        el("div", picture(charts, "advice", trade), choices_table(advice), class_="beside"),
        *(el("p", f"Note: {note}", class_="small") for note in notes),
        *_to_copy(advice),
        *_before_and_after(report.after, charts),
    )


def _how(advice: Advice) -> str:
    return (
        f"Policies were learned on the first {number(advice.learned_on)} events and measured on the other "
        f"{number(advice.measured_on)}. To be recommended is the one with the least mean delay among those "
        "under which claims that find at least a tenth of the linked pairs are right at most a quarter as "
        "often as with nothing done; where none gets there, the one under which they are right least "
        "often. All figures of this section are about the later part of the history, those above about "
        "the whole."
    )


def _to_copy(advice: Advice) -> list[Html]:
    if advice.best is None:
        return []
    return [
        el("h3", "The policy to copy"),
        el("p", "Save this as policy.toml:"),
        el("pre", el("code", write_policy(advice.best.policy)), tabindex=0, aria_label="policy.toml"),
    ]


def _before_and_after(after: Report | None, charts: Charts) -> list[Html]:
    if after is None or not after.linked_pairs:
        return []
    waiting = [el("h3", "What waiting would cost"), costs_table(after)]
    return waiting + [
        join(
            [
                el("h3", f"Before and after: {threat_title(*threat).lower()}"),
                curves(after, threat, runs, charts, "after-"),
            ]
        )
        for threat, runs in threats_of(after).items()
    ]


def promises(report: Report) -> Html:
    """What each policy promises, and what it does not; and the promise of every practice in short.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> page = promises(audit(table, Question(practices=[Policy(epsilon="1", gap="11m")])))
    >>> "<h4>Promised</h4>" in page, "<h4>Not promised</h4>" in page
    (True, True)
    """
    best = None if report.advice is None else report.advice.best
    policies = {} if best is None else {"recommended": best.policy}
    policies |= {one.name: one.policy for one in report.question.practices if one.policy is not None}
    parts = _side_by_side(report.promises, report.question.gap) + _of_policies(policies)
    if not policies:
        none = "Nothing is promised in full: no policy is recommended or was given."
        parts.insert(0, el("p", none))
    measured = "What was measured above is how one attack fared on one history. That is not a promise."
    return section("What is promised, and what is not", el("p", measured), *parts)


def _side_by_side(in_short: Mapping[str, str], gap: Fraction) -> list[Html]:
    """The promise of each practice in a few words, where there is more than doing nothing."""
    if len(in_short) < 2:
        return []
    names = shown_names(list(in_short))
    rows = [[names[name], words] for name, words in in_short.items()]
    listed = [table("What each practice promises", ["practice", "promise"], rows)]
    if any("delta" in words for words in in_short.values()):
        delta = (
            "Delta: the chance that a batched act gives itself away for sure, because it appears sooner "
            f"than one that came a gap later could ({format_duration(gap)} where a practice has no gap of "
            "its own). Without an epsilon beside it, nothing is promised about the rest."
        )
        listed.append(el("p", delta, class_="small"))
    return listed


def _of_policies(policies: Mapping[str, Policy]) -> list[Html]:
    names = shown_names(list(policies))
    parts = []
    for name, policy in policies.items():
        full = promise(policy)
        parts += [
            el("h3", f"Policy: {names[name]}"),
            el("h4", "Promised"),
            items("ul", full.promised),
            el("h4", "Not promised"),
            items("ul", full.not_promised),
        ]
    return parts


def glossary() -> Html:
    """What the words mean.

    >>> glossary()[:55]
    '<section><h2>What the words mean</h2><dl class="words">'
    """
    words = [el("div", el("dt", word), el("dd", meaning)) for word, meaning in GLOSSARY.items()]
    return section("What the words mean", el("dl", *words, class_="words"))
