"""Baselines by name: each is a practice, is read from text, and says what is wrong with a text."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.plugins import names
from tarry.study.baselines import baseline, habit
from tarry.study.baselines.plain import AllAtEnd
from tarry.study.baselines.stamps import HotcrpNoon
from tarry.study.practice import MICROSECONDS
from tarry.testing.practices import PracticeCase, PracticeSuite

#: These show an event by what else there is; all others show each by itself.
TOGETHER = {"threshold", "pool", "kloak", "end"}
# Noon comes up to twelve hours after an event, which was taken to the nearest second before.
NOON = 12 * 3600 * MICROSECONDS + MICROSECONDS // 2
BASELINES = {name: habit(name) for name in names("practice")}
EXAMPLES = [example for kind in BASELINES.values() for example in kind.examples]
MORE = [
    "threshold:3",
    "mix:7s",
    "pool:1s",
    "kloak:10m",
    "jitter:1us-2us",
    "hotcrp:-05:30",
    "poisson:1us*20",
]
SPANS = st.integers(1, 36_525 * 86_400 * MICROSECONDS).map(lambda us: f"{us}us")

REFUSED = [
    ("", "unknown practice ''", "use nothing, hotcrp"),
    ("hotcrap", "unknown practice 'hotcrap'", "use nothing, hotcrp"),
    ("jitter 5m", "unknown practice 'jitter 5m'", "use nothing, hotcrp"),
    ("nothing:1h", "the habit nothing takes no parameter", "'nothing:1h' has one: write it like nothing"),
    (
        "jitter:",
        "nothing stands after the colon of 'jitter:'",
        "write it like jitter:24h or jitter:",
    ),
    ("jitter:x", "the longest delay of jitter must be numbers with units", "write it like jitter:24h or"),
    ("jitter:0s", "the longest delay of jitter must lie between 1us and 36525d", "not 0s"),
    ("jitter:-5m", "the shortest delay of jitter must be numbers with units", "not ''"),
    ("jitter:15m-5m", "the shortest delay of jitter must lie between 0s and the longest, 5m", "not 15m"),
    ("jitter:200000w", "the longest delay of jitter must be at most 36525d", "not 200000w"),
    (
        "rounding:0h",
        "the unit of rounding must lie between 1us",
        "write it like rounding:1h or rounding:1d",
    ),
    ("mix:1", "the interval of a mix must be numbers with units", "write it like mix:1h"),
    ("mix:0s", "the interval of a mix must lie between", "not 0s"),
    ("threshold:0", "the threshold of a mix must be at least 1", "not 0: write it like threshold:100"),
    ("threshold:many", "the threshold of a mix must be a whole number below 10^9", "not 'many'"),
    ("threshold:-3", "the threshold of a mix must be a whole number below 10^9", "not '-3'"),
    ("threshold:٣", "the threshold of a mix must be a whole number below 10^9", "not '٣'"),
    (
        "threshold:10000000000",
        "the threshold of a mix must be a whole number below 10^9",
        "not '10000000000'",
    ),
    ("pool:often", "the interval of a pool must be numbers with units", "write it like pool or pool:1h"),
    ("pool:0s", "the interval of a pool must lie between", "not 0s"),
    ("poisson:4s*", "the number of hops must be a whole number", "not ''"),
    ("poisson:4s*0", "the number of hops must be 1 to 20", "not 0"),
    ("poisson:4s*21", "the number of hops must be 1 to 20", "write it like poisson:60m or poisson:4s*3"),
    ("poisson:0s", "the mean delay of a hop must lie between", "not 0s"),
    ("backdated:0s", "the span of backdating must lie between", "not 0s"),
    ("kloak:0s", "the longest delay of kloak must lie between", "not 0s"),
    ("hotcrp:Mars/Olympus", "unknown zone 'Mars/Olympus'", "write it like hotcrp or"),
    ("hotcrp:../passwd", "unknown zone '../passwd'", "write it like hotcrp or"),
    ("hotcrp:Europe", "unknown zone 'Europe'", "write it like hotcrp or"),
    ("hotcrp:+24:00", "unknown zone '+24:00'", "write it like hotcrp or hotcrp:+02:00"),
    ("end:soon", "the end must be a date or a moment in ISO 8601", "not 'soon': write it like end or"),
    ("end:0001-01-01T00:00:00+02:00", "the end must lie in the years 1 to 9999", "us after 1970"),
]


def suite_of(name):
    """The suite that a baseline joins, in every form of its parameter."""
    more = [baseline(text) for text in MORE if text.partition(":")[0] == name]
    ahead = NOON if name == "hotcrp" else 0
    case = PracticeCase(habit=BASELINES[name], practices=more, alone=name not in TOGETHER, ahead=ahead)
    return type(f"Test{name.title()}", (PracticeSuite,), {"case": case, "__doc__": BASELINES[name].what})


for _name in BASELINES:
    globals()[f"Test{_name.title()}"] = suite_of(_name)


class TestEndAtAMoment(PracticeSuite):
    """An end that is given does not depend on the other events."""

    case = PracticeCase(practices=[baseline("end:2026-03-01")], alone=True)


@pytest.mark.parametrize("text", sorted({*BASELINES, *EXAMPLES, *MORE}))
def test_a_name_makes_the_practice_again(text):
    """The name of a practice is a text that gives an equal practice, in one spelling."""
    practice = baseline(text)

    assert baseline(practice.name) == practice
    assert baseline(practice.name).name == practice.name
    assert pickle.loads(pickle.dumps(practice)) == practice  # noqa: S301 - our own bytes


@given(
    st.one_of(
        st.builds("{}:{}".format, st.sampled_from(["rounding", "mix", "pool", "jitter", "kloak"]), SPANS),
        st.builds("backdated:{}".format, SPANS),
        st.builds("poisson:{}*{}".format, SPANS, st.integers(1, 20)),
        st.builds("threshold:{}".format, st.integers(1, 10**9 - 1)),
        st.builds(
            "end:{}".format, st.datetimes(timezones=st.timezones()).filter(lambda at: at.year > 1).map(str)
        ),
        st.builds(
            "hotcrp:{}{:02}:{:02}".format, st.sampled_from("+-"), st.integers(0, 23), st.integers(0, 59)
        ),
    )
)
def test_any_parameter_survives_the_name(text):
    """Whatever a parameter says, exactly that is in the practice's name."""
    practice = baseline(text)

    assert baseline(practice.name) == practice


