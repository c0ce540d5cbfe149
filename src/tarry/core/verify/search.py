"""Searching for a witness: every small stream against every stream it must be confused with."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, inf

from tarry.core.exact import exceeds_exp, log_of
from tarry.core.verify.rules import Block, Rule, Seen
from tarry.core.verify.streams import Neighbours, Size, Stream, all_streams
from tarry.core.verify.verdict import Verdict, Witness

__all__ = ["Progress", "search"]

#: Called with (done, all) now and then during long work.
Progress = Callable[[int, int], None]


def search(
    rule: Rule,
    neighbours: Neighbours,
    share: Fraction,
    size: Size,
    *,
    streams: Iterable[Stream] | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Look for a stream that an observer can tell from a neighbour better than promised.

    A clean result is no proof: it says that there is no witness up to the size. `progress` is called with
    the number of streams that are done, and of all.

    >>> from tarry.core.laws.zero_inflated import zero_inflated_pair
    >>> from tarry.core.verify.rules import DelayRule
    >>> from tarry.core.verify.streams import moves, paired
    >>> pair = zero_inflated_pair(Fraction(3, 2), start=1, end=3)
    >>> rule, size = DelayRule(pair=pair, labels=paired(0)), Size(events=2, span=1)
    >>> search(rule, moves(paired(0), 1, size), Fraction(1, 2), size).word
    'holds'
    """
    known: dict[Stream, list[Block]] = {}
    exceeds = cache(exceeds_exp)  # a few ratios come again and again

    def blocks(stream: Stream) -> list[Block]:
        if stream not in known:
            known[stream] = rule.blocks(stream)
        return known[stream]

    worst = -inf
    todo = tuple(all_streams(size) if streams is None else streams)
    for done, stream in enumerate(todo):
        if progress is not None:
            progress(done, len(todo))
        for other, cost in neighbours(stream):
            ratio, seen = _largest_ratio(blocks(stream), blocks(other), len(stream))
            allowed = share * cost
            if ratio is None or exceeds(ratio, allowed):
                witness = Witness(
                    batched=_describe(stream, size.units),
                    other=_describe(other, size.units),
                    seen=f"releases at {', '.join(map(str, seen))}",
                    ratio=inf if ratio is None else float(ratio),
                    allowed=exp(allowed),
                )
                margin = -inf if ratio is None else float(allowed) - log_of(ratio)
                scope = f"streams up to {size}"
                return Verdict(holds=False, scope=scope, margin=margin, witness=witness)
            worst = max(worst, log_of(ratio) - float(allowed))
    slack = None if worst == -inf else max(0.0, -worst)
    return Verdict(holds=True, scope=f"no witness up to {size}", margin=slack)


def _describe(stream: Stream, units: int) -> str:
    acts = (
        f"actor {act.actor} on target {act.target} at {Fraction(act.at, units)}"
        + (" saying more" if act.declared else "")
        for act in stream
    )
    return "; ".join(acts)


def _largest_ratio(this: list[Block], other: list[Block], count: int) -> tuple[Fraction | None, Seen]:
    """The largest P(seen; this) / P(seen; other), None for infinite, and where it is reached."""
    if [block.acts for block in this] != [block.acts for block in other]:
        this, other = [_together(this, count)], [_together(other, count)]
    ratio: Fraction | None = Fraction(1)
    seen = [0] * count
    for mine, theirs in zip(this, other, strict=True):
        part, where = _largest_in(mine.seen, theirs.seen)
        for act, at in zip(mine.acts, where, strict=True):
            seen[act] = at
        ratio = None if ratio is None or part is None else ratio * part
    return ratio, tuple(seen)


def _largest_in(mine: dict[Seen, Fraction], theirs: dict[Seen, Fraction]) -> tuple[Fraction | None, Seen]:
    best, where = Fraction(0), next(iter(mine))
    if mine is theirs:
        return Fraction(1), where
    for seen, chance in mine.items():
        if seen not in theirs:
            return None, seen
        if (ratio := chance / theirs[seen]) > best:
            best, where = ratio, seen
    return best, where


def _together(blocks: list[Block], count: int) -> Block:
    """Independent blocks as one."""
    joint: dict[Seen, Fraction] = {}
    for parts in product(*(block.seen.items() for block in blocks)):
        seen, chance = [0] * count, Fraction(1)
        for block, (where, part) in zip(blocks, parts, strict=True):
            chance *= part
            for act, at in zip(block.acts, where, strict=True):
                seen[act] = at
        joint[tuple(seen)] = chance
    return Block(tuple(range(count)), joint)
