"""A policy: every choice checked when it is made, and the ticks, shares and laws that follow from it."""

import pickle
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput, NotPossible
from tarry.core.exact import ticks_up
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.plugins import load
from tarry.core.policy import LABEL_RULES, Policy, event_share

SECONDS = st.integers(1, 10**10).map(lambda us: Fraction(us, 10**6))


def at_once(ask):
    """A law of one's own: everybody waits for the start."""
    law = Law.of_masses([*[0] * ask.start, 1])
    return LawPair(batched=law, unbatched=law, start=ask.start)


def label_choices(labels):
    """What goes with a label rule in every policy."""
    none = {"law": "label-free", "delta": "0.01"} if labels == "none" else {}
    window = {"window": "0s"} if labels in ("none", "simultaneous") else {}
    return {"labels": labels, **none, **window}


EPSILON = "epsilon must be between 0.000001 and 100, not"
UNITS = "write it like 90s, 11m, 1h30m or 500ms"
OUR_LAWS = "use zero-inflated-uniform, uniform, exponential, staircase, cosine, label-free"
LABELS = "use held, declared, follower, simultaneous, none"
REFUSED = [
    ({"epsilon": "0"}, f"{EPSILON} 0: 0.5 to 2 is usual"),
    ({"epsilon": "-1"}, f"{EPSILON} -1: 0.5 to 2 is usual"),
    ({"epsilon": "0.0000009"}, f"{EPSILON} 9e-07"),
    ({"epsilon": "100.001"}, f"{EPSILON} 100.001"),
    ({"epsilon": 10**39}, f"{EPSILON} 1e+39"),
    ({"epsilon": Fraction(10**400)}, f"{EPSILON} a number of more than 100 digits"),
    ({"epsilon": "nan"}, "epsilon must be a finite number of ordinary size, not 'nan'"),
    ({"epsilon": Decimal("Infinity")}, "epsilon must be a finite number of ordinary size, not 'Infinity'"),
    ({"epsilon": 0.5}, "epsilon must be a decimal number, not 0.5 (float): give it as text such as"),
    ({"epsilon": True}, "epsilon must be a decimal number, not True (bool)"),
    ({"weight": "-0.001"}, "weight must be between 0 and 1, not -0.001"),
    ({"weight": "1.001"}, "weight must be between 0 and 1, not 1.001"),
    ({"weight": "half"}, "weight must be a decimal number, not 'half': write it like 0.5 or 2"),
    ({"gap": "5"}, f"gap must be numbers with units, not '5': {UNITS}"),
    ({"gap": 300}, f"gap must be text with a unit, not 300: {UNITS}"),
    ({"gap": "-5m"}, f"gap must be 0s or longer, not '-5m': {UNITS}"),
    ({"gap": "5y"}, "gap has the unknown unit 'y' in '5y': use w, d, h, m, s, ms, us"),
    ({"gap": "5m"}, "gap must be above the window (5m), not 5m: choose a longer gap or a shorter window"),
    ({"gap": "0s", "window": "0s"}, "gap must be above the window (0s), not 0s"),
    ({"gap": "13d", "tick": "1us"}, "gap must stay below 2^40 ticks, not 13d: choose a longer tick"),
    ({"window": "11m"}, "gap must be above the window (11m), not 11m"),
    (
        {"tick": "1h"},
        "gap must be above the window (5m) in whole ticks of 1h too, not 11m: choose a shorter",
    ),
    (
        {"track_gaps": {"p": "5m30s"}, "tick": "4m"},
        "the gap of track 'p' must be above the window (5m) in whole ticks of 4m too, not 5m30s",
    ),
    ({"window": 5}, f"window must be text with a unit, not 5: {UNITS}"),
    (
        {"window": "1s", "labels": "simultaneous"},
        "window must be 0s with labels 'simultaneous', not 1s: leave it out, or choose labels held,",
    ),
    ({**label_choices("none"), "window": "1m"}, "window must be 0s with labels 'none', not 1m"),
    ({"tick": "0s"}, "tick must be above 0s, not 0s: 1s is usual"),
    ({"tick": "-1s"}, "tick must be 0s or longer, not '-1s'"),
    ({"tick": "1"}, "tick must be numbers with units, not '1'"),
    ({"labels": "hold"}, f"unknown labels 'hold': {LABELS}"),
    ({"labels": None}, f"unknown labels None: {LABELS}"),
    ({"labels": ["held"]}, f"unknown labels ['held']: {LABELS}"),
    (
        {"labels": "none"},
        "labels must not be 'none' with law 'zero-inflated-uniform': choose other labels,",
    ),
    ({"law": "label-free", "delta": "0.1"}, "labels must be 'none' with law 'label-free', not 'held'"),
    ({"law": "laplace"}, f"unknown law 'laplace': {OUR_LAWS}, or install the package that has it"),
    ({"law": "fractions:Fraction"}, "'fractions:Fraction' is code that is not installed: install it as"),
    ({"law": 5}, "law must be a name or a function, not 5"),
    ({"law": None}, "law must be a name or a function, not None"),
    ({"cover": "all"}, "unknown cover 'all': use pair, bridge"),
    (
        {"cover": "bridge", "labels": "follower"},
        "cover must be 'pair' with labels 'follower', not 'bridge'",
    ),
    ({**label_choices("none"), "cover": "bridge"}, "cover must be 'pair' with labels 'none', not 'bridge'"),
    ({"delta": "0.01"}, "delta must be 0 with labels 'held', not 0.01: leave it out, the promise"),
    ({"delta": "-0.01"}, "delta must be 0 with labels 'held', not -0.01"),
    (
        {**label_choices("none"), "delta": "0"},
        "delta must be above 0 and below 1 with labels 'none', not 0",
    ),
    (
        {**label_choices("none"), "delta": "1"},
        "delta must be above 0 and below 1 with labels 'none', not 1: try a small chance such as 0.001",
    ),
    ({"target_gaps": {"p": "2m"}}, "the gap of target 'p' must be above the window (5m), not 2m"),
    ({"track_gaps": {"p": "5m"}}, "the gap of track 'p' must be above the window (5m), not 5m"),
    ({"target_gaps": {"p": "2"}}, "the gap of target 'p' must be numbers with units, not '2'"),
    ({"track_gaps": {"p\n": 9}}, "the gap of track 'p\\n' must be text with a unit, not 9"),
    ({"starts_at": Fraction(5), "ends_at": Fraction(5)}, "until must come after from, not 0s before it"),
    (
        {"starts_at": Fraction(5), "deadline_at": Fraction(4)},
        "deadline must come after from, not 1s before",
    ),
]


