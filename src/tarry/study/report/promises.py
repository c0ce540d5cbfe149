"""The section of a report about promises: what each practice promises, and what it does not."""

from collections.abc import Mapping
from fractions import Fraction

from tarry.core.durations import format_duration
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.study.report.markup import Html, el, items, table
from tarry.study.report.sections import section
from tarry.study.words import shown_names

__all__ = ["promises"]


def promises(
    policies: Mapping[str, Policy],
    worth: Mapping[str, str] | None = None,
    gap: Fraction = Fraction(0),
) -> Html:
    """What each policy promises, and what it does not; `worth` is the promise of every practice in short.

    >>> told = promises({"mine": Policy(epsilon="1", gap="11m")})
    >>> "<h4>Promised</h4>" in told, "<h4>Not promised</h4>" in told
    (True, True)
    """
    parts = _side_by_side(worth or {}, gap) + _of_policies(policies)
    if not policies:
        none = "Nothing is promised in full: no policy is recommended or was given."
        parts.insert(0, el("p", none))
    measured = "What was measured above is how one attack fared on one history. That is not a promise."
    return section("What is promised, and what is not", el("p", measured), *parts)


def _side_by_side(worth: Mapping[str, str], gap: Fraction) -> list[Html]:
    """The promise of each practice in a few words, where there is more than doing nothing."""
    if len(worth) < 2:
        return []
    names = shown_names(list(worth))
    rows = [[names[name], words] for name, words in worth.items()]
    listed = [table("What each practice promises", ["practice", "promise"], rows)]
    if any("delta" in words for words in worth.values()):
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
        told = promise(policy)
        parts += [
            el("h3", f"Policy: {names[name]}"),
            el("h4", "Promised"),
            items("ul", told.promised),
            el("h4", "Not promised"),
            items("ul", told.not_promised),
        ]
    return parts
