"""For how many people epsilon has added up to more than a promise can bear."""

from tarry.core.promise import MEANINGLESS
from tarry.study.audit import Audit
from tarry.study.figures import number
from tarry.study.words import shown_names

__all__ = ["spent_words"]


def spent_words(found: Audit) -> str:
    """How many people have no meaningful promise left under each policy, in the worst draw.

    Nothing where no policy counts batched acts.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> found = audit(table, Question(practices=[replay(Policy(epsilon="9", gap="11m"), "mine")]))
    >>> spent_words(found)[:58]
    'Epsilon adds up. In this history 1 of 2 people (under mine'
    """
    worst: dict[str, int] = {}
    for cost in found.costs:
        if cost.spent_actors is not None:
            worst[cost.policy] = max(cost.spent_actors, worst.get(cost.policy, 0))
    if not worst:
        return ""
    names, actors = shown_names([cost.policy for cost in found.costs]), number(found.measures.actors)
    told = ", ".join(
        f"{number(people)} of {actors} people (under {names[policy]})" for policy, people in worst.items()
    )
    return (
        f"Epsilon adds up. In this history {told} batch so often that more than {float(MEANINGLESS):g} is "
        "used on them: no meaningful promise is left to them against somebody who watches throughout. Each "
        "pair by itself is covered all the same. The longer the history, the more is used up."
    )
