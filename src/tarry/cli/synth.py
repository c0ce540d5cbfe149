"""Make up a history with known truth: who is a bot, and which acts belong to one session.

Recipes: forum (small), wiki (a month, the default), review (a conference with its deadline),
wikipedia (3.5 million events). The same recipe and seed give the same history. Columns: actor,
target, time, is_bot and session (-1 for an act alone). Nobody's data is in it.

  tarry synth -o month.parquet
  tarry synth review -o reviews.csv --seed 7
  tarry synth wiki -o busy.jsonl --events 100000 --actors 2000
"""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.options import FORCE
from tarry.cli.outputs import SUFFIXES, free_path, write_frame
from tarry.cli.show import print_answer
from tarry.core.errors import BadInput
from tarry.study.figures import percent
from tarry.study.synth_recipes import RECIPES, Recipe

if TYPE_CHECKING:  # needs the study extra, and is loaded when the command runs
    import polars as pl

    from tarry.study.synth import MadeUp

__all__ = ["add_arguments", "run"]

_SIZES = {
    "events": "how many events, exactly",
    "actors": "how many actors, bots included",
    "targets": "how many targets",
    "days": "the length of the history",
    "bots": "how many of the actors are bots",
}
_WINDOW_S = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry synth`."""
    add_all(
        parser,
        Argument("recipe", metavar="RECIPE", nargs="?", default="wiki", help="default wiki"),
        Argument(
            "-o",
            "--output",
            metavar="FILE",
            required=True,
            help="where to write it: " + ", ".join(SUFFIXES),
        ),
        *(
            Argument(f"--{name}", metavar="N", type=int, help=f"{meaning} (default: the recipe's)")
            for name, meaning in _SIZES.items()
        ),
        Argument("--seed", metavar="N", type=int, default=0, help="another history (default 0)"),
        FORCE,
    )


def run(arguments: argparse.Namespace) -> None:
    """Make up a history, write it and say what is in it."""
    need_study("polars")
    from tarry.study.synth import synthesize  # noqa: PLC0415 - only where the study is installed

    recipe = _recipe(arguments)
    path = free_path(arguments.output, force=arguments.force)
    made = synthesize(recipe, arguments.seed)
    write_frame(
        _as_written(made, recipe, path.suffix),
        path,
        force=arguments.force,
        metadata={"time_unit": "us", "time_resolution_us": str(recipe.resolution)},
    )
    facts = {"recipe": arguments.recipe, "seed": arguments.seed, "file": str(path), **_facts(made, recipe)}
    print_answer(arguments, _summary(facts), **facts)


def _recipe(arguments: argparse.Namespace) -> Recipe:
    if arguments.recipe not in RECIPES:
        raise BadInput(f"unknown recipe {arguments.recipe!r}", f"use {', '.join(RECIPES)}")
    chosen = {name: value for name in _SIZES if (value := getattr(arguments, name)) is not None}
    return replace(RECIPES[arguments.recipe], **chosen)


def _as_written(made: "MadeUp", recipe: Recipe, suffix: str) -> "pl.DataFrame":
    """Times as each kind of file says them best: numbers with their unit, moments, or ISO 8601."""
    import polars as pl  # noqa: PLC0415 - only where the study is installed

    frame = made.frame()
    if suffix == ".parquet":
        return frame  # its metadata says the unit
    moments = frame.with_columns(pl.from_epoch("time", time_unit="us").dt.replace_time_zone("UTC"))
    if suffix == ".arrow":
        return moments
    fraction = "%.6f" if recipe.resolution % 1_000_000 else ""
    return moments.with_columns(pl.col("time").dt.strftime(f"%Y-%m-%dT%H:%M:%S{fraction}Z"))


def _facts(made: "MadeUp", recipe: Recipe) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415 - `tarry synth --help` does not need it

    from tarry.core.labels import partner_distance  # noqa: PLC0415 - nor this

    history = made.history()
    nearest = np.minimum(*partner_distance(history, history.times))  # in microseconds
    return {
        "events": len(made),
        "actors": len(np.unique(made.actor)),
        "targets": len(np.unique(made.target)),
        "days": recipe.days,
        "bots": len(np.unique(made.actor[made.is_bot])),
        "bot_events": int(made.is_bot.sum()),
        "sessions": len(np.unique(made.session[made.session >= 0])),
        "window_s": _WINDOW_S,
        "batched_share": float((nearest <= _WINDOW_S * 1_000_000).mean()),
    }


def _summary(facts: dict[str, Any]) -> str:
    made = [f"{facts[what]:,} {what}" for what in ("events", "actors", "targets", "days")]
    batched, bots = percent(facts["batched_share"]), percent(facts["bot_events"] / facts["events"])
    return (
        f"made up {', '.join(made)}\n"
        f"{batched} of the events are batched (same actor, other target, 5 minutes)\n"
        f"{bots} of the events are those of {facts['bots']:,} bots\n"
        f"written to {facts['file']}"
    )
