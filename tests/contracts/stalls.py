"""Two worlds through a stop watch: whether the slowest answers tell in which of them something arrived."""

import random
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["ALPHA", "Poll", "chance_of", "slowest"]

#: How often two worlds that are alike are taken for different ones.
ALPHA = 1e-3


class Poll(NamedTuple):
    """One answer that an outsider has waited for."""

    at: float  # when it was asked for
    seconds: float


def slowest(polls: Sequence[Poll], since: float, until: float) -> float:
    """The longest wait among those that touch a stretch of time."""
    return max(poll.seconds for poll in polls if poll.at + poll.seconds >= since and poll.at <= until)


def chance_of(one: Sequence[float], other: Sequence[float], shuffles: int = 20_000) -> float:
    """How often chance alone would set two samples as far apart, in either direction, as these are.

    A permutation test of ranks: right however the waits are spread, for samples drawn in random order.
    """
    everything, chance = [*one, *other], random.Random(1)
    place = {wait: rank for rank, wait in enumerate(sorted(everything))}
    ranks = [place[wait] for wait in everything]
    middle = len(one) * (len(ranks) - 1) / 2
    seen = abs(sum(ranks[: len(one)]) - middle)
    as_far = 0
    for _ in range(shuffles):
        as_far += abs(sum(chance.sample(ranks, len(one))) - middle) >= seen
    return (1 + as_far) / (1 + shuffles)
