"""Policies with any of our laws: the one for a season has other terms than the rest."""

from fractions import Fraction

from tarry.core.mechanism import Family
from tarry.core.policy import LabelRule, Policy
from tarry.core.season import Season

__all__ = ["SEASON_RULES", "policy_with"]

#: Labels that a policy with a season may have.
SEASON_RULES: tuple[LabelRule, ...] = ("held", "declared", "simultaneous")

#: One that every law keeps.
_SEASON = Season(acts=2, epsilon=Fraction(50), delta=Fraction(1, 2))
_NOT_WITH_SEASON = ("epsilon", "weight", "cover", "delta")


def policy_with(law: str | Family, **choices: object) -> Policy:
    """A policy with these choices, as far as they go with the law."""
    if law == "cosine":
        choices = {name: value for name, value in choices.items() if name not in _NOT_WITH_SEASON}
        choices = {"blocks": 5, "order": "2", "season": _SEASON} | choices
    return Policy(law=law, **choices)
