"""Write docs/benchmarks.md and its charts from the results that `scripts/bench` has stored.

python docs/generate_benchmarks.py

Each part of the page is one JSON file in docs/benchmarks/, written by `scripts/bench`. Nothing on the page
comes from anywhere else. `tests/test_docs.py` fails when the page and the results disagree.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import json
from collections.abc import Iterator
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("benchmarks.md")
RESULTS = Path(__file__).with_name("benchmarks")
#: The parts in their order: a title, what is asked, and what one must know to read the figures.
PARTS = {
    "drawing": """\
Drawing delays
How fast delays are drawn, beside numpy and beside libraries for differential privacy.
The law is the default one at epsilon 1 and a gap of 300 ticks. numpy's `random()` and
`secrets.randbelow` know no law. OpenDP and diffprivlib draw whole numbers of a two-sided geometric law
with about the same spread: what they have that comes nearest. They protect a count, and not a moment.
Time is that of all processors together.
""",
    "accounting": """\
Adding up a season
What a season of many acts costs: our accountant beside dp-accounting, values and time.
Both get the same two laws, and say how far the odds move after so many acts, but for a chance of 1 in
100. Ours adds up in whole numbers and never says too little. dp-accounting adds up floats by Fourier
transforms, on a grid of losses of any width, and knows many mechanisms that we do not.
""",
    "audit": """\
Counting pairs
How fast the pairs of a history are counted, beside a plain sort, databases and frames.
Eighteen cutoffs on one made-up history, released under a policy. All count the same, and the run stops
if they do not. Each peer counts in its own best way: DuckDB by window functions over ranges, polars by
binary search, both with a join for the linked pairs; pandas makes every pair, as such studies do. Ours
counts two things more than the peers: the pairs of one person, and those of one pseudonym. Time is that
of all processors together.
""",
    "growth": """\
An audit as a history grows
What a whole audit costs, engine by engine, with peak memory.
Doing nothing and one policy, on made-up events, from a Parquet file. All engines are ours: `spark` runs on
Spark (`local[2]`), `sail` the same on Sail, a server of Spark Connect. Each runs in a process of its own,
the start of Java included; all say the same, to the last digit, or the run stops. `python bench/growth.py
--events 3500000,100000000 --only stream` takes longer: [large histories](scale.md) has what that took.
""",
    "admission": """\
Taking posts over HTTP
How many posts a second are taken and kept, beside job queues behind the same route.
Each contestant is one uvicorn process that answers one POST; wrk keeps 32 requests on their way, and
every post is on the disk before it is answered. The base is our own application with all it does
(token, limits, reading, answer), except that the post is neither prepared nor stored. Limits do no
work. Peers hand a job to a queue behind the same route: they check no token, draw no delay, seal
nothing, and know no second post under the same key. Load and database share the processors with the
server: the second figure counts the processor time of the server's process alone, which is what a core
takes. In the last two figures `tarry serve` answers by one process and by two, with 32 requests on
their way for each: what a post costs all of them in processor time, and how many they take together.
""",
    "release": """\
Letting posts out
How fast waiting posts leave, beside the least that does the same work.
5,000 posts are due at once. The base claims them and copies them into a feed, each under a random id,
in one transaction. Ours also opens what was sealed, and keeps each outlet apart. A bare claim marks
rows, and publishes nothing.
""",
    "lateness": """\
How late a post is
How late a post leaves, beside a loop that only waits, and beside job queues.
One post falls due every 50 ms. The base sleeps until then and claims one row: it knows no other post
and no other outlet. Nothing of ours may be early; the run stops if it is. Job queues get the same small
jobs on a fresh store, with one worker that looks every 50 ms where that can be set: to be handed in, to
be run at once, and to be run at a moment. They keep no promise about times.
""",
    "claims": """\
Finding what is due among many
Whether it costs more to find what is due where many more posts wait.
One hundred posts are due while ever more wait for a later tick: what claiming and marking them takes.
""",
    "steady": """\
Steady load
How long an answer takes at half of the measured maximum, and how much memory the server holds.
All get posts at one rate: half of what the slower of our two takes at most, measured first. A post is
sent at its moment, whether or not others are answered, and its time runs from that moment. The base is
our own application without preparing and storing a post. `python bench/steady.py --seconds 600` holds
each for ten minutes a round.
""",
}
HEAD = """\
# Benchmarks

Written by `scripts/bench`; do not edit it by hand. `scripts/bench` measures everything again,
`scripts/bench PART` one part; `docs/benchmarks/` keeps the results. `scripts/bench --tiny` only proves
that all of it runs.

How to read it:

- Every figure is a ratio to one contestant of the same run, the *base*: all take turns, round after
  round. It is the median of the rounds; beside it stand the least and the most. Seconds of one machine
  say little about yours.
