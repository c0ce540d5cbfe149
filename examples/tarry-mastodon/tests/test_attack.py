"""The attack on times as they are shown."""

import pytest
from tarry.core.errors import BadInput
from tarry.study.attack import Observed, Truth
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.baselines import baseline
from tarry.study.table import event_table
from tarry.testing.attacks import AttackCase, AttackSuite

from tarry_mastodon.attack import SHOWN_SECONDS

SECOND = 1_000_000


class TestShownSeconds(AttackSuite):
    """It sees what its observer saw, and nothing else."""

    case = AttackCase(kind=SHOWN_SECONDS)


@pytest.fixture
def observed():
    """Two people who act twice within a second; between the people lies a change of the second."""
    times = [100_000, 900_000, 1_000_000, 1_800_000]
    table = event_table(actor=["a", "a", "b", "b"], target=[1, 2, 3, 4], time=times)
    return Observed(truth=Truth(table=table, window=SECOND), practice=baseline("nothing"), seen=table.time)


def test_what_shows_the_same_second_is_claimed(observed):
    """Both pairs and nothing else, though the people are a tenth of a second apart."""
    (score,) = SHOWN_SECONDS.make("").score(observed, [0])

    assert (score.counts.true_positives, score.counts.false_positives) == (2, 0)
    assert cutoff_attack(observed.truth, observed.seen, [SECOND])[0].counts.false_positives > 0


def test_coarser_times_tell_less(observed):
    """Within a minute everything is one moment."""
    (score,) = SHOWN_SECONDS.make("60").score(observed, [0])

    assert (score.counts.true_positives, score.counts.false_positives) == (2, 4)


@pytest.mark.parametrize("parameter", ["0", "-1", "1.5", "x", "999999"])
def test_a_parameter_that_means_nothing_is_refused(parameter):
    """In one sentence that says what would mean something."""
    with pytest.raises(BadInput, match=f"not '{parameter}': write shown-seconds:60"):
        SHOWN_SECONDS.make(parameter)
