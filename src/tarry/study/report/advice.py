"""The sections of a report about what to do: what a policy would change, and what the words mean."""

from tarry.core.policy_file import write_policy
from tarry.study.advice import Advice
from tarry.study.audit import Audit
from tarry.study.charts import scenes_of
from tarry.study.figures import number
from tarry.study.report.markup import Html, el, items, join
from tarry.study.report.sections import Charts, curves, picture, section
from tarry.study.report.tables import choices_table, costs_table
from tarry.study.report.text import GLOSSARY, scene_title

__all__ = ["glossary", "recommendation"]


def recommendation(advice: Advice | str | None, after: Audit | None, charts: Charts) -> Html:
    """What a delay would change, what it costs, and which policy to take.

    >>> "<p>No recommendation: too few events.</p>" in recommendation("too few events", None, {})
    True
    """
    title = "What a delay would change, and cost"
    if advice is None:
        return Html()
    if isinstance(advice, str):
        return section(title, el("p", f"No recommendation: {advice}."))
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
        *_before_and_after(after, charts),
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


def _before_and_after(after: Audit | None, charts: Charts) -> list[Html]:
    if after is None or not after.linked_pairs:
        return []
    waiting = [el("h3", "What waiting would cost"), costs_table(after)]
    return waiting + [
        join(
            [
                el("h3", f"Before and after: {scene_title(*scene).lower()}"),
                curves(after, scene, runs, charts, "after-"),
            ]
        )
        for scene, runs in scenes_of(after).items()
    ]


def glossary() -> Html:
    """What the words mean.

    >>> glossary()[:55]
    '<section><h2>What the words mean</h2><dl class="words">'
    """
    words = [el("div", el("dt", word), el("dd", meaning)) for word, meaning in GLOSSARY.items()]
    return section("What the words mean", el("dl", *words, class_="words"))
