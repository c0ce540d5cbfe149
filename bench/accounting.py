"""What a season of many acts costs: our accountant beside dp-accounting, values and time, in one run.

    python bench/accounting.py

Both get the same two laws (cosine, 58 blocks, order 2.75: those of 200 pairs) and delta 0.01. Ours adds
up in whole numbers and never says too little; dp-accounting's privacy loss distributions are floats on a
grid of losses, here 1e-4 wide (its default) and 1e-3, rounded up and, for the values, down.
"""

from collections.abc import Callable
from fractions import Fraction
from time import process_time

import numpy as np
from _measure import Figure, Table, arguments, costs, installed, interleaved

from tarry.core import season
from tarry.core.policy import Policy
from tarry.core.season import Accountant, block_masses

ACTS = (20, 400, 4000)
DELTA = Fraction("0.01")
POLICY = {"gap": "11m", "window": "5m", "law": "cosine", "blocks": 58, "order": Fraction("2.75")}
EXACT, ROUGH = "tarry, exact", "tarry, a first look"


def laws() -> tuple[Accountant, Callable[[], Accountant]]:
    policy = Policy(**POLICY, season=season.Season(acts=400, epsilon=Fraction("2.3"), delta=DELTA))
    pair = policy.mechanism().pair
    return pair, lambda: Accountant(pair, policy.share)


def forget() -> None:
    """Sums are kept; each round makes its own."""
    for kept in (season._on_grid, season._times, season._add):  # noqa: SLF001 - a bench may look inside
        kept.cache_clear()


def ours(make: Callable[[], Accountant], acts: int, *, rough: bool) -> float:
    forget()
    return float(make().epsilon(acts, DELTA, rough=rough))


def theirs(pair: object, acts: int, *, grid: float, up: bool) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 - a peer

    seen = (
        {place: float(np.log(float(mass))) for place, mass in enumerate(masses) if mass}
        for masses in block_masses(pair)
    )
    batched, unbatched = seen
    one = pld.from_two_probability_mass_functions(
        log_probability_mass_function_lower=unbatched,
        log_probability_mass_function_upper=batched,
        pessimistic_estimate=up,
        value_discretization_interval=grid,
        symmetric=True,  # of the truth alone, as ours: towards "batched"
    )
    return one.self_compose(acts).get_epsilon_for_delta(float(DELTA))


def measure(*, tiny: bool) -> list[Figure | Table]:
    pair, make = laws()
    rounds, every = (1, ACTS[:1]) if tiny else (7, ACTS)
    peers = {}
    if installed("dp_accounting"):
        peers = {
            "dp-accounting, grid 1e-4": {"grid": 1e-4, "up": True},
            "dp-accounting, grid 1e-3": {"grid": 1e-3, "up": True},
        }
    found: list[Figure | Table] = [values(pair, make, every, with_peer=bool(peers))]
    for acts in every:
        contestants = {
            EXACT: lambda acts=acts: ours(make, acts, rough=False),
            ROUGH: lambda acts=acts: ours(make, acts, rough=True),
        }
        for name, options in peers.items():
            contestants[name] = lambda acts=acts, options=options: theirs(pair, acts, **options)
        seconds = interleaved(contestants, rounds, process_time)
        found.append(costs(f"The cost of {acts:,} acts", seconds, EXACT, own=(EXACT, ROUGH)))
    return found


def values(
    pair: object, make: Callable[[], Accountant], every: tuple[int, ...], *, with_peer: bool
) -> Table:
    """What each says; the truth is between the last two."""
    columns, rows = ["acts", EXACT, ROUGH], []
    if with_peer:
        columns += ["dp-accounting, rounded up", "rounded down"]
    for acts in every:
        row = [ours(make, acts, rough=rough) for rough in (False, True)]
        if with_peer:
            row += [theirs(pair, acts, grid=1e-4, up=up) for up in (True, False)]
            assert row[-1] <= row[0] + 1e-6, "ours is below what dp-accounting says is the least"
        rows.append([f"{acts:,}", *(f"{value:.4f}" for value in row)])
    table = Table("Epsilon at delta 0.01", columns, rows)
    table.show()
    return table


def main() -> None:
    measure(tiny=arguments(__doc__).tiny)


if __name__ == "__main__":
    main()
