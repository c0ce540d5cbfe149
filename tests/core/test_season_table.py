"""What a season is worth: every figure against a table that was worked out elsewhere, with floats."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from tarry.core.errors import BadInput
from tarry.core.laws.cosine import block_law, cosine_masses
from tarry.core.policy import Policy
from tarry.core.season_table import TABLE, SeasonAsk, Watcher, season_table

POLICY = Policy(epsilon="1", gap="11m", window="5m")

#: blocks, pairs, mean in hours | constant: variation, epsilon at 0.01, posterior | order: variation,
#: epsilon at 0.01 and 0.0001, posterior at the median and at 90 %. As printed: digits say how exactly.
FIGURES = [
    (7, 12, "1.1", ".975 3.69 .290", "6", ".945 3.45 3.94 .165 .233"),
    (7, 12, "1.1", ".975 3.69 .290", "sine", ".718 4.62 6.70 .063 .289"),
    (22, 12, "3.1", ".673 1.11 .030", "6", ".371 .88 1.29 .016 .023"),
    (22, 50, "3.1", ".990 4.64 .514", "3", ".670 2.83 4.02 .039 .105"),
    (59, 50, "8", ".819 1.70 .053", "6", ".254 .81 1.35 .013 .021"),
    (59, 200, "8", ".999 6.83 .904", "3", ".454 2.22 3.48 .020 .058"),
    (179, 200, "24", ".894 2.23 .087", "6", ".145 .52 1.00 .011 .016"),
    (179, 1000, "24", "1.00 11.2 .999", "3", ".314 1.59 2.69 .014 .035"),
]
#: Pairs, and the posterior under the zero-inflated uniform law with epsilon 0.5.
CONSTANT = [(2, ".027"), (5, ".11"), (12, ".80"), (20, "1.00")]


def as_printed(values, texts):
    """Each value with as many decimals as its text has: they must be the same text."""
    decimals = [-Decimal(text).as_tuple().exponent for text in texts.split()]
    told = [f"{float(value):.{places}f}" for value, places in zip(values, decimals, strict=True)]
    return " ".join(text.removeprefix("0") for text in told)


@pytest.mark.parametrize("figures", FIGURES, ids=lambda row: f"{row[0]}:{row[1]}:{row[4]}")
def test_every_figure_of_the_table_comes_out(figures):
    blocks, pairs, hours, constant, order, varying = figures
    ask = SeasonAsk(blocks=blocks, pairs=pairs, order="sine" if order == "sine" else Decimal(order))
    (row,) = season_table(POLICY, [ask])
    older, newer = row.constant, row.varying

    assert as_printed([row.mean / 3600], hours) == hours
    assert as_printed([older.total_variation, older.epsilons[0], older.median], constant) == constant
    assert (
        as_printed([newer.total_variation, *newer.epsilons, newer.median, newer.high], varying) == varying
    )


def test_every_figure_of_the_older_law_at_one_epsilon_comes_out():
    rows = season_table(
        Policy(epsilon="0.5", gap="11m", window="5m"), [SeasonAsk(pairs=pairs) for pairs, _ in CONSTANT]
    )

    assert [
        as_printed([row.constant.median], text) for row, (_, text) in zip(rows, CONSTANT, strict=True)
    ] == [text for _, text in CONSTANT]
    assert {round(row.mean / 60) for row in rows} == {44}
    assert all(row.varying is None for row in rows)


def test_the_table_asks_for_the_seasons_of_the_figures():
    assert [(ask.blocks, ask.pairs) for ask in TABLE] == list(dict.fromkeys(row[:2] for row in FIGURES))


def test_both_laws_wait_equally_long():
    """The mean and the longest delay of the row are those of the cosine law too."""
    (row,) = season_table(POLICY, [SeasonAsk(blocks=7, pairs=3, order=Decimal(6))])
    cosine = block_law((0, *cosine_masses(7, Decimal(6))[1]), 960)

    assert (row.mean, row.longest) == (cosine.mean, cosine.maximum)


@pytest.mark.parametrize("delta", ["0.01", "0.0001"])
def test_an_order_that_is_not_given_is_the_best_for_the_first_delta(delta):
    """Half and one and a half of it cost more."""
    watcher, ask = Watcher(deltas=(Fraction(delta),)), SeasonAsk(blocks=59, pairs=50)
    (best,) = season_table(POLICY, [ask], watcher)
    others = [replace(ask, order=round(best.order * halves / 2, 2)) for halves in (1, 3)]

    assert all(
        row.varying.epsilons > best.varying.epsilons for row in season_table(POLICY, others, watcher)
    )


def test_a_quantile_is_that_of_the_losses():
    """Three blocks and one pair: nine courses, by hand."""
    (row,) = season_table(POLICY, [SeasonAsk(blocks=3, pairs=1, order=Decimal("0.01"))])
    unbatched, batched = (727245829, 2840475638, 727245829), (2147483648, 2147483648)
    middle, end = (b / u for b, u in zip(batched, unbatched[1:], strict=True))
    # Equally likely: the middle twice, once, never.
    likely = sorted([middle * middle, middle * end, middle * end, end * end])

    assert row.varying.median == pytest.approx(1 / (1 + 99 / likely[1]), rel=2e-3)
    assert row.varying.high == pytest.approx(1 / (1 + 99 / likely[3]), rel=2e-3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SeasonAsk(pairs=0), "pairs must be between 1 and 500000, not 0"),
        (lambda: SeasonAsk(pairs=1, blocks=2), "blocks must be between 3 and 10000, not 2"),
        (lambda: Watcher(deltas=(Fraction(0),)), "delta must be above 0 and below 1, not 0: try a small"),
        (lambda: Watcher(prior=Fraction(1)), "prior must be above 0 and below 1, not 1: try a small"),
    ],
)
def test_what_cannot_be_asked_is_refused(make, sentence):
    with pytest.raises(BadInput) as refused:
        make()

    assert str(refused.value).startswith(sentence)
