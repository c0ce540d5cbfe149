"""The sections of a report about what to do: what a policy would change, and what it promises."""

from collections.abc import Mapping

from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.promise import MEANINGLESS, promise
from tarry.study.advice import PART, Advice
from tarry.study.audit import Audit
from tarry.study.charts import scenes_of
from tarry.study.figures import number
from tarry.study.report.markup import Html, el, items, join
from tarry.study.report.sections import Charts, curves, picture, section
from tarry.study.report.tables import choices_table, costs_table
from tarry.study.report.text import GLOSSARY, scene_title
from tarry.study.words import shown_names

__all__ = ["glossary", "promises", "recommendation"]


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
    if advice.best is None:
        return section(title, el("p", advice.sentence))
    told = (
        f"Policies were learned on the first {number(advice.learned_on)} events and measured on the other "
        f"{number(advice.measured_on)}. The recommended one has the least mean delay among those under "
        f"which claims that find a tenth of the linked pairs are right at most {PART:g} times as often as "
        "with nothing done; where none gets there, it is the one under which they are right least often. "
        "All figures of this section are about the later part of the history, those above about the whole."
    )
    trade = "What each policy costs (mean delay) and buys (fewer right claims); numbers as in the table."
    notes = dict.fromkeys(choice.note for choice in advice.choices if choice.note)
    return section(
        title,
        el("p", told),
        el("div", picture(charts, "advice", trade), choices_table(advice), class_="beside"),
        *(el("p", f"Note: {note}", class_="small") for note in notes),
        el("h3", "The policy to copy"),
        el("p", "Save this as policy.toml:"),
        el("pre", el("code", write_policy(advice.best.policy)), tabindex=0, aria_label="policy.toml"),
        *_before_and_after(after, charts),
    )


def _before_and_after(after: Audit | None, charts: Charts) -> list[Html]:
    if after is None or not after.linked_pairs:
        return []
    waiting = [el("h3", "What waiting would cost"), *_used_up(after), costs_table(after)]
    return waiting + [
        join(
            [
                el("h3", f"Before and after: {scene_title(*scene).lower()}"),
                curves(after, scene, runs, charts, "after-"),
            ]
        )
        for scene, runs in scenes_of(after).items()
    ]


def _used_up(after: Audit) -> list[Html]:
    """For how many people the promise has become worthless, said in a sentence."""
    beyond = max((cost.spent_actors or 0 for cost in after.costs), default=0)
    if not beyond:
        return []
    told = (
        f"Epsilon adds up: {number(beyond)} of {number(after.measures.actors)} people have batched so "
        f"often that more than {float(MEANINGLESS):g} is used on them. Against somebody who watched all "
        "the time nothing meaningful is promised to them; each pair by itself is covered all the same."
    )
    return [el("p", told)]


def promises(policies: Mapping[str, Policy]) -> Html:
    """What each policy promises, and what it does not.

    >>> told = promises({"mine": Policy(epsilon="1", gap="11m")})
    >>> "<h4>Promised</h4>" in told, "<h4>Not promised</h4>" in told
    (True, True)
    """
    title = "What is promised, and what is not"
    if not policies:
        none = "Nothing is promised: no policy is looked at here. What is measured above is not a promise."
        return section(title, el("p", none))
    names = shown_names(list(policies))
    parts = []
    for name, policy in policies.items():
        told = promise(policy)
        parts += [
            el("h3", f"Policy: {names[name]}"),
            el("h4", "Promised"),
            items("ul", told.promised),
            el("h4", "Not promised"),
            items("ul", told.not_promised),
        ]
    measured = "What was measured above is how one attack fared on one history. That is not a promise."
    return section(title, el("p", measured), *parts)


def glossary() -> Html:
    """What the words mean.

    >>> glossary()[:55]
    '<section><h2>What the words mean</h2><dl class="words">'
    """
    words = [el("div", el("dt", word), el("dd", meaning)) for word, meaning in GLOSSARY.items()]
    return section("What the words mean", el("dl", *words, class_="words"))