@pytest.mark.parametrize(("choices", "sentence"), REFUSED)
def test_an_impossible_policy_is_refused_in_one_sentence(choices, sentence):
    """Each rule that a choice breaks is told in one line, with the key and the offending value."""
    with pytest.raises(BadInput) as caught:
        Policy(**{"epsilon": "1", "gap": "11m", **choices})

    assert str(caught.value).startswith(sentence)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "choices",
    [
        {"epsilon": "0.000001"},
        {"epsilon": "100"},
        {"weight": "0"},
        {"weight": "1"},
        {"gap": "5m1us"},
        {"window": "0s"},
        {"gap": "12d", "tick": "1us"},
        {"target_gaps": {"p": "5m1us"}},
        {"starts_at": Fraction(5), "ends_at": Fraction(6)},
        {**label_choices("none"), "delta": "0.999"},
    ],
)
def test_the_border_of_a_rule_is_allowed(choices):
    """What is just possible is accepted."""
    policy = Policy(**{"epsilon": "1", "gap": "11m", **choices})

    assert policy.start_ticks(policy.gap) >= 1


def test_a_policy_that_is_changed_is_checked_again():
    """There is no way round the rules by replacing a field of a policy that keeps them."""
    with pytest.raises(BadInput, match="gap must be above the window"):
        replace(Policy(epsilon="1", gap="11m"), gap=Fraction(60))


