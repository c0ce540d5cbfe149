"""Observers: who sees what, and how one is named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.study.observer import OBSERVERS, observer
from tarry.study.practice import Shown

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
