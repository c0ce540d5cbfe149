"""Put every mode on one chart: what each delays, what it promises, and what observers find all the same.

    python docs/generate_modes.py HISTORY...               measures, and writes figures/modes.json and .svg
    python docs/generate_modes.py HISTORY... --out FOLDER  the same for histories of yours
    python docs/generate_modes.py                          draws again what figures/modes.json has

Every mode has the same gap and window. On each history two things are measured, for an observer who is
notified of each act: of the best claims that find a tenth of the batched pairs, the share that are right
about the person; and how often a watch over the whole history finds a person's other name first. The tables
go into docs/choosing.md, or with --out into modes.md. A history of some ten thousand acts takes minutes.
"""
# ruff: noqa: INP001, T201 - a script beside its pages, not a package: it prints

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from math import exp, log1p
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import altair as alt
import numpy as np

import tarry
from tarry.core.history import in_rows
from tarry.core.season import Accountant
from tarry.paper.queue import slot_releases
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.charts.style import (
    LIGHT,
    chart_svg,
    duration_axis,
    nice_top,
    percent_axis,
    plot,
    styled,
)
from tarry.study.figures import percent, seconds
from tarry.study.practice import MICROSECONDS, Practice, Shown, observer
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.source import read_source
from tarry.study.watch import DATES, WatchQuestion, watch

if TYPE_CHECKING:
    from tarry.core.lanes import IntArray

DOCS = Path(__file__).resolve().parent
FIGURES, PAGE = DOCS / "figures", DOCS / "choosing.md"
BEGIN, END = "<!-- modes: made by docs/generate_modes.py -->", "<!-- end of modes -->"
GAP, WINDOW = "11m", "5m"
PAIRS = 20  # of one person, in a season
SEED, DRAWS = 0, 3
SPLITS, QUERIES = 1, 400  # of the watch
NOTIFIED = observer("notified")
WIDTH, HEIGHT = 310, 170  # of a panel
#: What points look like, by kind.
LOOK = {
    "no delay": ("vermilion", "triangle-up"),
    "a law for pairs": ("blue", "circle"),
    "no labels": ("purple", "square"),
    "a law for a season": ("green", "diamond"),
    "a queue": ("amber", "cross"),
    "mixes and jitter": ("sky", "triangle-down"),
}
#: Where the number of a point may stand: the first of these that is free, in pixels from its middle.
PLACES = ((9, 0), (-9, 0), (0, -12), (0, 12), (9, -12), (-9, -12), (9, 12), (-9, 12))
LETTER, LINE = 7, 11  # pixels
ROOM = 1.06  # above the highest points, as a factor: they are drawn whole


