"""Names and spreads as reports say them: nothing that tells whose machine it was."""

from collections.abc import Sequence
from itertools import count
from pathlib import PureWindowsPath

from tarry.study.baselines import BASELINES
from tarry.study.compare import Spread
from tarry.study.figures import percent

__all__ = ["shown_names", "spread_percent"]


def spread_percent(spread: Spread | None) -> str:
    """The mean of a share over the draws, and its range where they differ.

    >>> spread_percent(Spread(mean=0.2, low=0.1, high=0.3))
    '20.0 % (10.0 to 30.0)'
    """
    if spread is None:
        return "-"
    low, high = percent(spread.low), percent(spread.high)
    return percent(spread.mean) + ("" if low == high else f" ({low[:-2]} to {high[:-2]})")


def shown_names(practices: Sequence[str]) -> dict[str, str]:
    """What each practice is called: a policy that was read from a file loses the folders before it.

    >>> list(shown_names(["hotcrp:Europe/Berlin", "/home/me/a.toml", "b/a.toml"]).values())
    ['hotcrp:Europe/Berlin', 'a.toml', 'a.toml (2)']
    """
    shown: dict[str, str] = {}
    for practice in dict.fromkeys(practices):
        habit = practice.partition(":")[0] in BASELINES
        plain = practice if habit else PureWindowsPath(practice).name or practice
        spellings = (plain if place == 1 else f"{plain} ({place})" for place in count(1))
        shown[practice] = next(name for name in spellings if name not in shown.values())
    return shown
