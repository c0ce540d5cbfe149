"""Audit the sample histories that the audit page shows to everybody, and keep what was found.

python docs/generate_samples.py [NAME...]

The histories are made up by the recipes of `tarry synth`, of another size. The files lie packed in
src/tarry/console/audit/samples/; tests/console/audit/test_samples.py makes one of them again and compares.
"""
# ruff: noqa: INP001 - a script beside its pages, not a package

import gzip
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from tarry.console.audit.page import USUAL, read_choices
from tarry.console.audit.samples import SAMPLES
from tarry.console.audit.work import work
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES

FOLDER = Path(__file__).resolve().parents[1] / "src/tarry/console/audit/samples"
#: What each is called in its file, how many events it has, and what stands beside the policies.
CHOICES = {
    "forum": (("author", "thread", "posted_at"), 2_500, ("mix:1h", "threshold:100", "jitter:1d")),
    "review": (("reviewer", "paper", "submitted_at"), 3_000, ("hotcrp", "mix:1h", "pool")),
    "wiki": (("user", "page", "timestamp"), 4_000, ("mix:1h", "threshold:100", "poisson:1h")),
}


def history(name: str) -> bytes:
    """A sample as a CSV file."""
    (actor, target, time), events, _ = CHOICES[name]
    recipe = RECIPES[name]
    size = events / recipe.events
    made = synthesize(replace(recipe, events=events, actors=max(60, round(recipe.actors * size))), seed=23)
    moments = pl.from_epoch("time", time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    frame = made.frame().select(
        pl.format("person-{}", "actor").alias(actor), pl.col("target").alias(target), moments.alias(time)
    )
    return frame.write_csv().encode()


def audited(name: str) -> dict[str, bytes]:
    """The files of a sample: the history, the answer of its page, and what can be taken away."""
    columns, _, habits = CHOICES[name]
    form = {**USUAL, **dict(zip(("actor", "target", "time"), columns, strict=True))}
    form |= {f"habit {habit}": "on" for habit in habits}
    found, before = {"history.csv": history(name)}, Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("history.csv").write_bytes(found["history.csv"])
            answer = work(Path("history.csv").absolute(), read_choices(form, columns, {}), lambda _: None)
            found |= {
                path.name: path.read_bytes() for path in Path().iterdir() if path.name != "policy.toml"
            }
        finally:
            os.chdir(before)
    return found | {"answer.json": json.dumps(answer, indent=1).encode()}


if __name__ == "__main__":
    for name in sys.argv[1:] or SAMPLES:
        (FOLDER / name).mkdir(parents=True, exist_ok=True)
        for file, content in audited(name).items():
            (FOLDER / name / f"{file}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
