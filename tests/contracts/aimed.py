"""Posts that leave when a test wants: what is random at an admission is written down beforehand."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from tarry.core.entropy import Entropy, Seeded
from tarry.core.policy_file import read_policy
from tarry.core.release import draw_pair

__all__ = ["Coins", "Recorder", "Wanted", "aims"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A post, and the tick at which it is to leave, counted from the beginning."""

    name: str  # its content, and what its random receipt is made of
    actor: str = "ann"
    target: str = "paper 3"
    at: int | None = None  # None: whatever comes
    batched: bool = False  # which of the draws is aimed
    more: Mapping[str, object] = field(default_factory=dict)  # of the request

    @property
    def receipt(self) -> str:
        """The secret that it gets: as random as its name."""
        return self.name.encode().hex().zfill(64)

    @property
    def body(self) -> dict[str, object]:
        """What is sent."""
        return {"actor": self.actor, "target": self.target, "content": self.name, **self.more}


class Coins:
    """The randomness of admissions: answers that were written down beforehand."""

    def __init__(self) -> None:
        self.answers: deque[int] = deque()
        self.receipts: deque[str] = deque()

    def randbelow(self, n: int, /) -> int:
        """The next answer, which must be possible."""
        answer = self.answers.popleft()
        assert 0 <= answer < n
        return answer


class Recorder:
    """A source that remembers its answers, so that they can be given again."""

    def __init__(self, source: Entropy) -> None:
        self.source, self.answers = source, list[int]()

    def randbelow(self, n: int, /) -> int:
        """The source's answer."""
        self.answers.append(self.source.randbelow(n))
        return self.answers[-1]


@cache
def aims(policy: str) -> dict[tuple[bool, bool, int], list[int]]:
    """The answers that make a draw come out, by whether it is settled, by label and by ticks."""
    law, found = read_policy(policy), dict[tuple[bool, bool, int], list[int]]()
    for n in range(3000):
        source = Recorder(Seeded(n).stream("", "", 0))
        draws = draw_pair(law, "", None, source)
        for batched in (False, True):
            found.setdefault((draws.settled, batched, draws.ticks(batched=batched)), source.answers)
    return found
