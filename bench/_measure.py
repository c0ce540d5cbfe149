"""Side by side: each contestant in turn, again and again, so that a busy moment hits them all."""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Self


@dataclass(frozen=True)
class Figure:
    """Contestants beside one of them, the base: the ratio of each in every round."""

    title: str
    unit: str  # what a ratio of 1 is
    ratios: dict[str, list[float]]
    own: tuple[str, ...] = ()  # which are ours; the first is the one that the others are compared with
    limits: tuple[str, ...] = ()  # which do the least that anybody could
    more_is_better: bool = True
    goals: Mapping[str, str] = field(default_factory=dict)

    def show(self) -> None:
        """Print the median and the spread of each."""
        print(f"{self.title:<44}{self.unit:>32}{'spread':>18}   target")
        for name, ratios in self.ratios.items():
            spread = f"{min(ratios):.3g}..{max(ratios):.3g}"
            print(f"{name:<44}{median(ratios):>32.3g}{spread:>18}   {self.goals.get(name, '')}")
        print()

    def without(self, *names: str) -> Self:
        """The same with some contestants left away."""
        return replace(self, ratios={name: each for name, each in self.ratios.items() if name not in names})


@dataclass(frozen=True)
class Table:
    """Values that are no ratios of time: what was answered, how much memory it took."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def show(self) -> None:
        """Print it."""
        print(self.title)
        for row in (self.columns, *self.rows):
            print("".join(f"{cell:<28}" for cell in row))
        print()


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    return parser.parse_args()


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each contestant in each round: A B C A B C ..."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return seconds


def speeds(
    title: str,
    seconds: dict[str, list[float]],
    base: str,
    count: Mapping[str, int],
    goals: Mapping[str, str] | None = None,
    **kinds: tuple[str, ...],
) -> Figure:
    """Speed of each contestant as a multiple of the base's, round by round; shown, too."""
    base_rate = [count[base] / s for s in seconds[base]]
    ratios = {
        name: [count[name] / s / b for s, b in zip(times, base_rate, strict=True)]
        for name, times in seconds.items()
    }
    figure = Figure(title, f"times the speed of {base}", ratios, goals=goals or {}, **kinds)
    figure.show()
    return figure


def costs(
    title: str,
    seconds: dict[str, list[float]],
    base: str,
    goals: Mapping[str, str] | None = None,
    **kinds: tuple[str, ...],
) -> Figure:
    """Time of each contestant as a multiple of the base's, round by round; shown, too."""
    ratios = {
        name: [s / b for s, b in zip(times, seconds[base], strict=True)] for name, times in seconds.items()
    }
    unit = f"times the time of {base}"
    figure = Figure(title, unit, ratios, more_is_better=False, goals=goals or {}, **kinds)
    figure.show()
    return figure


#: The peers that were asked for and are not here.
MISSING: dict[str, None] = {}


def installed(package: str) -> bool:
    """Whether a peer can take part; one that cannot is named."""
    if importlib.util.find_spec(package) is not None:
        return True
    if package not in MISSING:
        print(f"!!! {package} is not installed and is left out", file=sys.stderr)
    MISSING[package] = None
    return False
