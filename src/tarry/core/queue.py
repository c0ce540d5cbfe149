"""Mechanisms that keep the order of arrival, for study: the paper's queue, and one for real traffic.

Neither keeps the promise of `promise`: an order that follows arrival tells who came first. What each
does promise is in its docstring, and no more.
"""

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput

__all__ = ["SlotQueue", "paper_queue"]

Post = TypeVar("Post", bound=Hashable)


def paper_queue(arrivals: Sequence[Sequence[Post]], entropy: Entropy) -> list[Post | None]:
    """Algorithm 4 as printed: each step in which something arrives posts exactly one comment.

    `arrivals[t]` are the comments of step t. The paper proves that the outputs with and without
    batches are equally distributed, assuming that one comment arrives in every step and that the
    members of a batch are drawn independently, so not by one person. In real traffic neither holds:
    members of a batch leave next to each other, a step without arrivals posts nothing, and the
    backlog never shrinks.

    >>> from tarry.core.entropy import Secure
    >>> paper_queue([["a"], ["b"], ["c"]], Secure())
    ['a', 'b', 'c']
    """
    queue: deque[Post] = deque()
    posted: list[Post | None] = []
    for step in arrivals:
        batch = _shuffled(step, entropy)
        if not batch:
            posted.append(None)
            continue
        queue.extend(batch)
        posted.append(queue.popleft())
    return posted


@dataclass(frozen=True)
class SlotQueue:
    """One post a slot of public length, in order of admission.

    Promise: streams with the same order of posts that keep the same slots busy give identical
    outputs. Nothing more: members of a batch leave next to each other, and in light traffic a post
    leaves in the slot after its arrival.

    >>> SlotQueue(slot=60).releases([5, 6, 200])
    [60, 120, 240]
    """

    slot: int  # ticks

    def __post_init__(self) -> None:
        if self.slot < 1:
            raise BadInput("a slot", "has at least one tick", found=self.slot)

    def releases(self, arrivals: Sequence[int]) -> list[int]:
        """Release ticks of posts whose arrival ticks are given in order of admission."""
        releases: list[int] = []
        free = 0
        for arrival in arrivals:
            slot = max(free, -(-arrival // self.slot))
            releases.append(slot * self.slot)
            free = slot + 1
        return releases


def _shuffled(posts: Sequence[Post], entropy: Entropy) -> list[Post]:
    """The posts in random order: Fisher and Yates, with exact draws."""
    left = list(posts)
    for i in range(len(left) - 1, 0, -1):
        j = entropy.randbelow(i + 1)
        left[i], left[j] = left[j], left[i]
    return left