- A *limit* is the least work that anybody could do. It promises nothing, and we cannot be faster.
- *Peers* are what people use instead. Few of them do the same: the text of a part says what they leave
  out.
- The last column says how our line in **bold** compares with each. Where a peer is ahead it says
  **behind**.
- Peers are installed by `scripts/bench` alone, from the hashed lock `locks/bench.txt`. One that could
  not be had is named.
- Where other work took a good part of the machine, the line below the figure says so. Ratios suffer
  less from that than seconds, but they do suffer.
"""
KINDS = {"limit": "limit", "peer": "peer", "ours": "tarry"}
BUSY = 0.25  # of a processor

# --- the page ---------------------------------------------------------------------------------------------


def results() -> dict[str, dict[str, Any]]:
    """The stored result of every part that has one."""
    paths = {part: RESULTS / f"{part}.json" for part in PARTS}
    return {
        part: json.loads(path.read_text(encoding="utf-8")) for part, path in paths.items() if path.exists()
    }


def page(found: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    lines, missing = [HEAD], []
    for part, words in PARTS.items():
        title, question, text = words.split("\n", 2)
        if part in found:
            lines += [f"## {title}\n", f"{question}\n", text, *part_lines(part, found[part])]
        else:
            missing.append(f"- {title}: {question[0].lower()}{question[1:]}")
    if missing:
        lines += ["## Not measured yet\n", *missing, ""]
    return "\n".join(lines)


def part_lines(part: str, result: dict[str, Any]) -> Iterator[str]:
    """One part: each figure with its chart, tables, and what was left out."""
    for number, figure in enumerate(result["figures"], 1):
        yield f"### {figure['title']}\n"
        yield f"![{describe(figure)}](benchmarks/{chart_name(part, number)})\n"
        yield from figure_table(figure)
        yield made_by(result)
    for table in result["tables"]:
        yield f"### {table['title']}\n"
        yield from markdown(table["columns"], table["rows"])
        yield made_by(result)
    for what in result["left_out"]:
        yield f"Left out: {what}.\n"


def made_by(result: dict[str, Any]) -> str:
    """Which command made a figure, when, and beside how much other work."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    busy = ""
    if machine["others"] > BUSY:
        busy = f"; **the machine was busy:** other work took {machine['others']:.1f} of its processors"
    with_peers = f", with {versions}" if versions else ""
    return (
        f"`{result['command']}`, {result['date']}, {machine['processors']} processors, "
        f"Python {machine['python']}{with_peers}{busy}.\n"
    )


def figure_table(figure: dict[str, Any]) -> Iterator[str]:
    """Every contestant in a row, and how ours compares."""
    own = next(row for row in figure["rows"] if row["name"] == figure["ours"])
    rows = []
    for row in figure["rows"]:
        name = f"**{row['name']}**" if row is own else row["name"]
        spread = f"{short(row['low'])} to {short(row['high'])}"
        verdict = "" if row is own or row["kind"] == "ours" else compare(own, row, figure)
        rows.append([name, KINDS[row["kind"]], short(row["median"]), spread, verdict])
    columns = ["", "", figure["unit"], "spread", f"{own['name']} beside it"]
    kept = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    yield from markdown(columns[:kept], [row[:kept] for row in rows])


def compare(own: dict[str, Any], row: dict[str, Any], figure: dict[str, Any]) -> str:
    """Ours against one row, in words that say who is ahead."""
    ratio = own["median"] / row["median"]
    if not figure["more_is_better"]:
        ratio = 1 / ratio
    if row["kind"] == "limit":
        return f"{short(ratio)} of it"
    return f"{short(ratio)} times as good" if ratio >= 1 else f"**behind:** {short(ratio)} of it"