@pytest.mark.parametrize(("name", "kind"), BASELINES.items())
def test_the_usual_parameter_is_the_one_that_may_be_left_out(name, kind):
    """A name alone means the name with its usual parameter."""
    assert kind.name == name
    assert baseline(name) == kind.make(kind.usual)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hotcrp:UTC", "hotcrp"),
        ("hotcrp:-0000", "hotcrp"),
        ("hotcrp:+0530", "hotcrp:+05:30"),
        ("pool:600s", "pool"),
        ("backdated:48h", "backdated"),
        ("kloak:0.02s", "kloak"),
        ("jitter", "jitter:1d"),
        ("jitter:0s-90m", "jitter:1h30m"),
        ("jitter:5m-15m", "jitter:5m-15m"),
        ("poisson:4s*1", "poisson:4s"),
        (" mix:60m ", "mix:1h"),
        ("end:2026-03-01", "end:2026-03-01T00:00:00Z"),
        ("end:2026-03-01T12:00:00.5+01:00", "end:2026-03-01T11:00:00.500000Z"),
    ],
)
def test_equal_practices_have_one_name(text, name):
    """However a parameter is written, the name has one spelling; a system's own number is left out."""
    assert baseline(text).name == name


@pytest.mark.parametrize(("text", "rule", "rest"), REFUSED)
def test_a_bad_text_is_refused_in_one_sentence(text, rule, rest):
    """The sentence says what is wrong, what was found, and what could be written."""
    with pytest.raises(BadInput) as refused:
        baseline(text)

    assert str(refused.value).startswith(rule)
    assert rest in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_name_is_answered_with_all_that_exist():
    """The list in the sentence is the whole list."""
    with pytest.raises(BadInput, match=", ".join(BASELINES)):
        baseline("mixnet")


def test_practices_made_without_text_are_checked_as_well():
    """The checks are in the records, not in the reading."""
    with pytest.raises(BadInput, match="unknown zone 'nowhere'"):
        HotcrpNoon(zone="nowhere")
    with pytest.raises(BadInput, match="the end must lie in the years"):
        AllAtEnd(moment=1 << 62)
