"""Partial results add up in any order, pass 2^63, and are read again as they were written."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarry.study.parts import tally
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.tally import EXACT, ValueTally, tally_of

whole = st.integers(min_value=-(1 << 70), max_value=1 << 70)
figures = st.dictionaries(st.sampled_from("abc"), whole, max_size=3)
values = st.lists(st.integers(min_value=-(1 << 61), max_value=1 << 61), max_size=40)
partials = st.builds(
    lambda sums, least, most, top, held: Partial(
        sums=sums,
        least=least,
        most=most,
        tops={"t": tuple(sorted(top, reverse=True)[:10])},
        tallies={"v": tally_of(np.array(held, dtype=np.int64))},
    ),
    figures,
    figures,
    figures,
    values,
    values,
)


@given(st.lists(partials, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_merging_changes_nothing(parts, random):
    """Shuffled, and added from the other end, the parts come to the same text."""
    straight = merged(parts).to_json()
    shuffled = list(parts)
    random.shuffle(shuffled)
    other_way = Partial()
    for part in shuffled:
        other_way = part.plus(other_way)

    assert merged(shuffled) is not None
    assert figures_of(other_way) == figures_of(merged(parts))
    assert Partial.from_json(straight).to_json() == straight


def figures_of(partial):
    """What a partial result holds, without the order of its names."""
    plain = {name: dict(part) for name, part in vars(partial).items()}
    return {**plain, "tallies": {name: each.as_dict() for name, each in partial.tallies.items()}}


def test_sums_pass_the_range_of_a_machine_word():
    """Three counts of 2^63 - 1 add up, and survive being written."""
    huge = Partial(sums={"pairs": (1 << 63) - 1}, tallies={"v": tally_of(np.array([5]))})
    three = merged([huge, huge, huge])

    assert three.sums["pairs"] == 3 * ((1 << 63) - 1)
    assert Partial.from_json(three.to_json()).sums == three.sums


def test_a_tally_counts_past_the_range_of_a_machine_word():
    """A value may occur more often than 2^63 times."""
    often = ValueTally.from_dict({"bits": EXACT, "low": [7], "count": [1 << 63]})

    assert often.plus(often).total == 1 << 64
    assert often.plus(often).at((1 << 64) - 1).low == 7


@given(st.lists(values, min_size=1, max_size=4), st.sampled_from([1, 3, 8]))
def test_a_bin_holds_the_value_of_its_rank(parts, most):
    """However coarse a tally gets, each rank's value lies in its bin, in any order of merging."""
    kept, tally._MOST_BINS = tally._MOST_BINS, most
    try:
        together = np.sort(np.concatenate([np.array(part, dtype=np.int64) for part in parts]))
        tallies = [tally_of(np.array(part, dtype=np.int64)) for part in parts]
        forth, back = tallies[0], tallies[-1]
        for each in tallies[1:]:
            forth = forth.plus(each)
        for each in tallies[-2::-1]:
            back = each.plus(back)
    finally:
        tally._MOST_BINS = kept

    assert forth.as_dict() == back.as_dict()
    assert len(forth.low) <= max(most, 128)  # with one bit there is a bin for each power of two
    for rank, value in enumerate(together.tolist()):
        found = forth.at(rank)
        assert found.low <= value <= found.high
        assert found.before == int((together < found.low).sum())