def test_a_policy_does_not_change():
    """A policy is frozen: what was published is what runs."""
    with pytest.raises(FrozenInstanceError):
        Policy(epsilon="1", gap="11m").epsilon = Fraction(2)


def test_numbers_are_kept_exactly():
    """A tenth given as text is a tenth, not the float nearest to it."""
    policy = Policy(epsilon="0.1", gap="0.3s", window="0s", tick="0.1s", weight=Decimal("0.7"))

    assert (policy.epsilon, policy.weight) == (Fraction(1, 10), Fraction(7, 10))
    assert policy.start_ticks(policy.gap) == 3


def test_policies_that_say_the_same_are_equal():
    """Spelling does not matter: 60s is 1m, 0.50 is 0.5."""
    assert Policy(epsilon="0.50", gap="660s") == Policy(epsilon=Fraction(1, 2), gap="11m")
    assert Policy(epsilon="0.5", gap="661s") != Policy(epsilon="0.5", gap="11m")


def test_a_policy_travels_between_processes():
    """A policy can be pickled, also after its laws were built."""
    policy = Policy(epsilon="1", gap="11m", track_gaps={"a": "1h"})
    end = policy.mechanism().pair.batched.maximum
    again = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own bytes

    assert again == policy
    assert again.mechanism().pair.batched.maximum == end


@pytest.mark.parametrize(
    ("labels", "window"),
    [("held", 300), ("declared", 300), ("follower", 300), ("simultaneous", 0), ("none", 0)],
)
def test_the_window_has_a_default_by_label_rule(labels, window):
    """Five minutes where labels have a window, none where they have not."""
    choices = label_choices(labels)
    choices.pop("window", None)

    assert Policy(epsilon="1", gap="11m", **choices).window == window


@pytest.mark.parametrize("labels", LABEL_RULES)
@given(gap=SECONDS, window=SECONDS, tick=SECONDS)
def test_start_and_hold_follow_the_label_rule(labels, gap, window, tick):
    """Batched delays start at the gap, plus the window for held and declared; only held labels hold."""
    window = Fraction(0) if labels in ("simultaneous", "none") else window
    gap += window + tick  # so that it is above the window in ticks too
    policy = Policy(**{"epsilon": "1", "gap": gap, "tick": tick, **label_choices(labels), "window": window})
    gap_ticks, window_ticks = ticks_up(gap, tick), ticks_up(window, tick)
    start = gap_ticks + (window_ticks if labels in ("held", "declared") else 0)

    assert policy.window_ticks == window_ticks
    assert policy.start_ticks(policy.gap) == start
    assert policy.hold_ticks == (window_ticks if labels == "held" else 0)


@pytest.mark.parametrize(
    ("labels", "cover", "parts"),
    [
        ("held", "pair", 2),
        ("held", "bridge", 3),
        ("declared", "pair", 2),
        ("declared", "bridge", 3),
        ("simultaneous", "pair", 2),
        ("simultaneous", "bridge", 3),
        ("follower", "pair", 1),
        ("none", "pair", 1),
    ],
)
def test_epsilon_is_shared_by_cover_and_labels(labels, cover, parts):
    """A pair is two halves, a bridge three thirds; followers and label-free events pay all of it."""
    policy = Policy(**{"epsilon": "0.7", "gap": "11m", "cover": cover, **label_choices(labels)})

    assert policy.share == event_share(Fraction(7, 10), labels, cover) == Fraction(7, 10) / parts


GAPS = {
    "target_gaps": {"p1": "20m", "7": "21m"},
    "track_gaps": {"theory": "30m", "7": "31m"},
}


@pytest.mark.parametrize(
    ("target", "track", "minutes"),
    [
        ("p1", "theory", 20),
        ("p1", None, 20),
        ("p2", "theory", 30),
        ("p2", "systems", 11),
        ("p2", None, 11),
        (7, 7, 21),
        ("theory", "p1", 11),
        (None, 7, 31),
        (None, None, 11),
    ],
)
def test_a_targets_own_gap_goes_before_its_tracks(target, track, minutes):
    """An event has its target's gap, else its track's, else the default; numbers match their text."""
    policy = Policy(epsilon="1", gap="11m", **GAPS)

    assert policy.gap_for(target, track) == 60 * minutes


