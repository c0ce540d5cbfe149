"""Draws against exact masses, by tests whose error rates are stated and whose power is shown.

Seeded draws are the same on every run, so these tests never flicker; `ALPHA` says how often a right
sampler would have been unlucky with its seed. For the secure source the bound is one that is proved
(Dvoretzky, Kiefer, Wolfowitz, Massart), so that a right sampler fails once in 1 / `ALPHA_SECURE` runs.
"""

from decimal import Decimal
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from tarry.core.entropy import Secure, Seeded
from tarry.core.lanes import SecureLanes, SeededLanes, event_keys
from tarry.core.law import Law, Run
from tarry.core.laws import LAWS as OURS
from tarry.core.mechanism import Ask
from tarry.core.plugins import load
from tarry.core.sampler import Geometric, Sampler

ALPHA = 1e-6
ALPHA_SECURE = 1e-10
DRAWS = 40_000
SCALAR_DRAWS = 20_000
EXPECTED = 10  # cells of a chi-square test have at least so many expected draws

LAWS = {
    f"{name}, {label}": getattr(
        load("law", name)(
            Ask(
                share=Fraction(1, 2),
                start=20,
                weight=Fraction(1, 4),
                delta=Fraction(1, 50),
                blocks=6,
                order=Decimal(3),
            )
        ),
        label,
    )
    for name in OURS
    for label in ("batched", "unbatched")
}
LAWS["zero-inflated-uniform at epsilon 4"] = load("law", "zero-inflated-uniform")(
    Ask(share=Fraction(2), start=50, weight=Fraction(0))
).unbatched
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def seeded_lanes(count, seed):
    """Lanes of so many made-up events."""
    events = np.arange(count, dtype=np.int64)
    return SeededLanes(Seeded(seed), event_keys(events % 97, events % 31, events))


def cells(law, count):
    """The law in cells of neighbouring ticks, as (first ticks, expected draws); the last is open-ended."""
    firsts, expected, tick, mass = [0], [], 0, 0.0
    end = law.tail_start + 60 * law.period_length
    while tick < end:
        mass += float(law.mass(tick))
        tick += 1
        if mass * count >= EXPECTED:
            firsts.append(tick)
            expected.append(mass * count)
            mass = 0.0
    expected[-1] += count - sum(expected)
    return np.array(firsts[:-1]), np.array(expected)


def outside(draws, law):
    """Whether some draw is one that the law never makes."""
    return draws.min() < law.minimum or (law.maximum is not None and draws.max() > law.maximum)


def chi_square(draws, law):
    """The chance of draws at least as uneven as these, if they came from the law."""
    if outside(draws, law):
        return 0.0
    firsts, expected = cells(law, len(draws))
    found = np.bincount(np.searchsorted(firsts, draws, side="right") - 1, minlength=len(firsts))
    return float(chi2.sf(((found - expected) ** 2 / expected).sum(), len(firsts) - 1))


def distance(draws, law):
    """The largest difference between the shares found and the exact ones, over all ticks."""
    if outside(draws, law):
        return 1.0
    return furthest(draws, lambda ticks: np.array([float(law.cumulative(int(tick))) for tick in ticks]))


def furthest(draws, cumulative):
    """The largest difference to a cumulative distribution: at a tick that was drawn, or just before."""
    ticks, counts = np.unique(draws, return_counts=True)
    found = np.cumsum(counts) / len(draws)
    before = np.abs(found - counts / len(draws) - cumulative(ticks - 1))
    return max(np.abs(found - cumulative(ticks)).max(), before.max())


def allowed(count, alpha):
    """The distance that this many draws exceed with a chance of at most alpha, whatever the law."""
    return sqrt(log(2 / alpha) / (2 * count))


@every_law
def test_seeded_chi_square(law):
    """Seeded draws in bulk are spread as the masses say."""
    draws = Sampler(law).draw_many(seeded_lanes(DRAWS, seed=1))

    assert chi_square(draws, law) > ALPHA


@every_law
def test_seeded_distance(law):
    """The distribution of seeded draws stays as near the exact one as that many draws must."""
    draws = Sampler(law).draw_many(seeded_lanes(DRAWS, seed=2))

    assert distance(draws, law) < allowed(DRAWS, ALPHA)


@every_law
def test_streams(law):
    """Draws of one stream after the other, as a keeper makes them, are spread as the masses say."""
    source = Seeded(3)
    sampler = Sampler(law)
    draws = np.array([sampler.draw(source.stream(i % 97, i % 31, i)) for i in range(SCALAR_DRAWS)])

    assert chi_square(draws, law) > ALPHA


@every_law
@pytest.mark.needs_real_draws("this test is about how they are spread")
def test_secure(law):
    """Draws from the secure source, one by one, stay as near the law as that many draws must."""
    source, sampler = Secure(), Sampler(law)
    draws = np.array([sampler.draw(source) for _ in range(SCALAR_DRAWS)])

    assert distance(draws, law) < allowed(SCALAR_DRAWS, ALPHA_SECURE)


