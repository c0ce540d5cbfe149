"""What is shown at a glance, the curve of trades, and the season laws that browsers are handed."""

import pytest

from tarry.console.workbench.evening import watch
from tarry.console.workbench.figures import FIELDS, START, figures, read_choices
from tarry.console.workbench.instrument import facts, season_pair, trades
from tarry.console.workbench.seasons import found_shape, season_grid
from tarry.core.plan import plan
from tarry.core.policy import Policy

#: Some stops of the grid, cheap ones and one that needs too much.
CELLS = [("1", "0.5", "0.0001"), ("30", "4", "0.01"), ("200", "2.3", "0.01"), ("1000", "0.5", "0.0001")]


def test_a_trade_is_a_policy_with_another_budget():
    for trade in trades(START)[::5]:
        policy = Policy(epsilon=trade.value, gap="11m", window="5m")
        assert trade.wait_s == float(plan(policy).batched.mean)
        assert trade.right == watch(read_choices({"epsilon": trade.value})).delayed.person


def test_the_chosen_policy_lies_on_its_curve():
    for given in ({}, {"law": "season"}, {"epsilon": "3", "weight": "0.2"}):
        choices = read_choices(given)
        known = facts(figures(choices))
        here = next(trade for trade in known.trades if trade.value == choices.fields[known.budget])
        assert here.wait_s == pytest.approx(known.waits["batched"][1])
        assert here.right == pytest.approx(known.delayed.person, abs=1e-3)


def test_a_season_between_the_stops_has_no_curve():
    assert facts(figures(read_choices({"law": "season", "pairs": "31"}))).trades == ()


@pytest.mark.parametrize("cell", CELLS)
def test_the_season_laws_that_are_handed_out_are_those_that_are_found(cell):
    """If not: docs/generate_seasons.py."""
    grid = season_grid()
    stops = {name: tuple(FIELDS[name].steps.split()) for name in ("pairs", "total", "delta")}
    assert (grid.pairs, grid.total, grid.delta) == tuple(stops.values())

    pairs, total, delta = cell
    found = found_shape(int(pairs), FIELDS["total"].read(total), FIELDS["delta"].read(delta))
    assert grid.shape(*cell) == (None if found is None else (found[0], float(found[1])))


def test_more_budget_or_fewer_pairs_never_need_more_blocks():
    grid = season_grid()

    def blocks(*cell):
        shape = grid.shape(*cell)
        return 401 if shape is None else shape[0]

    for delta in grid.delta:
        for pairs in grid.pairs:
            row = [blocks(pairs, total, delta) for total in grid.total]
            assert row == sorted(row, reverse=True)
        for total in grid.total:
            row = [blocks(pairs, total, delta) for pairs in grid.pairs]
            assert row == sorted(row)


def test_the_law_of_a_season_in_floats_is_the_law():
    exact = read_choices({"law": "season"}).policy.mechanism().pair
    quick = season_pair(58, 3.0, 960)

    for law, other in ((exact.batched, quick.batched), (exact.unbatched, quick.unbatched)):
        assert law.maximum == other.maximum
        for tick in (0, 960, 5000, 30_000, 55_000):
            assert float(law.cumulative(tick)) == pytest.approx(float(other.cumulative(tick)), abs=1e-8)
