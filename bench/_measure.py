"""Side by side: each contestant in turn, again and again, so that a busy moment hits them all."""

import argparse
import time
from collections.abc import Callable
from statistics import median


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    return parser.parse_args()


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round: A B C A B C ..."""
    for run in contestants.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def print_speeds(
    seconds: dict[str, list[float]], base: str, count: dict[str, int], goals: dict[str, str]
) -> None:
    """Speed of each contestant as a multiple of the base, taken round by round: median and spread."""
    base_rate = [count[base] / s for s in seconds[base]]
    print(f"{'':<44}{'x ' + base:>26}{'spread':>16}   target")
    for name, times in seconds.items():
        ratios = sorted(count[name] / s / b for s, b in zip(times, base_rate, strict=True))
        spread = f"{ratios[0]:.3f}..{ratios[-1]:.3f}"
        print(f"{name:<44}{median(ratios):>26.3f}{spread:>16}   {goals.get(name, '')}")
    print()
