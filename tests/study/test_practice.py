"""What a practice promises in words, what it says where it is asked nothing, and what observers see."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.plugins import names
from tarry.core.policy import Policy
from tarry.study.baselines import baseline, habit
from tarry.study.practice import OBSERVERS, Practice, Shown, observer
from tarry.study.replay import replay
from tarry.study.table import event_table

GAP = Fraction(2160)  # 36 minutes


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("poisson:60m", 0.451),
        ("jitter:5m-15m", 1.0),
        ("jitter:24h", 0.025),
        ("jitter:12h-36h", 0.025),
    ],
)
def test_the_chance_of_failing_is_that_of_the_formula(text, share):
    """1 - e^(-gap/mean) for an exponential delay, gap over spread for a uniform one."""
    assert baseline(text).failing_share(GAP) == pytest.approx(share, abs=1e-3)


def test_only_a_policy_has_an_epsilon():
    """No habit of another system promises one."""
    for name in names("practice"):
        for text in habit(name).examples:
            assert not baseline(text).promise(GAP).startswith("epsilon")
    assert replay(Policy(epsilon="0.5", gap="1h")).promise(GAP) == "epsilon 0.5, gap 1h"
    free = Policy(epsilon="1", gap="1h", law="label-free", labels="none", delta="0.001")
    assert replay(free).promise(GAP) == "epsilon 1, delta 0.001, gap 1h"


def test_a_delay_that_can_never_close_the_gap_promises_nothing():
    """A jitter shorter than the gap fails for sure."""
    assert baseline("jitter:5m-15m").promise(GAP) == "none"


class AtOnce(Practice):
    """The least that a practice must be."""

    name, draws = "at once", False

    def show(self, history, draw):
        return Shown(release=history.times, printed=history.times)


def test_a_practice_that_says_nothing_promises_nothing_and_keeps_nobody():
    table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    shown = AtOnce().show(table.history, None)

    assert AtOnce().policy is None
    assert AtOnce().promise(GAP) == "none"
    assert AtOnce().spent(table, shown) is None
    assert AtOnce().stranded(table.history) == 0
    assert AtOnce().notes(table) == []


def test_a_practice_must_show_events():
    """Somebody else's class says so when it is made, not in the middle of an audit."""

    class Unfinished(Practice):
        name = "unfinished"

    with pytest.raises(TypeError, match="show"):
        Unfinished()


SHOWN = Shown(release=np.array([-5, 0, 7]), printed=np.array([1, 2, 3]))


def test_the_notified_sees_releases_and_the_archive_printed_times():
    assert observer("notified").see(SHOWN) is SHOWN.release
    assert observer("archive").see(SHOWN) is SHOWN.printed


@given(
    releases=st.lists(st.integers(-(10**16), 10**16), max_size=20),
    interval=st.sampled_from([1, 7, 1_000_000, 600_000_000, 31_557_600_000_000]),
)
def test_a_poller_sees_an_event_at_the_first_look_after_it(releases, interval):
    """Looks are whole multiples of the interval, also before 1970."""
    at = np.array(releases, dtype=np.int64)
    seen = observer(f"poller:{interval}us").see(Shown(release=at, printed=at * 0)).tolist()

    assert not any(look % interval for look in seen)
    assert all(0 <= look - release < interval for look, release in zip(seen, releases, strict=True))


@pytest.mark.parametrize("text", ["notified", "archive", "poller:10m", "poller:1h30m"])
def test_an_observer_is_called_by_the_text_that_makes_it(text):
    assert observer(text).name == text
    assert text.partition(":")[0] in OBSERVERS


@pytest.mark.parametrize("text", ["", "poller", "poller:", "notified:5m", "Notified", "spy", "poller 10m"])
def test_unknown_observers_are_refused(text):
    with pytest.raises(BadInput, match="unknown observer"):
        observer(text)


@pytest.mark.parametrize(
    ("interval", "rule"),
    [("0s", "must be above 0s"), ("often", "must be numbers with units"), ("-1s", "0s or longer")],
)
def test_a_poller_looks_again_after_some_time(interval, rule):
    with pytest.raises(BadInput, match=f"the interval of a poller .*{rule}"):
        observer(f"poller:{interval}")