@every_law
@pytest.mark.needs_real_draws("this test is about how they are spread")
def test_secure_lanes(law):
    """Draws from the secure source in bulk stay as near the law as that many draws must."""
    draws = Sampler(law).draw_many(SecureLanes(DRAWS))

    assert distance(draws, law) < allowed(DRAWS, ALPHA_SECURE)


@pytest.mark.parametrize("n", [6, 1000, 4097, 1_000_003])
@pytest.mark.needs_real_draws("this test is about how they are spread")
def test_secure_numbers(n):
    """Numbers below n are as likely as each other, in bulk and one by one."""
    source = Secure()
    for draws in (SecureLanes(DRAWS).randbelow(n), np.array([source.randbelow(n) for _ in range(DRAWS)])):
        assert draws.min() >= 0
        assert draws.max() < n
        assert furthest(draws, lambda ticks: (ticks + 1) / n) < allowed(DRAWS, ALPHA_SECURE)


def test_many_periods():
    """A geometric number with a mean of a million is spread as it must be."""
    ratio = Fraction(1_000_001, 1_000_000)
    counts = Geometric(ratio).draw_many(seeded_lanes(DRAWS, seed=4), np.arange(DRAWS))

    assert furthest(counts, lambda ticks: -np.expm1(-(ticks + 1) * np.log1p(1e-6))) < allowed(DRAWS, ALPHA)


def lane_shares(draws):
    """How alike neighbouring lanes are: their correlation, times the root of their number."""
    centred = draws - draws.mean()
    return float((centred[1:] * centred[:-1]).sum() / (centred**2).sum() * sqrt(len(draws)))


def test_neighbouring_events_are_independent():
    """Events next to each other in time, actor and target draw delays that have nothing in common."""
    law = LAWS["uniform, unbatched"]
    draws = Sampler(law).draw_many(seeded_lanes(DRAWS, seed=5)).astype(float)

    assert abs(lane_shares(draws)) < 5  # five standard deviations: alpha 6e-7


FIFTY = Law((Run(50, Fraction(1, 50)),))
ZERO = Law((Run(1, Fraction(1, 2)), Run(50, Fraction(1, 100))))
TAIL = Law((), (Run(10, Fraction(1, 20)),), Fraction(2))
PERTURBED = {
    "support one tick of 50 longer": (FIFTY, Law((Run(51, Fraction(1, 51)),))),
    "support one tick of 50 shorter": (FIFTY, Law((Run(49, Fraction(1, 49)),))),
    "support one tick later": (FIFTY, Law((Run(1, Fraction(0)), Run(50, Fraction(1, 50))))),
    "mass at zero 10 % less": (ZERO, Law((Run(1, Fraction(9, 20)), Run(50, Fraction(11, 1000))))),
    "mass at zero 10 % more": (ZERO, Law((Run(1, Fraction(11, 20)), Run(50, Fraction(9, 1000))))),
    "a ratio of 2.2 instead of 2": (TAIL, Law((), (Run(10, Fraction(6, 110)),), Fraction(22, 10))),
    "one tick of the period swallowed": (TAIL, Law((), (Run(9, Fraction(1, 18)),), Fraction(2))),
}
perturbed = pytest.mark.parametrize(("law", "wrong"), PERTURBED.values(), ids=PERTURBED)


@perturbed
def test_chi_square_sees(law, wrong):
    """The same test with as many draws rejects a sampler that is off by this little."""
    assert chi_square(Sampler(law).draw_many(seeded_lanes(DRAWS, seed=6)), law) > ALPHA
    assert chi_square(Sampler(wrong).draw_many(seeded_lanes(DRAWS, seed=6)), law) < ALPHA


@perturbed
def test_one_by_one_sees(law, wrong):
    """With as many draws as are made one by one, the chi-square test still rejects each of them."""
    assert chi_square(Sampler(law).draw_many(seeded_lanes(SCALAR_DRAWS, seed=7)), law) > ALPHA
    assert chi_square(Sampler(wrong).draw_many(seeded_lanes(SCALAR_DRAWS, seed=7)), law) < ALPHA


@pytest.mark.parametrize(
    "change", [name for name in PERTURBED if "shorter" not in name and "swallowed" not in name]
)
def test_distance_sees(change):
    """The distance that the secure source is held to rejects a sampler that is off by this little."""
    law, wrong = PERTURBED[change]

    draws = Sampler(wrong).draw_many(seeded_lanes(SCALAR_DRAWS, seed=8))

    assert distance(draws, law) > allowed(SCALAR_DRAWS, ALPHA_SECURE)


def test_correlation_sees():
    """Lanes that share one draw in twenty with their neighbour are found out."""
    law = LAWS["uniform, unbatched"]
    draws = Sampler(law).draw_many(seeded_lanes(DRAWS, seed=9)).astype(float)
    draws[20::20] = draws[19:-1:20]

    assert abs(lane_shares(draws)) > 5