def test_each_gap_has_its_own_laws():
    """A mechanism serves the gap it is asked for and is built once."""
    policy = Policy(epsilon="1", gap="11m", window="1m", **GAPS)

    assert policy.gaps == tuple(60 * Fraction(m) for m in (11, 20, 21, 30, 31))
    assert [policy.mechanism(gap).pair.start for gap in policy.gaps] == [
        60 * (m + 1) for m in (11, 20, 21, 30, 31)
    ]
    assert policy.mechanism() is policy.mechanism(policy.gap)


def test_equal_gaps_are_one_gap():
    """A gap that says what the default says is not counted twice."""
    assert Policy(epsilon="1", gap="11m", target_gaps={"p": "660s"}).gaps == (Fraction(660),)


@pytest.mark.parametrize(
    ("deadline", "tick"), [(None, None), ("100", 50), ("101.9", 50), ("102", 51), ("-0.5", -1)]
)
def test_the_deadline_tick_ends_by_the_deadline(deadline, tick):
    """Everything is out by the deadline, so the last tick is the last one that ends before it."""
    at = None if deadline is None else Fraction(deadline)

    assert Policy(epsilon="1", gap="11m", tick="2s", deadline_at=at).deadline_tick == tick


def test_a_law_of_ones_own_is_a_function():
    """Any callable is a law; its name stands for it in tables."""
    policy = Policy(epsilon="1", gap="11m", law=at_once)

    assert policy.law_name == "at_once"
    assert policy.mechanism().pair.unbatched.minimum == policy.start_ticks(policy.gap)


def test_a_law_without_a_name_is_called_own_law():
    """A callable object has a name in tables too."""

    class AtOnce:
        def __call__(self, ask):
            return at_once(ask)

    assert Policy(epsilon="1", gap="11m", law=AtOnce()).law_name == "own law"


def test_there_is_no_choice_that_caps_a_delay():
    """A policy knows no maximum delay: capping would break the promise."""
    with pytest.raises(TypeError, match="max_delay"):
        Policy(epsilon="1", gap="11m", max_delay="1h")


def test_a_law_that_starts_elsewhere_is_refused():
    """A family cannot promise less than it is asked for: the start is the policy's, not its own."""

    def lazy(ask):
        return load("law", "zero-inflated-uniform")(replace(ask, start=min(ask.start, 5)))

    with pytest.raises(BadInput, match="law 'lazy' must start batched delays at 960 ticks, not at 5"):
        Policy(epsilon="1", gap="11m", window="5m", law=lazy)


def test_a_law_answers_with_a_pair():
    """A family that forgets to return says so when the policy is made."""
    with pytest.raises(BadInput, match="must return a LawPair, not None"):
        Policy(epsilon="1", gap="11m", law=lambda ask: None)


@pytest.mark.parametrize("law", ["staircase", "exponential"])
def test_delays_beyond_62_bits_are_refused(law):
    """An endless law whose delays might not fit is refused when the policy is made."""
    with pytest.raises(BadInput, match=r"the law has delays of 2\^62 ticks or more: choose a longer tick"):
        Policy(epsilon="0.000001", gap="12d", tick="1us", law=law, labels="simultaneous")


def test_a_label_free_law_of_too_many_steps_is_refused():
    """What cannot be drawn cannot be a policy."""
    with pytest.raises(NotPossible, match="and 1000 is the most"):
        Policy(epsilon="0.001", gap="11m", law="label-free", labels="none", delta="0.000001")


@pytest.mark.parametrize("moment", ["starts_at", "ends_at", "deadline_at"])
def test_moments_are_exact(moment):
    """A float never decides when something is released."""
    with pytest.raises(BadInput, match="must be a decimal number"):
        Policy(epsilon="1", gap="11m", **{moment: 0.3})
