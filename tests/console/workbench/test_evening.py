"""The made-up evening: delays from the policy's own laws, and guesses counted by a plain loop."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tarry.console.workbench.evening import (
    DRAWS,
    PEOPLE,
    acts_of_the_evening,
    base_rate,
    batches,
    delays_at,
    fixed_numbers,
    releases,
    success,
    watch,
)
from tarry.console.workbench.figures import START, read_choices
from tarry.console.workbench.page import evening_texts
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import label_history, plan_release

GIVEN = [
    {},
    {"epsilon": "2"},
    {"gap": "2h", "window": "0s"},
    {"law": "season", "pairs": "30", "total": "4"},
]


def count(at, window, cutoff):
    """Guesses, right ones, and those about a batched pair, one pair at a time."""
    acts, made, right, pairs = acts_of_the_evening(), 0, 0, 0
    for one, other in combinations(range(len(acts)), 2):
        if acts[one].thread != acts[other].thread and abs(at[one] - at[other]) <= cutoff:
            same = acts[one].person == acts[other].person
            made, right = made + 1, right + same
            pairs += same and abs(acts[one].at_s - acts[other].at_s) <= window
    return made, right, pairs


def a_history():
    return History(
        actor=[PEOPLE[act.person] for act in acts_of_the_evening()],
        target=[f"thread {act.thread}" for act in acts_of_the_evening()],
        time=[act.at_s for act in acts_of_the_evening()],
        unit=Fraction(1),
    )


def all_releases(policy):
    pair = policy.mechanism().pair
    return releases(pair.batched, pair.unbatched, policy.hold_ticks, policy.window_ticks)


def test_the_evening_is_always_the_same_and_everybody_has_several_pseudonyms():
    acts = acts_of_the_evening()

    assert acts == acts_of_the_evening.__wrapped__()
    assert len(acts) == 48
    assert {act.person for act in acts} == set(range(len(PEOPLE)))
    assert all(0 <= act.at_s < 3 * 3600 for act in acts)
    lanes = {(act.person, act.thread): act.lane for act in acts}
    assert sorted(lanes.values()) == list(range(20))
    assert [person for person, _ in sorted(lanes, key=lanes.get)] == sorted(person for person, _ in lanes)


@pytest.mark.parametrize("window", ["0s", "30s", "5m"])
def test_acts_are_batched_as_the_library_labels_them(window):
    policy = read_choices({"window": window}).policy

    labels = label_history(policy, a_history()).batched
    assert batches(policy.window_ticks).any(axis=1).tolist() == labels.tolist()


@pytest.mark.parametrize("given", GIVEN)
def test_a_delay_is_the_inverse_of_its_law(given):
    """At each number the first tick by which the law has let that share go, as the exact law says it."""
    pair = read_choices(given).policy.mechanism().pair
    for law in (pair.batched, pair.unbatched):
        numbers = fixed_numbers()[0][:12]
        for number, delay in zip(numbers, delays_at(law, numbers).tolist(), strict=True):
            assert law.cumulative(delay - 1) <= Fraction(number) <= law.cumulative(delay)


@pytest.mark.parametrize("given", GIVEN)
def test_an_observer_is_as_often_right_as_where_the_library_draws(given):
    """The fixed numbers are no lucky ones: a hundred draws of `plan_release` agree within a few points."""
    choices = read_choices(given)
    policy, history = choices.policy, a_history()
    labelled = label_history(policy, history)
    at = np.array([plan_release(policy, history, Seeded(n), labelled).release for n in range(DRAWS)])
    drawn, seen = success(at, policy.window_ticks, 120), watch(choices).delayed

    assert abs(drawn.person - seen.person) < 0.05
    assert abs(drawn.guesses - seen.guesses) < 0.15 * drawn.guesses
    assert abs(at.mean() - all_releases(policy).mean()) < 0.02 * at.mean()


@pytest.mark.parametrize("cutoff", ["30s", "2m", "30m"])
def test_guesses_are_all_close_pairs_on_different_threads(cutoff):
    choices = read_choices({"cutoff": cutoff})
    seen, seconds = watch(choices), {"30s": 30, "2m": 120, "30m": 1800}[cutoff]
    rows = all_releases(choices.policy)
    made, right, pairs = np.array([count(row.tolist(), 300, seconds) for row in rows]).sum(axis=0)

    assert seen.delayed.guesses == made / DRAWS
    assert (seen.delayed.person, seen.delayed.pair) == (right / made, pairs / made)
    shares = [found[1] / found[0] for row in rows if (found := count(row.tolist(), 300, seconds))[0]]
    assert seen.delayed.spread == pytest.approx(np.std(shares))
    shown = count(seen.at_s, 300, seconds)
    assert (len(seen.guesses), sum(guess.is_right for guess in seen.guesses)) == shown[:2]
    assert all(seen.at_s[guess.first] <= seen.at_s[guess.second] for guess in seen.guesses)


def test_blind_guesses_are_right_as_often_as_pairs_are_one_persons():
    made, right, _ = count([0] * 48, 300, 0)

    assert base_rate() == right / made


def test_another_draw_changes_the_picture_and_no_figure():
    one, other = watch(START), watch(read_choices({"draw": "2"}))

    assert one.at_s != other.at_s
    assert one.delayed == other.delayed


def test_a_longer_gap_makes_every_delay_of_a_batch_longer():
    """The numbers are fixed, so that a line grows under the hand."""
    short, long = (all_releases(read_choices({"gap": gap}).policy) for gap in ("11m", "20m"))

    assert (long > short).all()


def test_delays_take_most_of_what_the_attacker_knows():
    seen = watch(START)

    assert seen.without.person > 0.5
    assert seen.delayed.person < 0.35


def test_an_evening_without_a_guess_is_said_so():
    choices = read_choices({"gap": "7d", "epsilon": "0.05", "cutoff": "30s"})
    seen = watch(choices)
    told = evening_texts(choices, seen)

    assert seen.delayed.guesses < 0.5
    assert told.tables["evening"][-1][2].startswith("day ")
