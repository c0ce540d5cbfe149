"""What a part of a history comes to: whole numbers that add up in any order."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import chain
from typing import Any, TypeVar

from tarry.study.parts.tally import ValueTally

__all__ = ["TOP", "Partial", "merged"]

T = TypeVar("T")
#: So many of the largest values are kept.
TOP = 10


@dataclass(frozen=True, kw_only=True)
class Partial:
    """Figures of a part, by name. All are Python's whole numbers, which have no limit.

    >>> one, other = Partial(sums={"events": 2}, least={"first": 5}), Partial(sums={"events": 3})
    >>> one.plus(other).sums, one.plus(other).least
    ({'events': 5}, {'first': 5})
    """

    sums: Mapping[str, int] = field(default_factory=dict)  # added up
    least: Mapping[str, int] = field(default_factory=dict)  # the smallest of all
    most: Mapping[str, int] = field(default_factory=dict)  # the largest of all
    tops: Mapping[str, Sequence[int]] = field(default_factory=dict)  # the ten largest, largest first
    tallies: Mapping[str, ValueTally] = field(default_factory=dict)  # how often each value occurs

    def plus(self, other: "Partial") -> "Partial":
        """Both together. The order in which parts are added changes nothing."""
        return merged([self, other])

    def within(self, prefix: str) -> "Partial":
        """The figures whose names begin so, without that beginning.

        >>> Partial(sums={"a/events": 2, "b/events": 3}).within("a/").sums
        {'events': 2}
        """
        return self._renamed(lambda name: name.removeprefix(prefix) if name.startswith(prefix) else None)

    def under(self, prefix: str) -> "Partial":
        """The same figures with this in front of their names.

        >>> Partial(sums={"events": 2}).under("a/").sums
        {'a/events': 2}
        """
        return self._renamed(lambda name: prefix + name)

    def to_json(self) -> str:
        """As text: how an engine keeps it or sends it.

        >>> Partial(sums={"pairs": 1 << 70}).to_json()
        '{"sums": {"pairs": 1180591620717411303424}, "least": {}, "most": {}, "tops": {}, "tallies": {}}'
        """
        plain: dict[str, Any] = {name: dict(part) for name, part in vars(self).items()}
        plain["tops"] = {name: list(values) for name, values in self.tops.items()}
        plain["tallies"] = {name: tally.as_dict() for name, tally in self.tallies.items()}
        return json.dumps(plain)

    @classmethod
    def from_json(cls, text: str) -> "Partial":
        """What `to_json` wrote.

        >>> Partial.from_json(Partial(sums={"pairs": 1 << 70}).to_json()).sums["pairs"] == 1 << 70
        True
        """
        plain = json.loads(text)
        tallies = {name: ValueTally.from_dict(each) for name, each in plain.pop("tallies").items()}
        tops = {name: tuple(each) for name, each in plain.pop("tops").items()}
        return cls(**plain, tops=tops, tallies=tallies)

    def _renamed(self, name_of: Callable[[str], str | None]) -> "Partial":
        return Partial(
            **{
                kind: {new: value for name, value in part.items() if (new := name_of(name)) is not None}
                for kind, part in vars(self).items()
            }
        )


def merged(partials: Iterable[Partial]) -> Partial:
    """All of them together; nothing at all for none.

    >>> merged([Partial(most={"last": 1}), Partial(most={"last": 7}), Partial()]).most
    {'last': 7}
    """
    every = list(partials)
    return Partial(
        sums=_joined([each.sums for each in every], sum),
        least=_joined([each.least for each in every], min),
        most=_joined([each.most for each in every], max),
        tops=_joined([each.tops for each in every], _largest),
        tallies=_joined([each.tallies for each in every], ValueTally.together),
    )


def _joined(parts: Iterable[Mapping[str, T]], join: Callable[[list[T]], T]) -> dict[str, T]:
    by_name: dict[str, list[T]] = {}
    for part in parts:
        for name, value in part.items():
            by_name.setdefault(name, []).append(value)
    return {name: join(values) if len(values) > 1 else values[0] for name, values in by_name.items()}


def _largest(parts: Iterable[Sequence[int]]) -> Sequence[int]:
    return tuple(nlargest(TOP, chain.from_iterable(parts)))
