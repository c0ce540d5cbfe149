"""Whether the recommendation is one and the same over twenty seeds, on real histories.

    python bench/seeds.py DIR            every history in a folder, as the commands read it
    python bench/seeds.py one.parquet    or some of them

For each seed a history gets an answer. It is stable if all seeds give the same answer and, where that is to
take a policy, whatever another seed takes is taken here too, or called a tie, or nearly one. Without a
file it runs on a made-up forum.
"""

import argparse
import time
from collections import Counter
from pathlib import Path

from tarry.readers.files import read_history
from tarry.study.advice import Advice
from tarry.study.recommend import advise
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import EventTable, event_table, table_of

SEEDS = 20


def made_up() -> EventTable:
    made = synthesize(RECIPES["forum"], seed=5)
    return event_table(actor=made.actor, target=made.target, time=made.time)


def histories(places: list[Path]) -> dict[str, EventTable]:
    files = [file for place in places for file in (sorted(place.glob("*.parquet")) or [place])]
    if not files:
        return {"a made-up forum": made_up()}
    return {file.stem: table_of(read_history(file), bots=None) for file in files}


def taken(advice: Advice) -> str:
    return advice.kind if advice.best is None else advice.best.name


def is_stable(found: list[Advice]) -> bool:
    every = {taken(advice) for advice in found}
    told = [
        {one.name for one in (advice.best, *advice.tied, *advice.near) if one is not None} or {advice.kind}
        for advice in found
    ]
    return all(every <= each for each in told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("history", nargs="*", type=Path, help="files or folders of Parquet")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    chosen = parser.parse_args()
    for name, table in histories(chosen.history).items():
        start = time.process_time()
        found = [advise(table, seed=seed) for seed in range(1 if chosen.tiny else chosen.seeds)]
        spent = (time.process_time() - start) / len(found)
        counts = ", ".join(f"{one} ({count})" for one, count in Counter(map(taken, found)).items())
        verdict = "stable" if is_stable(found) else "NOT STABLE"
        print(f"{name:<20} {len(found)} seeds: {verdict}: {counts}; {spent:.1f} s of processor time a seed")


if __name__ == "__main__":
    main()