def markdown(columns: list[str], rows: list[list[str]]) -> Iterator[str]:
    """A table, and an empty line."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def short(value: float) -> str:
    """Two or three digits that count, and no power of ten.

    >>> short(0.000712), short(1.0), short(23.456), short(4567.8)
    ('0.00071', '1.00', '23.5', '4,570')
    """
    if not value:
        return "0"
    if value < 1:
        return f"{value:.{1 - floor(log10(value))}f}"
    digits = max(0, 2 - floor(log10(value)))
    return f"{round(value, 2 - floor(log10(value))):,.{digits}f}"


def describe(figure: dict[str, Any]) -> str:
    """What a chart shows, for who cannot see it."""
    rows = "; ".join(f"{row['name']} {short(row['median'])}" for row in figure["rows"])
    return f"{figure['title']}, {figure['unit']}: {rows}".replace("[", "(").replace("]", ")")


# --- the charts -------------------------------------------------------------------------------------------

WIDTH, LEFT, RIGHT, LANE, TOP, FOOT = 720, 268, 80, 26, 34, 30
STYLE = """
    .paper { fill: #ffffff } .grid { stroke: #d9dce1; stroke-dasharray: 1 4 } .one { stroke: #59636e }
    text { fill: #1f2328; font: 13px Helvetica, Arial, "Liberation Sans", sans-serif }
    .soft { fill: #59636e } .strong { font-weight: 600 } .range { stroke-width: 3; stroke-opacity: .45 }
    .ours { fill: #0969b0; stroke: #0969b0 } .peer { fill: #c2510a; stroke: #c2510a }
    .limit { fill: #59636e; stroke: #59636e }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } .grid { stroke: #343b44 } .one { stroke: #9aa4af }
      text { fill: #e6edf3 } .soft { fill: #9aa4af }
      .ours { fill: #58aef2; stroke: #58aef2 } .peer { fill: #f28c4a; stroke: #f28c4a }
      .limit { fill: #9aa4af; stroke: #9aa4af }
    }"""


def chart_name(part: str, number: int) -> str:
    """The file of a part's chart."""
    return f"{part}-{number}.svg"


def chart(figure: dict[str, Any]) -> str:
    """A line for each contestant: its spread, and a mark at the median, on a logarithmic axis."""
    rows = figure["rows"]
    first, last = axis_ends([row["low"] for row in rows] + [row["high"] for row in rows] + [1.0])
    span = WIDTH - LEFT - RIGHT

    def place(value: float) -> float:
        return round(LEFT + span * (log10(value) - first) / (last - first), 1)

    height = TOP + LANE * len(rows) + FOOT
    direction = "further right is better" if figure["more_is_better"] else "further left is better"
    parts = [f'<text x="{LEFT}" y="18" class="soft">{escape(figure["unit"])} ({direction})</text>']
    bottom = TOP + LANE * len(rows)
    for tick in ticks(first, last):
        kind = "one" if tick == 1 else "grid"
        parts += [
            line(kind, (place(tick), TOP - 6), (place(tick), bottom)),
            f'<text x="{place(tick)}" y="{bottom + 18}" text-anchor="middle" class="soft">{tick:g}</text>',
        ]
    for number, row in enumerate(rows):
        y = TOP + LANE * number + LANE // 2
        strong = ' class="strong"' if row["name"] == figure["ours"] else ""
        parts += [
            f'<text x="{LEFT - 14}" y="{y + 4}" text-anchor="end"{strong}>{escape(row["name"])}</text>',
            line(f"range {row['kind']}", (place(row["low"]), y), (place(row["high"]), y)),
            mark(row["kind"], place(row["median"]), y),
            f'<text x="{WIDTH - 8}" y="{y + 4}" text-anchor="end"{strong}>{short(row["median"])}</text>',
        ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    body = "\n  ".join([f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>', *parts])
    title = f"<title>{escape(describe(figure))}</title>"
    return f"{head}\n  {title}\n  <style>{STYLE}\n  </style>\n  {body}\n</svg>\n"


def line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A straight one."""
    return f'<line class="{kind}" x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}"/>'


def mark(kind: str, x: float, y: int) -> str:
    """Shapes tell the kinds apart without colours."""
    if kind == "ours":
        return f'<circle class="ours" cx="{x}" cy="{y}" r="6"/>'
    if kind == "peer":
        return f'<path class="peer" d="M{x} {y - 6}l6 6l-6 6l-6 -6z"/>'
    return f'<rect class="limit" x="{round(x - 2, 1)}" y="{y - 7}" width="4" height="14"/>'


def axis_ends(values: list[float]) -> tuple[float, float]:
    """Powers of ten that hold all values, in halves; never so near that no tick is between them."""
    logs = [log10(value) for value in values if value > 0]
    first, last = floor(2 * min(logs)) / 2, ceil(2 * max(logs)) / 2
    return (first, last) if last - first >= 1 else (last - 1, last)


def ticks(first: float, last: float) -> list[float]:
    """Powers of ten; where there are few of them, also their doubles and fives."""
    steps = (1,) if last - first > 2 else (1, 2, 5)
    every = [
        round(step * 10.0**power, 9) for power in range(floor(first), ceil(last) + 1) for step in steps
    ]
    return [tick for tick in every if first - 1e-9 <= log10(tick) <= last + 1e-9]


def charts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Every chart by the name of its file."""
    return {
        chart_name(part, number): chart(figure)
        for part, result in found.items()
        for number, figure in enumerate(result["figures"], 1)
    }


def main() -> None:
    """Write the page and its charts; charts of figures that are gone go too."""
    found = results()
    drawn = charts(found)
    for old in RESULTS.glob("*.svg"):
        if old.name not in drawn:
            old.unlink()
    for name, text in drawn.items():
        (RESULTS / name).write_text(text, encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
