"""The same counts of pairs by databases and frames, each in its own best way, in one run.

    python bench/study_peers.py

For eighteen cutoffs: how many pairs on different targets appear at most so far apart, how many of them
are one actor's within five minutes of arrival, and how many of those are missed. All must count the same.
Time is that of all processors together.

- np.sort sorts one column: the limit, since whoever counts must put moments in order.
- DuckDB counts by window functions over ranges, and linked pairs by a join on the actor.
- polars counts by binary search (`search_sorted`) in keys of target and moment, and by a join.
- pandas makes every pair (`merge(how="cross")`), slice by slice, at a size where that ends: as studies do.
"""

from time import process_time

import numpy as np
from _measure import Figure, arguments, costs, interleaved

from study import CUTOFFS, POLICY, WINDOW, counts_here, cross_join, in_numpy, made_up
from tarry.core.entropy import Seeded
from tarry.study.attack import Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.replay import replay
from tarry.study.synth_recipes import Recipe
from tarry.study.table import EventTable

Counts = list[tuple[int, int, int]]


def by_duckdb(table: EventTable, seen: np.ndarray) -> Counts:
    import duckdb  # noqa: PLC0415 - a peer

    events = {"actor": table.actor_rank, "target": table.target_rank, "time": table.time, "seen": seen}
    with duckdb.connect() as base:
        base.register("columns", events)
        base.execute("create table e as select * from columns")
        linked = base.execute(
            "with pairs as (select abs(a.seen - b.seen) as apart from e a join e b on a.actor = b.actor "  # noqa: S608
            f"and a.target < b.target and abs(a.time - b.time) <= {WINDOW}) "
            f"select count(*), {', '.join(f'count(*) filter (apart <= {c})' for c in CUTOFFS)} from pairs"
        ).fetchone()
        near = [_near(base, ""), _near(base, "partition by target")]
    total, *true = linked
    return [
        (hit, every - on_one - hit, total - hit) for hit, every, on_one in zip(true, *near, strict=True)
    ]


def _near(base: object, group: str) -> list[int]:
    """Pairs at most each cutoff apart: those at or after each row, less the rows themselves."""
    counts = ", ".join(
        f"count(*) over ({group} order by seen range between current row and {c} following)"
        f" - row_number() over ({group} order by seen) + rank() over ({group} order by seen) - 1 as n{i}"
        for i, c in enumerate(CUTOFFS)
    )
    sums = ", ".join(f"sum(n{i})::bigint" for i in range(len(CUTOFFS)))
    return list(base.execute(f"select {sums} from (select {counts} from e)").fetchone())  # noqa: S608


def by_polars(table: EventTable, seen: np.ndarray) -> Counts:
    import polars as pl  # noqa: PLC0415 - a peer

    events = pl.DataFrame(
        {"actor": table.actor_rank, "target": table.target_rank, "time": table.time, "seen": seen}
    )
    pairs = (
        events.lazy()
        .join(events.lazy(), on="actor", suffix="_2")
        .filter(pl.col("target") < pl.col("target_2"), (pl.col("time") - pl.col("time_2")).abs() <= WINDOW)
        .select((pl.col("seen") - pl.col("seen_2")).abs().alias("apart"))
        .select(pl.len().alias("all"), *((pl.col("apart") <= c).sum().alias(str(c)) for c in CUTOFFS))
        .collect(engine="streaming")
    )
    total, *true = pairs.row(0)
    first = int(seen.min())
    stretch = int(seen.max()) - first + max(CUTOFFS) + 1
    near = [
        _searched(events.select(key).to_series().sort())
        for key in (pl.col("seen"), pl.col("target").cast(pl.Int64) * stretch + pl.col("seen") - first)
    ]
    return [
        (hit, every - on_one - hit, total - hit) for hit, every, on_one in zip(true, *near, strict=True)
    ]


def _searched(key: object) -> list[int]:
    """Pairs at most each cutoff apart: rows up to the cutoff, less those up to the row itself."""
    rows = len(key)
    return [int(key.search_sorted(key + c, side="right").sum()) - rows * (rows + 1) // 2 for c in CUTOFFS]


def counted(events: int, rounds: int, *, joined: bool, title: str) -> Figure:
    """Each of them on one made-up history; `joined` lets pandas take part."""
    recipe = Recipe(events=events, actors=max(20, events // 11), targets=max(40, events // 4))
    table = made_up(recipe)
    seen = replay(POLICY).show(table.history, Seeded(1)).release
    truth = Truth(table=table, window=WINDOW)
    contestants = {
        "np.sort of one column": lambda: np.sort(seen),
        "tarry": lambda: cutoff_attack(truth, seen, CUTOFFS),
        "tarry, with what is kept for further draws": lambda: counts_here(table, seen),
        "polars": lambda: by_polars(table, seen),
        "DuckDB": lambda: by_duckdb(table, seen),
    }
    expected = counts_here(table, seen)
    assert by_polars(table, seen) == expected, "polars counts otherwise"
    assert by_duckdb(table, seen) == expected, "DuckDB counts otherwise"
    if joined:
        assert cross_join(table, seen, in_numpy) == expected, "pandas counts otherwise"
        contestants["pandas, every pair"] = lambda: cross_join(table, seen, in_numpy)
    own = ("tarry, with what is kept for further draws", "tarry")
    limits = ("np.sort of one column",)
    seconds = interleaved(contestants, rounds, process_time)
    return costs(title, seconds, "np.sort of one column", own=own, limits=limits)


def measure(*, tiny: bool) -> list[Figure]:
    small, large, rounds = (400, 2_000, 1) if tiny else (5_000, 500_000, 5)
    return [
        counted(small, rounds, joined=True, title=f"Counting the pairs of {small:,} events"),
        counted(large, rounds, joined=False, title=f"Counting the pairs of {large:,} events"),
    ]


def main() -> None:
    measure(tiny=arguments(__doc__).tiny)


if __name__ == "__main__":
    main()
