"""How fast delays are drawn, against plain generators that know no law, in one run.

    python bench/draw.py

The law is the default one at epsilon 1, a gap of 300 ticks. Vector drawing is compared with numpy's
`random()`, one draw at a time with `secrets.randbelow`: neither draws a delay. OpenDP and diffprivlib draw
whole numbers of a two-sided geometric law with about the same spread: what they have that comes nearest.
"""

import secrets
from collections.abc import Callable
from fractions import Fraction
from time import process_time

import numpy as np
from _measure import Figure, arguments, installed, interleaved, speeds

from tarry.core.entropy import Secure, Seeded
from tarry.core.lanes import SecureLanes, SeededLanes, event_keys
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask
from tarry.core.sampler import Sampler
from tarry.keep.keys import ctr_reader

CHUNK = 1 << 15
SCALE = 300.0
FEWER = 64  # draws of a slow peer, as a part of ours


def default_sampler() -> Sampler:
    pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    return Sampler(pair.unbatched)


def vectors(*, tiny: bool) -> Figure:
    total, rounds = (CHUNK, 1) if tiny else (1 << 21, 15)
    sampler, rng = default_sampler(), np.random.default_rng(1)
    numbers = np.arange(total)
    # Everybody writes into memory that is there already: fresh pages would be what is measured.
    floats, ticks = np.zeros(total), np.zeros(total, dtype=np.int64)

    def in_chunks(open_lanes):
        for at in range(0, total, CHUNK):
            size = min(CHUNK, total - at)
            ticks[at : at + size] = sampler.draw_many(open_lanes(at, size))

    columns = (numbers % 977, numbers % 131, numbers * 60)
    keys = event_keys(*columns)
    source, counter = Seeded(1), ctr_reader()
    contestants = {
        "numpy random()": lambda: rng.random(out=floats),
        "seeded, keyed": lambda: in_chunks(lambda at, size: SeededLanes(source, keys[at : at + size])),
        "seeded, hashing the events too": lambda: in_chunks(
            lambda at, size: SeededLanes(source, event_keys(*(part[at : at + size] for part in columns)))
        ),
        "secure, standard library": lambda: in_chunks(lambda _, size: SecureLanes(size)),
        "secure, AES-CTR of cryptography": lambda: in_chunks(lambda _, size: SecureLanes(size, counter)),
    }
    counts = dict.fromkeys(contestants, total)
    if installed("opendp"):
        contestants["OpenDP, geometric"] = opendp_vector(total // FEWER)
        counts["OpenDP, geometric"] = total // FEWER
    goals = {
        "seeded, keyed": ">= 0.15, goal 0.3",
        "seeded, hashing the events too": ">= 0.15",
        "secure, standard library": ">= 0.1",
        "secure, AES-CTR of cryptography": ">= 0.3",
    }
    seconds = interleaved(contestants, rounds, process_time)
    return speeds(
        "Many delays at once",
        seconds,
        "numpy random()",
        counts,
        goals,
        own=tuple(goals)[::-1],
        limits=("numpy random()",),
    )


def singles(*, tiny: bool) -> Figure:
    total, rounds = (1000, 1) if tiny else (50_000, 15)
    sampler, secure, rng = default_sampler(), Secure(), np.random.default_rng(1)
    contestants = {
        "secrets.randbelow": lambda: [secrets.randbelow(463) for _ in range(total)],
        "Secure.randbelow": lambda: [secure.randbelow(463) for _ in range(total)],
        "a whole delay, secure": lambda: [sampler.draw(secure) for _ in range(total)],
        "numpy random(), one at a time": lambda: [rng.random() for _ in range(total)],
    }
    counts = dict.fromkeys(contestants, total)
    for package, peer in (("opendp", opendp_single), ("diffprivlib", diffprivlib_single)):
        if installed(package):
            name, draw = peer()
            counts[name] = total // FEWER
            contestants[name] = lambda draw=draw: [draw() for _ in range(total // FEWER)]
    seconds = interleaved(contestants, rounds, process_time)
    return speeds(
        "One delay at a time",
        seconds,
        "secrets.randbelow",
        counts,
        {"Secure.randbelow": ">= 5"},
        own=("a whole delay, secure", "Secure.randbelow"),
        limits=("numpy random(), one at a time",),
    )


def opendp_vector(total: int) -> Callable[[], object]:
    import opendp.prelude as dp  # noqa: PLC0415 - a peer

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    noise, zeros = dp.m.make_geometric(*space, scale=SCALE), [0] * total
    return lambda: noise(zeros)


def opendp_single() -> tuple[str, Callable[[], object]]:
    import opendp.prelude as dp  # noqa: PLC0415 - a peer

    dp.enable_features("contrib")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    noise = dp.m.make_geometric(*space, scale=SCALE)
    return "OpenDP, geometric", lambda: noise(0)


def diffprivlib_single() -> tuple[str, Callable[[], object]]:
    from diffprivlib.mechanisms import Geometric  # noqa: PLC0415 - a peer

    noise = Geometric(epsilon=1 / SCALE, sensitivity=1)
    return "diffprivlib, geometric", lambda: noise.randomise(0)


def main() -> None:
    tiny = arguments(__doc__).tiny
    vectors(tiny=tiny)
    singles(tiny=tiny)


if __name__ == "__main__":
    main()
