"""The outcome of checking a promise: a value, with a witness when the promise is broken."""

from dataclasses import dataclass
from typing import Any

__all__ = ["Verdict", "Witness"]


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Where a promise breaks: what arrived, what is seen, and how much likelier than allowed.

    >>> Witness(batched="b", other="o", seen="delay 3", ratio=float("inf"), allowed=2.0).as_json()["ratio"]
    """

    batched: object  # what arrived, in the batched story
    other: object  # what arrived in the story it should be confused with
    seen: object  # the observation that tells them apart
    ratio: float  # how much likelier under the batched story
    allowed: float  # and how much likelier it may be
    sentence: str = ""  # for witnesses that are not about a ratio

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite ratio becomes null."""
        return {
            "batched": self.batched,
            "other": self.other,
            "seen": self.seen,
            "ratio": None if self.ratio == float("inf") else self.ratio,
            "allowed": self.allowed,
        }

    def __str__(self) -> str:
        if self.sentence:
            return self.sentence
        if self.ratio == float("inf"):
            return f"{self.seen} can happen when {self.batched}, and never when {self.other}"
        return (
            f"{self.seen} is {self.ratio:.6g} times as likely when {self.batched} as when {self.other}; "
            f"{self.allowed:.6g} times is allowed"
        )


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a promise holds.

    >>> Verdict(holds=True, scope="every delay, exactly", margin=0.01).word
    'holds'
    """

    holds: bool
    scope: str  # what was looked at
    margin: float | None = None  # nats (for delta: chance) left of what is allowed; below 0 when broken
    witness: Witness | None = None

    @property
    def word(self) -> str:
        """`holds` or `broken`."""
        return "holds" if self.holds else "broken"
