"""What a draw of a practice costs by parts, and how far it moves what observers see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from tarry.core.history import row_order
from tarry.core.lanes import BoolArray, IntArray
from tarry.study.batching import overtaken_pairs
from tarry.study.exact_sums import ONE, shares_in_parts, total
from tarry.study.pairs import UNITS
from tarry.study.parts.asking import BothWays, Program, Tallied, beside, select, tallied
from tarry.study.parts.engine import Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.view import Setting, View, firsts
from tarry.study.practice import MICROSECONDS, Shown
from tarry.study.runs import Cost

__all__ = ["DelayCounts", "Moved", "Overtaking", "Replayed", "replayed"]


@dataclass(frozen=True, kw_only=True)
class DelayCounts(Tallied, BothWays):
    """Delays, replies and labels of one draw, and what each observer sees of it.

    >>> DelayCounts(practice=0, draw=0, looks=5, covers=1).before
    5
    """

    practice: int  # by its number
    draw: int
    looks: int  # microseconds: how far around an event its release depends on others
    covers: int  # batched events of an actor that are inside what is promised

    @property
    def sight(self) -> int:
        """As far as labels look."""
        return self.looks

    def look(self, view: View) -> Looked:
        """Count one part."""
        if not view.own.any():
            return Looked(partial=Partial())
        shown, own = view.shown(self.practice, self.draw), view.own
        table, release = view.mine, shown.release[own]
        waits, rows = release - table.time, dict[str, IntArray]()
        tallies = tallied("wait", waits, self.opened)
        if self.opened is None or any(name == "reply" for name, _, _ in self.opened):
            tallies |= tallied("reply", _replies(view, release), self.opened)
            rows["target"] = _target_rows(view, release)
        if self.opened is not None:  # all but the tallies is known
            return Looked(partial=Partial(tallies=tallies), rows=rows)
        least, most = _seen(view, shown)
        if shown.batched is not None:
            begin = firsts(table.actor)
            labels = shown.batched[own].astype(np.int64)
            rows["actor"] = np.stack([table.actor[begin], np.add.reduceat(labels, begin)], axis=1)
        return Looked(
            columns=view.columns(self.practice, self.draw),
            partial=Partial(
                sums={"events": len(waits), "wait": total(waits)},
                least={"wait": int(waits.min()), **least},
                most={"wait": int(waits.max()), **most},
                tallies=tallies,
            ),
            rows=rows,
        )

    def reduce(self, family: str, rows: IntArray) -> Partial:
        """Batched events by actor, and what follows on one target from slice to slice."""
        rows = rows[row_order(rows[:, 0], rows[:, 1])]
        begin = firsts(rows[:, 0])
        if family == "actor":
            batched = np.add.reduceat(rows[:, 1], begin) if len(rows) else rows[:, 1]
            return Partial(
                sums={
                    "beyond": int((batched > self.covers).sum()),
                    "batching": int((batched > 0).sum()),
                },
                most={"batched": int(batched.max(initial=0))},
            )
        same = rows[1:, 0] == rows[:-1, 0]
        follows = same & (rows[1:, 2] != rows[:-1, 5])
        replies = (rows[1:, 3] - rows[:-1, 4])[follows]
        return Partial(
            sums={"neighbours": int(rows[:, 6].sum()) - len(begin)},
            tallies=tallied("reply", replies, self.opened),
        )


def _replies(view: View, release: IntArray) -> IntArray:
    """Of each act on a target that follows another's: from when that arrived until this appears."""
    table, order = view.mine, view.by_target
    follows = (np.diff(table.target[order]) == 0) & (np.diff(table.actor[order]) != 0)
    replies: IntArray = (release[order][1:] - table.time[order][:-1])[follows]
    return replies


def _target_rows(view: View, release: IntArray) -> IntArray:
    """Target, its first moment, who acted, when that appeared; its last moment, who acted; its moments."""
    order = view.by_target
    target, time, actor = (getattr(view.mine, name) for name in ("target", "time", "actor"))
    moments = firsts(target[order], time[order])
    begin = firsts(target[order])
    first, last = order[begin], order[np.append(begin[1:], len(order)) - 1]
    many = np.diff(np.append(np.searchsorted(moments, begin), len(moments)))
    columns = (target[first], time[first], actor[first], release[first], time[last], actor[last], many)
    return np.stack(columns, axis=1)


def _seen(view: View, shown: Shown) -> tuple[dict[str, int], dict[str, int]]:
    """For each observer how far events are moved, and what is left of moments in whole units."""
    which: BoolArray = view.own & view.looked_at
    least, most = {}, {}
    if which.any():
        for number, watcher in enumerate(view.setting.observers):
            seen = watcher.see(shown)[which]
            columns = {"moved": seen - view.table.time[which]}
            columns |= {f"unit{unit}": seen % unit for unit in UNITS}
            for name, column in columns.items():
                least[f"{number}/{name}"] = int(column.min())
                most[f"{number}/{name}"] = int(column.max())
    return least, most


