"""The made-up evening: delays by the library's own rule, and guesses counted by a plain loop."""

import numpy as np
import pytest

from tarry.console.workbench.evening import DRAWS, PEOPLE, _history, acts_of_the_evening, watch
from tarry.console.workbench.figures import START, read_choices
from tarry.console.workbench.page import evening_texts
from tarry.core.entropy import Seeded
from tarry.core.plan_release import plan_release


def count(at, cutoff):
    """Right and wrong guesses, one pair at a time."""
    acts, right, wrong = acts_of_the_evening(), 0, 0
    for one in range(len(acts)):
        for other in range(one):
            if acts[one].thread != acts[other].thread and abs(at[one] - at[other]) <= cutoff:
                same = acts[one].person == acts[other].person
                right, wrong = right + same, wrong + (not same)
    return right, wrong


def test_the_evening_is_always_the_same_and_everybody_has_several_pseudonyms():
    acts = acts_of_the_evening()

    assert acts == acts_of_the_evening.__wrapped__()
    assert len(acts) == 48
    assert {act.person for act in acts} == set(range(len(PEOPLE)))
    assert all(0 <= act.at_s < 3 * 3600 for act in acts)
    lanes = {(act.person, act.thread): act.lane for act in acts}
    assert sorted(lanes.values()) == list(range(20))
    assert [person for person, _ in sorted(lanes, key=lanes.get)] == sorted(person for person, _ in lanes)


@pytest.mark.parametrize("given", [{}, {"epsilon": "2", "draw": "7"}, {"gap": "2h", "window": "0s"}])
def test_what_is_shown_is_what_the_library_releases(given):
    choices = read_choices(given)
    seen = watch(choices)
    planned = plan_release(choices.policy, _history(seen.acts), Seeded(choices.draw))

    assert list(seen.delayed.at_s) == np.asarray(planned.release).tolist()
    assert list(seen.without.at_s) == [act.at_s for act in seen.acts]


@pytest.mark.parametrize(("cutoff", "length"), [("30s", 30), ("2m", 120), ("30m", 1800)])
def test_guesses_are_all_close_pairs_on_different_threads(cutoff, length):
    seen = watch(read_choices({"cutoff": cutoff}))

    for side in (seen.without, seen.delayed):
        assert (side.right, side.wrong) == count(side.at_s, length)
        moments = [side.at_s[guess.second] for guess in side.guesses]
        assert moments == sorted(moments)  # in the order in which they are made
        assert all(side.at_s[guess.first] <= side.at_s[guess.second] for guess in side.guesses)


def test_the_average_is_over_many_draws():
    seen = watch(START)
    right = [watch(read_choices({"draw": str(1 + more)})).delayed.right for more in range(DRAWS)]

    assert seen.usual_right == sum(right) / DRAWS
    assert len(set(right)) > 3


def test_delays_take_most_of_what_the_attacker_knows():
    """Not by a lucky draw: on average fewer than a third of the right guesses are left."""
    seen = watch(START)

    assert seen.usual_right < seen.without.right / 3
    assert seen.without.right / len(seen.without.guesses) > 0.5
    assert seen.usual_right / (seen.usual_right + seen.usual_wrong) < 0.35


def test_an_evening_without_a_guess_is_said_so():
    choices = read_choices({"gap": "7d", "epsilon": "0.05", "cutoff": "30s"})
    told = evening_texts(choices, watch(choices)).sentences

    assert "no two acts on different threads appear that close" in told["replay_delayed"]
    assert "day " in told["replay_delayed"]
