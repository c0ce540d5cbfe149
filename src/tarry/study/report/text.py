"""The fixed words of a report: what figures mean, who watches, and how."""

from tarry.study.attack.attacks import ATTACKS
from tarry.study.observer import OBSERVERS

__all__ = ["GLOSSARY", "HOW_TO_READ", "scene_title", "scene_words"]

HOW_TO_READ = (
    "How often claims are right depends on how much else happens: among few events even a guess is often "
    "right, and somebody who knows where to look is right more often than these figures say, before and "
    "after. Compare figures of one history with one another, not with those of another history."
)
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


def scene_title(observer: str, attack: str) -> str:
    """A heading for one observer and one attack.

    >>> scene_title("poller:10m", "cutoff")
    'Observer poller:10m, attack cutoff'
    """
    return f"Observer {observer}, attack {attack}"


def scene_words(observer: str, attack: str) -> str:
    """Who watches, and what they do with what they see.

    >>> scene_words("archive", "cutoff")[:47]
    'The observer reads, long after, the times that '
    """
    watches = OBSERVERS.get(observer.partition(":")[0], f"is {observer}")
    method = ATTACKS.get(attack.partition(":")[0], f"is {attack}")
    return f"The observer {watches}. The attack {method}."
