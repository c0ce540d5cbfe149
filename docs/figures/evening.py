"""Draw evening.svg: a made-up evening, as it arrives and as tarry releases it.

    python docs/figures/evening.py          writes docs/figures/evening.svg
    python docs/figures/evening.py FILE     writes FILE

Nothing here is measured on real people. The acts are written down below; the releases are one seeded
draw of `tarry.plan_release` under the policy below, so the same picture comes out every time.
"""
# ruff: noqa: INP001 - a script beside its picture, not a package

import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import tarry

POLICY = tarry.Policy(epsilon="0.5", gap="11m", window="5m", tick="1s")
SEED = 1

# Each person's visits; a visit is a few acts under one name or both.
PEOPLE = {
    "circle": (
        "heron 18:09:40, larch 18:12:05",
        "larch 19:21:30",
        "heron 20:03:10, larch 20:04:50",
        "larch 21:16:15, heron 21:18:40",
    ),
    "square": (
        "quill 18:38:20, ember 18:40:00",
        "ember 19:26:45, quill 19:28:10",
        "quill 20:24:00",
        "ember 21:40:30, quill 21:42:20",
    ),
    "diamond": (
        "tern 18:20:15",
        "moss 18:57:30, tern 19:01:10",
        "tern 20:06:20, moss 20:09:30",
        "moss 20:50:05, tern 20:51:35",
    ),
}
OPENS, HOURS = 18, 5  # the picture shows 18:00 to 23:00

WIDTH, EDGE, LEFT, RIGHT, LANE, PANEL = 800, 20, 76, 28, 24, 198
TOPS = (76, 76 + PANEL + 14)
HEIGHT = TOPS[1] + PANEL

STYLE = """
    .paper { fill: #ffffff } .lane, .hour { stroke: #d9dce1 } .hour { stroke-dasharray: 1 4 }
    text { fill: #1f2328; font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
    .title { font-size: 17px; font-weight: 600 } .head { font-weight: 600 } .soft { fill: #59636e }
    .circle { fill: #0969b0; stroke: #0969b0 } .square { fill: #c2510a; stroke: #c2510a }
    .diamond { fill: #0b7a55; stroke: #0b7a55 } .tie { stroke-width: 2; stroke-opacity: .55 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 } .lane, .hour { stroke: #343b44 }
      text { fill: #e6edf3 } .soft { fill: #9aa4af }
      .circle { fill: #58aef2; stroke: #58aef2 } .square { fill: #f28c4a; stroke: #f28c4a }
      .diamond { fill: #3cc495; stroke: #3cc495 }
    }"""


def read_evening() -> list[tuple[str, str, int]]:
    """Every act as (person, pseudonym, seconds since midnight)."""
    acts = []
    for person, visits in PEOPLE.items():
        for act in ", ".join(visits).split(", "):
            name, clock = act.split()
            hour, minute, second = map(int, clock.split(":"))
            acts.append((person, name, 3600 * hour + 60 * minute + second))
    return acts


def release(acts: list[tuple[str, str, int]]) -> list[int]:
    """The second at which each act is released; a pseudonym is what its target sees."""
    history = tarry.History(
        actor=[person for person, _, _ in acts],
        target=[name for _, name, _ in acts],
        time=[second for _, _, second in acts],
        unit=Fraction(1),
    )
    return tarry.plan_release(POLICY, history, tarry.Seeded(SEED)).release.tolist()


def close_pairs(acts: list[tuple[str, str, int]], seconds: list[int]) -> list[tuple[int, int]]:
    """Pairs of acts under different names that appear within the window of each other."""
    return [
        (i, j)
        for i, j in combinations(range(len(acts)), 2)
        if acts[i][1] != acts[j][1] and abs(seconds[i] - seconds[j]) <= POLICY.window
    ]


def draw() -> str:
    """The whole picture."""
    acts = read_evening()
    arrivals, releases = [second for _, _, second in acts], release(acts)
    ties = [(i, j) for i, j in close_pairs(acts, arrivals) if acts[i][0] == acts[j][0]]
    names = list(dict.fromkeys(name for _, name, _ in acts))
    lines = [*opening(acts, arrivals, releases)]
    for top, heading, seconds in (
        (TOPS[0], "As they arrive", arrivals),
        (TOPS[1], "As released", releases),
    ):
        lines += frame(top, f"{heading}: {count(acts, seconds)}", names)
        lines += [tie(acts, seconds, names, top, pair) for pair in ties]
        lines += [mark(acts[i], seconds[i], names, top) for i in range(len(acts))]
    return "\n".join([*lines, policy_note(), "</svg>", ""])


