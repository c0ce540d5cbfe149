"""For how many people epsilon has added up to more than a promise can bear."""

from tarry.core.promise import MEANINGLESS
from tarry.study.audit import Audit
from tarry.study.figures import number
from tarry.study.words import shown_names

__all__ = ["spent_people", "spent_words"]


def spent_people(found: Audit) -> dict[str, int]:
    """By policy, as it may be shown: the people without a meaningful promise, in the worst draw.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> spent_people(audit(table, Question(practices=[replay(Policy(epsilon="9", gap="11m"), "mine")])))
    {'mine': 1}
    """
    worst: dict[str, int] = {}
    for cost in found.costs:
        if cost.spent_actors is not None:
            worst[cost.policy] = max(cost.spent_actors, worst.get(cost.policy, 0))
    names = shown_names([cost.policy for cost in found.costs])
    return {names[policy]: people for policy, people in worst.items()}


def spent_words(found: Audit, where: str) -> str:
    """The same in words; nothing where no policy counts batched acts. `where` begins the sentence.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> spent_words(audit(table, Question(practices=[])), "In this history")
    ''
    """
    spent, actors = spent_people(found), number(found.measures.actors)
    if not spent:
        return ""
    several = len(spent) > 1
    told = ", ".join(
        f"{number(people)} of {actors} people" + f" under {name}" * several
        for name, people in spent.items()
    )
    return (
        f"Epsilon adds up. {where} {told} batch so often that more than {float(MEANINGLESS):g} is used on "
        "them: no meaningful promise is left to them against somebody who watches throughout. Each pair "
        "by itself is covered all the same. The longer the history, the more is used up."
    )
