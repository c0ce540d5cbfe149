"""Find the season laws that the workbench previews, one for every stop of its sliders: some ten minutes.

python docs/generate_seasons.py

Browsers cannot look for a law while a slider moves, so they are handed what was found here. A test finds
some of them again; run this when it fails, or when a slider has other stops.
"""
# ruff: noqa: INP001 - a script beside its pages, not a package

import json
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path

from tarry.console.workbench.figures import FIELDS
from tarry.console.workbench.seasons import found_shape

FILE = Path(__file__).resolve().parents[1] / "src/tarry/console/static/seasons.json"
PAIRS, TOTAL, DELTA = (FIELDS[name].steps.split() for name in ("pairs", "total", "delta"))


def row(pairs: str, delta: str) -> list[list[float] | None]:
    """The shapes for these, by total: they share much of the search."""
    found = [found_shape(int(pairs), Fraction(total), Fraction(delta)) for total in TOTAL]
    return [None if shape is None else [shape[0], float(shape[1])] for shape in found]


if __name__ == "__main__":
    cells = [(pairs, delta) for pairs in PAIRS for delta in DELTA]
    with ProcessPoolExecutor(2) as pool:
        rows = dict(zip(cells, pool.map(row, *zip(*cells, strict=True)), strict=True))
    shapes = [
        rows[pairs, delta][place] for pairs in PAIRS for place in range(len(TOTAL)) for delta in DELTA
    ]
    grid = {"pairs": PAIRS, "total": TOTAL, "delta": DELTA, "shapes": shapes}
    FILE.write_text(json.dumps(grid, separators=(",", ":")) + "\n", encoding="utf-8", newline="\n")