@dataclass(frozen=True, kw_only=True)
class SlotQueue(Practice):
    """One act leaves in each slot, in the order of arrival."""

    draws: ClassVar[bool] = False
    slot_s: int

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"a queue, one each {seconds(self.slot_s)}"

    def show(self, history: tarry.History, draw: tarry.Seeded) -> Shown:  # noqa: ARG002 - no chance in it
        """Replay a history."""
        order = np.lexsort((history.keys, history.times))
        moments: IntArray = -(-history.times[order] // MICROSECONDS)
        release = in_rows(order, np.array(slot_releases(moments.tolist(), self.slot_s))) * MICROSECONDS
        return Shown(release=release, printed=release)


@dataclass(frozen=True, kw_only=True)
class Mode:
    """A way of delaying."""

    kind: str  # one of LOOK
    practice: Practice

    def told_apart(self, pairs: int) -> float:
        """How much better than a guess any test of so many pairs can be, at most: their total variation."""
        policy = self.practice.policy
        if policy is None:
            one = self.practice.least_delta(NOTIFIED, tarry.parse_duration(GAP), 0.0)
            return 1.0 if one is None else 1 - (1 - one) ** pairs
        if policy.labels == "none":
            return 1 - ((1 - float(policy.delta)) * exp(-policy.epsilon)) ** pairs
        # With labels that look back the first act of a pair keeps its label.
        acts = pairs if policy.labels == "follower" else 2 * pairs
        return float(Accountant(policy.mechanism().pair, policy.share).total_variation(acts))


@cache
def modes() -> tuple[Mode, ...]:
    """Every mode, in the order of the table."""

    def ours(kind: str, name: str, **choices: Any) -> Mode:
        return Mode(
            kind=kind, practice=replay(tarry.Policy(**({"gap": GAP, "window": WINDOW} | choices)), name)
        )

    def season(pairs: int, blocks: int, order: str) -> Mode:
        # The shapes are those that `tarry plan --season` finds; a policy refuses any that cost more.
        asked = tarry.Season(acts=2 * pairs, epsilon=Fraction("2.3"), delta=Fraction("0.01"))
        law = {"law": "cosine", "season": asked, "blocks": blocks, "order": order}
        return ours("a law for a season", f"cosine, for {pairs} pairs", **law)

    pair, mixes = "a law for pairs", "mixes and jitter"
    free = {"law": "label-free", "labels": "none", "delta": "0.01", "window": "0s"}
    return (
        Mode(kind="no delay", practice=baseline("nothing")),
        *(ours(pair, f"zero-inflated, epsilon {each}", epsilon=each) for each in ("2", "1", "0.5")),
        ours(pair, "bridge cover, epsilon 1", epsilon="1", cover="bridge"),
        ours(pair, "follower, epsilon 1", epsilon="1", labels="follower"),
        ours("no labels", "label-free, epsilon 1", epsilon="1", **free),
        season(PAIRS, 15, "4"),
        season(10 * PAIRS, 58, "2.75"),
        Mode(kind="a queue", practice=SlotQueue(slot_s=60)),
        *(
            Mode(kind=mixes, practice=baseline(each))
            for each in ("mix:1h", "mix:6h", "pool:1h", "poisson:1h*3", "jitter:24h")
        ),
    )


# --- measuring ------------------------------------------------------------------------------------------


def measured(path: Path, queries: int) -> dict[str, Any]:
    """One history under every mode."""
    practices = [mode.practice for mode in modes()]
    question = Question(practices=practices, window=WINDOW, seed=SEED, draws=DRAWS, different=False)
    report = audit(path, question)
    watched = watch(
        read_source(path, question)[1],
        WatchQuestion(
            practices=practices[1:], window=question.window, splits=SPLITS, seed=SEED, most_queries=queries
        ),
    )
    lines = {line.policy: line for line in report.lines}
    after = next(line for line in report.lines if line.policy == "zero-inflated, epsilon 1")
    return {
        "name": path.stem,
        "events": report.measures.events,
        "people": report.measures.actors,
        "pairs": report.linked_pairs,
        "anyway": after.reference,
        "dates": watched.of(DATES).first.mean,
        "queries": watched.queries,
        "modes": [
            {
                "mean_s": (line := lines[practice.name]).mean_s,
                "pair": None if line.right_person is None else line.right_person.mean,
                "season": watched.of(practice.name).first.mean,
            }
            for practice in practices
        ],
    }


def figures(paths: Sequence[Path], queries: int, command: str) -> dict[str, Any]:
    """Everything that is promised and measured, and by which command."""
    histories = []
    for path in paths:
        print(f"measuring {path.name} ...", file=sys.stderr)
        histories.append(measured(path, queries))
    return {
        "command": command,
        "tarry": version("tarry"),
        "gap": GAP,
        "window": WINDOW,
        "season_pairs": PAIRS,
        "seed": SEED,
        "draws": DRAWS,
        "modes": [
            {
                "name": mode.practice.name,
                "kind": mode.kind,
                "pair": mode.told_apart(1),
                "season": mode.told_apart(PAIRS),
            }
            for mode in modes()
        ],
        "histories": histories,
    }


# --- the chart and the tables ------------------------------------------------------------------------


def chart(found: dict[str, Any]) -> alt.VConcatChart:
    """Delay against privacy: promised above, and below it measured on each history."""
    rows = [
        alt.hconcat(
            *(
                panel(found, [one[key] for one in values], delays, title)
                for key, title in zip(("pair", "season"), titles, strict=True)
            ),
            spacing=24,
        )
        for titles, values, delays in (
            (("promised for one pair", f"promised for {PAIRS} pairs"), found["modes"], mean_delays(found)),
            *(
                (
                    (f"{history['name']}: claims that are right", f"{history['name']}: other names found"),
                    history["modes"],
                    [one["mean_s"] for one in history["modes"]],
                )
                for history in found["histories"]
            ),
        )
    ]
    look = styled(plot([])).config
    return alt.vconcat(*rows, spacing=16, background=LIGHT["paper"], config=look)


def panel(
    found: dict[str, Any], values: Sequence[float | None], delays: Sequence[float], title: str
) -> alt.LayerChart:
    """One of them: a point for each mode, with its number."""
    longest = 1.1 * max(delays)
    top = ROOM * nice_top([value for value in values if value is not None])
    rows = [
        {"text": str(number), "kind": mode["kind"], "mean": delay, "share": value}
        for number, (mode, delay, value) in enumerate(
            zip(found["modes"], delays, values, strict=True), start=1
        )
        if value is not None
    ]
    x = alt.X("mean:Q", **duration_axis("mean delay", longest, 60))
    y = alt.Y("share:Q", **percent_axis("", top))
    colours = alt.Scale(domain=list(LOOK), range=[LIGHT[colour] for colour, _ in LOOK.values()])
    shapes = alt.Scale(domain=list(LOOK), range=[shape for _, shape in LOOK.values()])
    points = (
        plot(rows[::-1])
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=alt.Color("kind:N", scale=colours), shape=alt.Shape("kind:N", scale=shapes))
    )
    numbers = [
        plot([row])
        .mark_text(dx=right, dy=down, fontSize=11, color=LIGHT["ink"])
        .encode(x=x, y=y, text="text:N")
        for row, (right, down) in zip(rows, places(rows, longest, top), strict=True)
    ]
    return alt.layer(points, *numbers).properties(width=WIDTH, height=HEIGHT, title=title)


