"""tarry: how far pseudonyms can be linked by when they act, and delays that stop it.

The public names, loaded when first used so that a shell command starts at once:

>>> import tarry
>>> policy = tarry.Policy(epsilon="1", gap="11m", window="5m")
>>> costs = tarry.plan(policy)
>>> tarry.format_duration(costs.batched.maximum)
'45m39s'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tarry.core.calibrate import (
        gap_at_percentile,
        gap_for_crossover,
        learned_gap,
        least_epsilon,
        posterior_batched,
        posterior_unbatched,
        power_bound,
        two_sided_bound,
    )
    from tarry.core.entropy import Secure, Seeded
    from tarry.core.errors import BadInput, NotPossible, TarryError
    from tarry.core.exact import format_duration, parse_duration
    from tarry.core.history import History
    from tarry.core.law import Law, Run
    from tarry.core.ledger import ledger, linking_cost, pseudonym_ledger
    from tarry.core.mechanism import Ask, LabelFree, LawPair, Mechanism
    from tarry.core.plan import frontier, plan
    from tarry.core.plan_release import Releases, plan_release
    from tarry.core.policy import Policy
    from tarry.core.policy_file import read_policy, write_policy
    from tarry.core.promise import Promise, promise
    from tarry.core.release import Draws, draw_pair, release_ticks
    from tarry.core.season import Season
    from tarry.core.season_plan import plan_season
    from tarry.core.verify import Verdict, verify
    from tarry.study.audit import Report, audit
    from tarry.study.question import Question

__all__ = [
    "Ask",
    "BadInput",
    "Draws",
    "History",
    "LabelFree",
    "Law",
    "LawPair",
    "Mechanism",
    "NotPossible",
    "Policy",
    "Promise",
    "Question",
    "Releases",
    "Report",
    "Run",
    "Season",
    "Secure",
    "Seeded",
    "TarryError",
    "Verdict",
    "audit",
    "draw_pair",
    "format_duration",
    "frontier",
    "gap_at_percentile",
    "gap_for_crossover",
    "learned_gap",
    "least_epsilon",
    "ledger",
    "linking_cost",
    "parse_duration",
    "plan",
    "plan_release",
    "plan_season",
    "posterior_batched",
    "posterior_unbatched",
    "power_bound",
    "promise",
    "pseudonym_ledger",
    "read_policy",
    "release_ticks",
    "two_sided_bound",
    "verify",
    "write_policy",
]

_HOMES = {
    "core.calibrate": (
        *("gap_at_percentile", "gap_for_crossover", "learned_gap", "least_epsilon"),
        *("posterior_batched", "posterior_unbatched", "power_bound", "two_sided_bound"),
    ),
    "core.entropy": ("Secure", "Seeded"),
    "core.errors": ("BadInput", "NotPossible", "TarryError"),
    "core.exact": ("format_duration", "parse_duration"),
    "core.history": ("History",),
    "core.law": ("Law", "Run"),
    "core.ledger": ("ledger", "linking_cost", "pseudonym_ledger"),
    "core.mechanism": ("Ask", "LabelFree", "LawPair", "Mechanism"),
    "core.plan": ("frontier", "plan"),
    "core.plan_release": ("Releases", "plan_release"),
    "core.policy": ("Policy",),
    "core.policy_file": ("read_policy", "write_policy"),
    "core.promise": ("Promise", "promise"),
    "core.release": ("Draws", "draw_pair", "release_ticks"),
    "core.season": ("Season",),
    "core.season_plan": ("plan_season",),
    "core.verify": ("Verdict", "verify"),
    "study.audit": ("Report", "audit"),
    "study.question": ("Question",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"tarry.{home}"), name)
    raise AttributeError(f"module 'tarry' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
