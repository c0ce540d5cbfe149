"""How fast delays are drawn, against plain generators that know no law, in one run.

    python bench/draw.py

The law is the default one at epsilon 1, a gap of 300 ticks. Vector drawing is compared with numpy's
`random()`, one draw at a time with `secrets.randbelow`. Every delay is exact; neither peer draws one.
"""

import secrets
import sys
from fractions import Fraction

import numpy as np
from _measure import arguments, interleaved, print_speeds

from tarry.core.entropy import Secure, Seeded
from tarry.core.lanes import SecureLanes, SeededLanes, event_keys
from tarry.core.laws.zero_inflated import zero_inflated_uniform
from tarry.core.mechanism import Ask
from tarry.core.sampler import Sampler
from tarry.keep.keys import ctr_reader

CHUNK = 1 << 15


def vectors(sampler, total, rounds):
    rng = np.random.default_rng(1)
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
    goals = {
        "seeded, keyed": ">= 0.15, goal 0.3",
        "seeded, hashing the events too": ">= 0.15",
        "secure, standard library": ">= 0.1",
        "secure, AES-CTR of cryptography": ">= 0.3",
    }
    seconds = interleaved(contestants, rounds)
    print_speeds(seconds, "numpy random()", dict.fromkeys(contestants, total), goals)


def singles(sampler, total, rounds):
    secure, rng = Secure(), np.random.default_rng(1)
    contestants = {
        "secrets.randbelow": lambda: [secrets.randbelow(463) for _ in range(total)],
        "Secure.randbelow": lambda: [secure.randbelow(463) for _ in range(total)],
        "a whole delay, secure": lambda: [sampler.draw(secure) for _ in range(total)],
        "numpy random(), one at a time": lambda: [rng.random() for _ in range(total)],
    }
    seconds = interleaved(contestants, rounds)
    print_speeds(
        seconds, "secrets.randbelow", dict.fromkeys(contestants, total), {"Secure.randbelow": ">= 5"}
    )


def main():
    tiny = arguments(__doc__).tiny
    pair = zero_inflated_uniform(Ask(share=Fraction(1, 2), start=300, weight=Fraction(1)))
    sampler = Sampler(pair.unbatched)
    vectors(sampler, *((CHUNK, 1) if tiny else (1 << 21, 15)))
    singles(sampler, *((1000, 1) if tiny else (100_000, 15)))


if __name__ == "__main__":
    sys.exit(main())
