"""What a habit is worth: formulas against simulation, bounds where there are none, and what is cheaper."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.plugins import names
from tarry.core.policy import Policy
from tarry.study import worth
from tarry.study.attest import attest
from tarry.study.attest.boxes import PracticeBox
from tarry.study.attest.neighbours import Given
from tarry.study.attest.regions import RatioTester
from tarry.study.baselines import baseline, habit
from tarry.study.practice import observer
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe
from tarry.study.table import event_table
from tarry.study.worth import habit_of, waits_of, worth_of

USUAL = Policy(epsilon="1", gap="36m", window="5m")
DRAWS = 400_000

PHRASES = {
    "round to day": "rounding:1d",
    "rounded to the hour": "rounding:1h",
    "round to 15m": "rounding:15m",
    "jitter 5m-15m": "jitter:5m-15m",
    "exponential 1h": "poisson:1h",
    "exponential 1h x 3": "poisson:1h*3",
    "timed mix 6h": "mix:6h",
    "pool": "pool",
}
#: Delta at a gap of 36 minutes, for whoever is notified, polls or reads the archive.
TABLE = {
    "poisson:60m": (0.451, 0.451, 0.451),
    "jitter:5m-15m": (1, 1, 1),
    "jitter:24h": (0.025, 0.025, 0.025),
    "jitter:12h-36h": (0.025, 0.025, 0.025),
    "mix:1h": (1, 1, 1),
    "rounding:1d": (1, 1, 1),
    "backdated:2d": (1, 1, 0.0125),
}


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_names_a_habit(phrase):
    assert habit_of(phrase) == PHRASES[phrase]


@pytest.mark.parametrize("name", TABLE)
def test_a_known_habit_is_worth_what_its_formula_says(name):
    found = worth_of(name, policy=USUAL)

    assert [round(each.delta, 4) for each in found.to] == pytest.approx(TABLE[name], abs=5e-4)
    assert all(each.exact for each in found.to)


def excess(practice, who, gap_us, epsilon, draws):
    """The excess of a histogram with edges at gaps, from releases of an act and of one a gap later."""
    sees, moments = observer(who), []
    for draw, at in enumerate((0, gap_us)):
        history = History(
            actor=np.arange(draws), target=np.zeros(draws, dtype=int), time=np.full(draws, at)
        )
        moments.append(sees.see(practice.show(history, Seeded(1, draw))))
    step, both = gap_us // 8, np.concatenate(moments)
    edges = np.arange(both.min() // step, both.max() // step + 2) * step
    true, other = (np.histogram(each, edges)[0] / draws for each in moments)
    return np.maximum(0, true - exp(epsilon) * other).sum()


@pytest.mark.parametrize(
    "name", ["poisson:60m*3", "poisson:60m*2", "poisson:60m", "jitter:3h", "backdated:6h"]
)
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_formulas_are_those_of_what_is_drawn(name, epsilon):
    """400,000 draws: a histogram errs by less than 0.015."""
    practice, gap = baseline(name), Fraction(2160)
    exact = practice.least_delta(observer("archive"), gap, epsilon)

    assert excess(practice, "archive", int(gap) * 1_000_000, epsilon, DRAWS) == pytest.approx(
        exact, abs=0.015
    )


@pytest.mark.parametrize("name", names("practice"))
def test_every_baseline_has_an_answer(name):
    text = name if habit(name).usual or name == "nothing" else habit(name).examples[0]
    found = worth_of(text, policy=USUAL)

    assert [each.observer for each in found.to] == ["notified", "poller:10m", "archive"]
    assert all(0 <= each.delta <= 1 for each in found.to)
    assert found.waits.longest_s is None or found.waits.mean_s <= found.waits.longest_s
    assert found.verdict


KNOWN = ["nothing", "rounding:1d", "hotcrp", "backdated:2d", "mix:6h", "jitter:5m-15m", "poisson:1h*3"]


@pytest.mark.parametrize("name", KNOWN)
def test_delays_that_are_known_are_those_of_what_is_shown(name):
    """20,000 acts, evenly over a day: the mean is within a fiftieth, and nothing waits longer."""
    rows = np.arange(20_000)
    history = History(actor=rows, target=rows % 50, time=rows * 4_320_000)
    delays = (baseline(name).show(history, Seeded(1)).release - history.times) / 1e6
    found = waits_of(baseline(name))

    assert found.exact
    assert found.mean_s == pytest.approx(delays.mean(), rel=0.02)
    assert found.longest_s is None or delays.max() <= found.longest_s <= 1.02 * delays.max() + 1


@pytest.mark.parametrize("who", ["notified", "poller:10m", "archive"])
@pytest.mark.parametrize("name", [*KNOWN[:3], *KNOWN[4:], "backdated:12h", "jitter:24h", "poisson:60m"])
def test_what_attest_sees_is_within_the_formula_and_comes_near(name, who):
    """Its bound is from below: never more, and not less than half."""
    practice, sees = baseline(name), observer(who)
    exact = practice.least_delta(sees, USUAL.gap, 1.0)
    found = attest(
        PracticeBox(practice=practice, observer=sees, unit=USUAL.tick),
        Given(stories=worth._moves(USUAL)),
        samples=60_000,
        level=1e-3,
        seed=1,
        tester=RatioTester(for_delta=True),
        to_the_end=True,
    )

    assert 0.5 * exact <= max(test.delta for test in found.tests) <= exact


@pytest.mark.parametrize("name", ["pool", "threshold:100", "kloak", "end"])
def test_without_a_formula_delta_is_bounded_from_below(name):
    """People who act while nobody else does are told apart nearly every time."""
    (notified, *_) = worth_of(name, policy=USUAL, observers=["notified"]).to

    assert not notified.exact
    assert 0.5 < notified.delta < 1
    assert "needs a delta of at least" in str(notified)


def test_what_waits_longer_for_less_is_replaced():
    found = worth_of("jitter 24h", policy=USUAL)

    assert found.instead.law_name == "zero-inflated-uniform"
    assert waits_of(found.instead).mean_s < found.waits.mean_s
    assert found.verdict.startswith("law zero-inflated-uniform, labels held, epsilon 1: 1h7m21s on average")


def test_labels_that_authors_declare_are_named_only_where_no_others_wait_less():
    """They wait five minutes less than held ones, and promise nothing to who declares nothing."""
    found = worth_of("jitter:127m", policy=replace(USUAL, epsilon="1"))

    assert found.waits.mean_s < 1 * 3600 + 7 * 60
    assert found.instead.labels == "declared"
    assert "labels declared (authors say that more will come), epsilon 1: 1h2m21s" in found.verdict


@pytest.mark.parametrize("name", ["nothing", "rounding:1d", "jitter:5m-15m", "kloak"])
def test_what_hardly_waits_is_cheaper_than_any_promise(name):
    assert worth_of(name, policy=USUAL).verdict == "none: it is cheaper than any promise"


def test_a_policy_without_labels_never_promises_a_larger_delta():
    found = worth_of("exponential 10h", policy=Policy(epsilon="3", gap="36m", window="5m"))

    assert found.instead.delta <= found.to[0].delta
    assert waits_of(found.instead).mean_s < found.waits.mean_s


def test_a_policy_is_worth_what_it_promises():
    policy = Policy(epsilon="1", gap="36m", labels="none", law="label-free", delta="0.01", window="0s")
    found = worth_of(policy, policy=USUAL)

    assert {(each.epsilon, each.delta, each.exact) for each in found.to} == {(1.0, 0.01, True)}
    assert found.waits.mean_s == waits_of(policy).mean_s


def test_what_is_no_habit_is_refused():
    with pytest.raises(BadInput, match="unknown practice 'prayer'"):
        worth_of("prayer", policy=USUAL)


# --- on a history ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def month():
    """A made-up month in which people batch."""
    made = synthesize(Recipe(events=1_500, actors=60, bots=0), seed=3)
    return event_table(actor=made.actor, target=made.target, time=made.time)


def right(found, name):
    return {line.observer: line.right_person.mean for line in found.lines if line.policy == name}


def test_what_is_named_on_a_history_is_at_least_as_good_in_each(month):
    """It promises as much, waits less, and lets no more claims be right than the habit or strangers do."""
    found = worth_of("exponential 10h", policy=replace(USUAL, gap="11m"), history=month)
    (ours,) = {line.policy for line in found.lines} - {"nothing", "poisson:10h"}
    theirs, instead = right(found, "poisson:10h"), right(found, ours)
    delay = {line.policy: line.mean_s for line in found.lines}

    assert found.instead is not None
    assert theirs.keys() == instead.keys() == {"notified", "poller:10m", "archive"}
    strangers = {line.observer: line.reference for line in found.lines if line.policy == ours}
    assert all(instead[who] <= max(theirs[who], strangers[who]) for who in theirs)
    assert delay[ours] < delay["poisson:10h"]


def test_a_policy_that_promises_more_is_not_named_where_more_claims_are_right(month):
    """By promises alone a mix of six hours is easily replaced."""
    alone = worth_of("mix:6h", policy=USUAL)
    found = worth_of("mix:6h", policy=USUAL, history=month)

    assert alone.instead is not None
    assert found.instead is None
    assert found.verdict.startswith("none: those that promise as much and wait less")
    for name in {line.policy for line in found.lines} - {"nothing", "mix:6h"}:
        assert any(right(found, name)[who] > right(found, "mix:6h")[who] for who in right(found, name))


def test_doing_nothing_is_measured_once(month):
    found = worth_of("nothing", policy=USUAL, history=month)

    assert [line.policy for line in found.lines] == ["nothing"] * 3
    assert found.verdict == "none: it is cheaper than any promise"