def opening(acts: list[tuple[str, str, int]], arrivals: list[int], releases: list[int]) -> list[str]:
    """Title, description for those who cannot see it, style, and the lines above the panels."""
    told = f"On arrival {count(acts, arrivals)}. After release {count(acts, releases)}."
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    desc = (
        "Two panels with one row for each of six pseudonyms, time from left to right. Three people act "
        "under two pseudonyms each; lines join acts of one person that arrived within five minutes of each "
        "other. In the upper panel these lines are nearly upright. In the lower one, after random delays, "
        f"most of them lean over. {told}"
    )
    note = (
        "Shape and colour tell the person, lines join batched acts: an observer sees neither, only names "
        "and moments."
    )
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="what how">',
        '  <title id="what">One evening: acts as they arrive, and as tarry releases them</title>',
        f'  <desc id="how">{desc}</desc>',
        f"  <style>{STYLE}\n  </style>",
        f'  <rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'  <text class="title" x="{EDGE}" y="28">One evening, three people, two pseudonyms each</text>',
        f'  <text class="soft" x="{EDGE}" y="48">{note}</text>',
    ]


def policy_note() -> str:
    """The policy, at the right of the lower heading."""
    gap, window = tarry.format_duration(POLICY.gap), tarry.format_duration(POLICY.window)
    return (
        f'  <text class="soft" x="{WIDTH - EDGE}" y="{TOPS[1] + 6}" text-anchor="end">'
        f"epsilon {float(POLICY.epsilon):g}, gap {gap}, window {window}</text>"
    )


def count(acts: list[tuple[str, str, int]], seconds: list[int]) -> str:
    """What an observer finds who looks for acts close together."""
    pairs = close_pairs(acts, seconds)
    same = sum(acts[i][0] == acts[j][0] for i, j in pairs)
    return f"{len(pairs)} pairs within 5 minutes, {same} of them one person's"


def frame(top: int, heading: str, names: list[str]) -> list[str]:
    """The heading, the hours and the lanes of a panel."""
    lines = [f'  <text class="head" x="{EDGE}" y="{top + 6}">{heading}</text>']
    first, last = lane(names[0], names, top) - 14, lane(names[-1], names, top) + 14
    for hour in range(OPENS, OPENS + HOURS + 1):
        x = across(3600 * hour)
        lines += [
            f'  <line class="hour" x1="{x}" y1="{first}" x2="{x}" y2="{last}"/>',
            f'  <text class="soft" x="{x}" y="{last + 15}" text-anchor="middle">{hour}:00</text>',
        ]
    for name in names:
        y = lane(name, names, top)
        lines += [
            f'  <text x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{name}</text>',
            f'  <line class="lane" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>',
        ]
    return lines


def tie(
    acts: list[tuple[str, str, int]], seconds: list[int], names: list[str], top: int, pair: tuple[int, int]
) -> str:
    """A line between two acts that were batched."""
    (x1, y1), (x2, y2) = ((across(seconds[i]), lane(acts[i][1], names, top)) for i in pair)
    return f'  <line class="tie {acts[pair[0]][0]}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def mark(act: tuple[str, str, int], second: int, names: list[str], top: int) -> str:
    """One act, in its person's shape."""
    x, y = across(second), lane(act[1], names, top)
    shape = {
        "circle": f'<circle class="circle" cx="{x}" cy="{y}" r="5"/>',
        "square": f'<rect class="square" x="{x - 4}" y="{y - 4}" width="8" height="8"/>',
        "diamond": f'<path class="diamond" d="M{x} {y - 6}l6 6l-6 6l-6-6z"/>',
    }
    return "  " + shape[act[0]]


def lane(name: str, names: list[str], top: int) -> int:
    """How far down a pseudonym's row is."""
    return top + 32 + LANE * names.index(name)


def across(second: int) -> int:
    """How far to the right a moment is, in whole pixels."""
    return LEFT + (second - 3600 * OPENS) * (WIDTH - LEFT - RIGHT) // (3600 * HOURS)


if __name__ == "__main__":
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg")
    to.write_text(draw(), encoding="utf-8", newline="\n")