@dataclass(frozen=True, kw_only=True)
class Overtaking:
    """Neighbours on one target that change places.

    >>> Overtaking(practice=0, draw=0, looks=5, spread=10).before
    15
    """

    practice: int  # by its number
    draw: int
    looks: int  # microseconds
    spread: int  # microseconds: the longest delay less the shortest; nobody further apart changes places

    @property
    def before(self) -> int:
        """Labels, and the neighbours before."""
        return self.spread + self.looks

    @property
    def after(self) -> int:
        """Labels."""
        return self.looks

    def look(self, view: View) -> Looked:
        """Count one part: each moment with the one before it on its target."""
        rows = view.since(self.spread)
        release = view.shown(self.practice, self.draw).release[rows]
        table = view.table.keep(rows)
        overtaken, pairs, moment = overtaken_pairs(table, release)
        mine = moment >= view.start
        return Looked(
            partial=Partial(sums={"overtaken": total(shares_in_parts(overtaken[mine], pairs[mine]))})
        )

    def reduce(self, family: str, rows: IntArray) -> Partial:  # noqa: ARG002 - it has no rows
        """Nothing: there are no rows."""
        return Partial()


@dataclass(frozen=True, kw_only=True)
class Moved:
    """How far one observer sees events moved from their arrivals, and in which unit.

    >>> Moved(least=0, most=60, unit=1).spread
    60
    """

    least: int  # microseconds
    most: int
    unit: int  # microseconds: all that is seen lies whole units apart

    @property
    def spread(self) -> int:
        """No two events are moved further towards or from each other."""
        return self.most - self.least


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """One draw of a practice.

    >>> Replayed(cost=None, moved=()).moved
    ()
    """

    cost: Cost
    moved: Sequence[Moved | None]  # by observer; None where claims are about nothing


def replayed(setting: Setting, practice: int, draw: int) -> Program[Replayed]:
    """What a draw costs, and how far it moves events.

    >>> from tarry.study.baselines import baseline
    >>> [asked] = next(replayed(Setting(practices=(baseline("jitter"),)), 0, 2))
    >>> asked.practice, asked.draw
    (0, 2)
    """
    what = setting.practices[practice]
    ask = DelayCounts(practice=practice, draw=draw, looks=what.looks() or 0, covers=what.covers)
    [partial] = yield [ask]
    count, replies = partial.sums["events"], partial.tallies["reply"].total
    ranks = {"wait": _around(count, 0.5) + _around(count, 0.95), "reply": _middle(replies)}
    spread = partial.most["wait"] - partial.least["wait"]
    overtaking = Overtaking(practice=practice, draw=draw, looks=ask.looks, spread=spread)
    selected = select(ask, partial, {name: sorted(set(each)) for name, each in ranks.items()})
    values, crossed = yield from beside(selected, overtaking)
    neighbours = partial.sums["neighbours"]
    cost = Cost(
        policy=what.name,
        draw=draw,
        mean_s=partial.sums["wait"] / (count * MICROSECONDS),
        median_s=_between(values["wait"], count, 0.5),
        high_s=_between(values["wait"], count, 0.95),
        longest_s=partial.most["wait"] / MICROSECONDS,
        reordered=crossed.sums["overtaken"] / (neighbours * ONE) if neighbours else None,
        reply_s=_median(values["reply"], replies) / 1e6 if replies else None,
        spent=what.spent_by(partial.most["batched"], partial.sums["beyond"], partial.sums["batching"])
        if "batched" in partial.most
        else None,
    )
    moved = tuple(_moved(partial, number) for number in range(len(setting.observers)))
    return Replayed(cost=cost, moved=moved)


def _moved(partial: Partial, observer: int) -> Moved | None:
    prefix = f"{observer}/"
    least, most = partial.within(prefix).least, partial.within(prefix).most
    if not least:
        return None
    units = [unit for unit in UNITS if least[f"unit{unit}"] == most[f"unit{unit}"]]
    return Moved(least=least["moved"], most=most["moved"], unit=max(units, default=1))


def _around(count: int, share: float) -> list[int]:
    """The two ranks that a quantile lies between, as numpy has it."""
    below = floor(share * (count - 1))
    return [below, min(below + 1, count - 1)]


def _between(values: Mapping[int, int], count: int, share: float) -> float:
    """The quantile, in seconds: between its two neighbours in proportion, rounded as numpy does."""
    place = share * (count - 1)
    low, high = (values[rank] / MICROSECONDS for rank in _around(count, share))
    part, apart = place - floor(place), high - low
    return high - apart * (1 - part) if part >= 0.5 else low + apart * part


def _middle(count: int) -> list[int]:
    return sorted({(count - 1) // 2, count // 2}) if count else []


def _median(values: Mapping[int, int], count: int) -> float:
    return float(np.mean([values[rank] for rank in _middle(count)]))
