"""One part of docs/benchmarks.md: runs its benches, and stores what came out as JSON. Run by scripts/bench.

python bench/_part.py drawing --into docs/benchmarks
"""

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple

from _measure import MISSING, Figure, Table

# --- what is measured -------------------------------------------------------------------------------------


def drawing(*, tiny: bool) -> list[Figure | Table]:
    import draw  # noqa: PLC0415 - each part loads what it needs, and nothing else

    return [draw.vectors(tiny=tiny), draw.singles(tiny=tiny)]


def accounting(*, tiny: bool) -> list[Figure | Table]:
    import accounting  # noqa: PLC0415

    return accounting.measure(tiny=tiny)


def audit(*, tiny: bool) -> list[Figure | Table]:
    import study_peers  # noqa: PLC0415

    return study_peers.measure(tiny=tiny)


def growth(*, tiny: bool) -> list[Figure | Table]:
    import growth  # noqa: PLC0415

    return growth.measure(tiny=tiny)


def admission(*, tiny: bool) -> list[Figure | Table]:
    import processes  # noqa: PLC0415

    import gateway  # noqa: PLC0415

    with gateway.places() as (folder, databases):
        taken = gateway.admission(folder, databases, tiny=tiny)
        several = processes.measure(databases, tiny=tiny)
    steps = ("through the thread", "and prepared")  # of ours, which the bench prints
    return [*(figure.without(*steps) for figure in taken), *several]


def release(*, tiny: bool) -> list[Figure | Table]:
    import gateway  # noqa: PLC0415

    with gateway.places() as (folder, databases):
        stores = gateway.stores(folder, databases)
        return [gateway.left(kind, new, tiny=tiny) for kind, new in stores.items()]


def lateness(*, tiny: bool) -> list[Figure | Table]:
    import keep_peers  # noqa: PLC0415

    import gateway  # noqa: PLC0415

    with gateway.places() as (folder, databases):
        stores = gateway.stores(folder, databases)
        feeds = [gateway.late(kind, new, tiny=tiny) for kind, new in stores.items()]
    return [*chain(*feeds), *keep_peers.on_sqlite(tiny=tiny), *keep_peers.on_postgres(tiny=tiny)]


def claims(*, tiny: bool) -> list[Figure | Table]:
    import gateway  # noqa: PLC0415
    import keep  # noqa: PLC0415

    with gateway.places() as (folder, databases):
        return [
            keep.claims_as_it_grows(kind, lambda new=new: gateway.open_store(new()), tiny=tiny)
            for kind, new in gateway.stores(folder, databases).items()
        ]


def steady(*, tiny: bool) -> list[Figure | Table]:
    import steady  # noqa: PLC0415

    return steady.measure(tiny=tiny)


class Part(NamedTuple):
    """How a part is measured, and whose versions matter."""

    measure: Callable[..., list[Figure | Table]]
    packages: tuple[str, ...]


PARTS = {
    "drawing": Part(drawing, ("numpy", "opendp", "diffprivlib")),
    "accounting": Part(accounting, ("dp-accounting", "numpy", "scipy")),
    "audit": Part(audit, ("numpy", "numba", "polars", "duckdb", "pandas")),
    "growth": Part(growth, ("polars", "duckdb", "numba")),
    "admission": Part(
        admission,
        ("starlette", "uvicorn", "litestar", "fastapi", "huey", "procrastinate", "celery", "redis", "pgmq"),
    ),
    "release": Part(release, ("psycopg",)),
    "lateness": Part(lateness, ("psycopg", "huey", "procrastinate", "apscheduler")),
    "claims": Part(claims, ("psycopg",)),
    "steady": Part(steady, ("uvicorn", "psycopg", "huey", "procrastinate", "pgmq")),
}


# --- what is stored ---------------------------------------------------------------------------------------


def measured(name: str, *, tiny: bool) -> dict[str, object]:
    """A part's results, as JSON has them."""
    part, before = PARTS[name], Moment.now()
    found = part.measure(tiny=tiny)
    others = Moment.now().others_since(before)
    figures = [each for each in found if isinstance(each, Figure)]
    tables = [each for each in found if isinstance(each, Table)]
    return {
        "command": f"scripts/bench {name}",
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            "processors": os.cpu_count(),
            "python": platform.python_version(),
            "others": round(max(0.0, others), 2),
        },
        "versions": versions(part.packages),
        "figures": [as_json(figure) for figure in figures],
        "tables": [asdict(table) for table in tables],
        "left_out": sorted(MISSING),
    }


class Moment(NamedTuple):
    """Seconds of all processors, those of this process and its children, and time."""

    busy: float
    own: float
    wall: float

    @classmethod
    def now(cls) -> "Moment":
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        user, nice, system, _, _, irq, soft, *_ = map(int, fields)
        busy = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(busy, sum(each.ru_utime + each.ru_stime for each in own), time.monotonic())

    def others_since(self, before: "Moment") -> float:
        """How many processors other work has taken, on average."""
        busy, own, wall = (now - then for now, then in zip(self, before, strict=True))
        return (busy - own) / wall


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue  # it is named as missing
    return found


def as_json(figure: Figure) -> dict[str, object]:
    rows = [
        {
            "name": name,
            "kind": "ours" if name in figure.own else "limit" if name in figure.limits else "peer",
            "median": median(ratios),
            "low": min(ratios),
            "high": max(ratios),
            "rounds": len(ratios),
        }
        for name, ratios in figure.ratios.items()
    ]
    return {
        "title": figure.title,
        "unit": figure.unit,
        "more_is_better": figure.more_is_better,
        "ours": figure.own[0],
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS, nargs="?", help="without one their names are printed")
    parser.add_argument("--into", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    given = parser.parse_args()
    if given.part is None:
        print(*PARTS)
        return
    result = json.dumps(measured(given.part, tiny=given.tiny), indent=1)
    (given.into / f"{given.part}.json").write_text(result + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