def places(rows: Sequence[dict[str, Any]], longest: float, top: float) -> list[tuple[float, float]]:
    """Where the number of each point stands: where no point is, and no number that stands already."""
    wide = log1p(max(longest, 600) / 60)
    points = [(WIDTH * log1p(row["mean"] / 60) / wide, HEIGHT * (1 - row["share"] / top)) for row in rows]
    taken = [(x, y, float(LETTER)) for x, y in points]
    chosen: list[tuple[float, float]] = []
    for row, (x, y) in zip(rows, points, strict=True):
        half = LETTER * len(row["text"]) / 2
        ways = [(right + (right > 0) * half - (right < 0) * half, down) for right, down in PLACES]
        spot = min(ways, key=lambda way: crowded(x + way[0], y + way[1], half, taken))
        taken.append((x + spot[0], y + spot[1], half))
        chosen.append(spot)
    return chosen


def crowded(x: float, y: float, half: float, taken: Sequence[tuple[float, float, float]]) -> int:
    """How many things lie under a number of this width, and whether it would leave the panel."""
    outside = x - half < 0 or x + half > WIDTH + 2 * LETTER or y > HEIGHT - LINE / 2
    under = sum(abs(x - other) < half + wide and abs(y - high) < LINE for other, high, wide in taken)
    return under + len(taken) * outside


def mean_delays(found: dict[str, Any]) -> list[float]:
    """Of each mode, over the histories."""
    columns = zip(
        *([each["mean_s"] for each in history["modes"]] for history in found["histories"]), strict=True
    )
    return [sum(column) / len(column) for column in columns]


def tables(found: dict[str, Any]) -> str:
    """What is promised, and what was measured, in Markdown."""
    histories = found["histories"]
    modes_of = [history["modes"] for history in histories]
    delays = [seconds(delay) for delay in mean_delays(found)]
    promised = [[share(mode["pair"]), share(mode["season"])] for mode in found["modes"]]
    right, names = (
        [[share(modes[place][key]) for modes in modes_of] for place in range(len(found["modes"]))]
        for key in ("pair", "season")
    )
    header = [history["name"] for history in histories]
    anyway = [share(history["anyway"]) for history in histories]
    dates = [share(history["dates"]) for history in histories]
    pairs = [f"{history['pairs']:,} pairs" for history in histories]
    queries = [f"{history['queries']:,} names" for history in histories]
    return "\n".join(
        [
            "*Promised*: how much better than a guess any test can be, at most.",
            "",
            *table(
                found,
                ["mean delay", "one pair", f"{found['season_pairs']} pairs"],
                [[delay, *shares] for delay, shares in zip(delays, promised, strict=True)],
            ),
            "",
            "*Measured, one pair*: of the best claims that find a tenth of the batched pairs, so many are",
            "right about the person.",
            "",
            *table(found, header, right),
            row("", "of pairs not batched", anyway),
            row("", "looked for", pairs),
            "",
            "*Measured, the whole history*: a person's other name is found first, among all names.",
            "",
            *table(found, header, names),
            row("", "by dates alone", dates),
            row("", "looked for", queries),
            "",
            f"Made by `{found['command']}` with tarry {found['tarry']}, seed {found['seed']}.",
        ]
    )


def table(found: dict[str, Any], header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """A row for each mode."""
    rows = [row("", "mode", header), "| ---: | --- |" + " ---: |" * len(header)]
    modes = zip(found["modes"], cells, strict=True)
    return rows + [
        row(str(number), mode["name"], each) for number, (mode, each) in enumerate(modes, start=1)
    ]


def row(number: str, name: str, cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {number} | {name} | {' | '.join(cells)} |"


def share(value: float | None) -> str:
    """In percent, or nothing where it is not known."""
    return "" if value is None else percent(value)


def with_tables(page: str, found: dict[str, Any]) -> str:
    """A page with these tables between its two marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables(found)}\n\n{END}{rest.split(END)[1]}"


def main(words: Sequence[str]) -> None:
    """Measure, if histories are given, and write chart and tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("histories", nargs="*", type=Path)
    parser.add_argument("--out", type=Path, help="a folder, instead of our own pages")
    parser.add_argument("--queries", type=int, default=QUERIES, help="names to look for, in each history")
    chosen = parser.parse_args(words)
    folder: Path = chosen.out or FIGURES
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / "modes.json"
    if chosen.histories:
        names = [path.name for path in chosen.histories]
        command = shlex.join(["python", "docs/generate_modes.py", *names])
        found = figures(chosen.histories, chosen.queries, command)
        store.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8", newline="\n")
    found = json.loads(store.read_text(encoding="utf-8"))
    drawn = chart(found)
    (folder / "modes.svg").write_text(chart_svg(drawn) + "\n", encoding="utf-8", newline="\n")
    if chosen.out:
        (folder / "modes.md").write_text(tables(found) + "\n", encoding="utf-8", newline="\n")
    else:
        page = with_tables(PAGE.read_text(encoding="utf-8"), found)
        PAGE.write_text(page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
