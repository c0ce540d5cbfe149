"""Attacks by name: each is the function it says, on what the observer saw, and odd names are refused."""

from fractions import Fraction

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.plugins import names
from tarry.core.policy import Policy
from tarry.study.attack import Observed, Truth, attack, attack_kind, nearest
from tarry.study.attack.cutoff import cutoff_attack, informed_attack, recipient_attack, recipient_gaps
from tarry.study.attack.difference import difference_attack
from tarry.study.attack.nearest import nearest_bound, nearest_mass, nearest_test
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, observer
from tarry.study.replay import replay
from tarry.study.table import event_table
from tarry.testing.attacks import AttackCase, AttackSuite

ATTACKS = names("attack")
POLICY = Policy(epsilon="1", gap="11m")
CUTOFFS = [600 * MICROSECONDS, 0, 20 * MICROSECONDS]
WINDOW = 300 * MICROSECONDS


class TestCutoff(AttackSuite):
    """It sees moments and targets."""

    case = AttackCase(kind=attack_kind("cutoff"))


class TestNearest(AttackSuite):
    """So does the test of one event, whatever share of the targets is watched."""

    case = AttackCase(kind=attack_kind("nearest"))


class TestRecipient(AttackSuite):
    """The receiving address is on the chain for everybody to see."""

    case = AttackCase(kind=attack_kind("recipient"), knows=["actors"])


class TestInformed(AttackSuite):
    """And so is how often it has been paid."""

    case = AttackCase(kind=attack_kind("informed"), knows=["actors", "arrivals"])


class TestLikelihood(AttackSuite):
    """It knows how far apart batched acts arrive, of all people together."""

    case = AttackCase(kind=attack_kind("likelihood"), knows=["actors", "arrivals"])


def test_every_attack_joins_the_suite():
    """A new one is missed here."""
    joined = {
        suite.case.kind.name
        for suite in (TestCutoff, TestNearest, TestRecipient, TestInformed, TestLikelihood)
    }

    assert joined == set(ATTACKS)


@pytest.fixture(scope="module")
def table():
    """An hour of some people, to the microsecond."""
    rng = np.random.default_rng(6)
    return event_table(
        actor=rng.integers(0, 40, 500),
        target=[f"page {i}" for i in rng.integers(0, 30, 500)],
        time=rng.integers(0, 24 * 3_600 * MICROSECONDS, 500),
    )


def observed_of(table, practice):
    """What a notified observer saw."""
    seen = practice.show(table.history, Seeded(1)).release
    return Observed(truth=Truth(table=table, window=WINDOW), practice=practice, seen=seen)


@pytest.mark.parametrize("practice", [baseline("jitter:1h"), replay(POLICY)], ids=["jitter", "policy"])
def test_plain_attacks_are_their_functions(table, practice):
    """On what was seen, not on what is true."""
    observed = observed_of(table, practice)

    assert attack("cutoff").score(observed, CUTOFFS) == cutoff_attack(
        observed.truth, observed.seen, CUTOFFS
    )
    assert attack("recipient").score(observed, CUTOFFS) == recipient_attack(
        observed.truth, observed.seen, CUTOFFS
    )
    assert cutoff_attack(observed.truth, observed.seen, CUTOFFS) != cutoff_attack(
        observed.truth, table.time, CUTOFFS
    )


def test_likelihood_is_the_attack_that_knows_the_policy(table):
    """So it applies to policies alone; all others apply to every practice."""
    observed = observed_of(table, replay(POLICY))

    assert attack("likelihood").score(observed, CUTOFFS) == difference_attack(observed, CUTOFFS)
    notified, poller = observer("notified"), observer("poller:10m")
    for name in ATTACKS:
        assert attack(name).applies_to(replay(POLICY), notified)
        assert attack(name).applies_to(baseline("nothing"), notified) == (name != "likelihood")
        assert attack(name).applies_to(replay(POLICY), poller) == (name != "likelihood")


def test_the_informed_attack_scales_the_cutoff_by_each_recipients_gap(table):
    """The median recipient is judged by the cutoff itself; on times to the microsecond too."""
    observed = observed_of(table, baseline("jitter:1h"))
    gaps = recipient_gaps(table, WINDOW, 600 * MICROSECONDS)
    each = [gaps[table.actor_rank == rank][0] for rank in range(table.actors)]
    multiples = [Fraction(cutoff, int(np.median(each))) for cutoff in CUTOFFS]
    expected = informed_attack(observed.truth, observed.seen, multiples, gaps)
    found = attack("informed").score(observed, CUTOFFS)

    assert [score.counts for score in found] == [score.counts for score in expected]
    assert [(score.cutoff, score.multiple) for score in found] == list(
        zip(CUTOFFS, map(float, multiples), strict=True)
    )


def test_the_informed_attack_takes_multiples_of_the_gap(table):
    """Then the cutoffs do not matter."""
    observed = observed_of(table, baseline("jitter:1h"))
    gaps = recipient_gaps(table, WINDOW, 600 * MICROSECONDS)
    multiples = [Fraction(1, 2), Fraction(2), Fraction(0)]
    method = attack("informed:0.5,2,0")

    assert method.score(observed, CUTOFFS) == informed_attack(
        observed.truth, observed.seen, multiples, gaps
    )
    assert method.name == "informed:0.5,2,0"
    with pytest.raises(BadInput, match="a multiple must be a decimal number, not 'x'"):
        attack("informed:1,x")


@pytest.mark.parametrize(("name", "share"), [("nearest", 0.5), ("nearest:0.1", 0.1), ("nearest:0.9", 0.9)])
def test_nearest_watches_a_share_of_the_targets(table, name, share):
    """Its counts are those of the test itself; the bound of a policy stands beside them."""
    watched = nearest._lots(table.target) < share
    columns = (table.time, table.actor, table.target)
    sides = {"own": ~watched, "watched": watched, "window_us": WINDOW}
    for practice in (baseline("nothing"), replay(POLICY)):
        observed = observed_of(table, practice)
        scores = attack(name).score(observed, CUTOFFS)
        for score, one in zip(
            scores, nearest_test(observed.seen, *columns, cutoffs_us=CUTOFFS, **sides), strict=True
        ):
            assert score.counts == one.counts
            assert score.cutoff == one.cutoff
            labels = replay(POLICY).show(table.history, Seeded(1)).batched
            mass = nearest_mass(*columns, labels, gap_us=960 * MICROSECONDS, **sides)
            bound = None if practice.name == "nothing" else nearest_bound(one.counts, POLICY.epsilon, mass)
            assert score.power_bound == bound
    assert attack(name).name == name


def test_lots_are_even_and_fixed_by_the_name():
    """A tenth of the targets is about a tenth, also of neighbouring numbers, and always the same ones."""
    for targets in (np.arange(20_000), np.arange(20_000) << 40, -np.arange(20_000)):
        lots = nearest._lots(targets)
        assert ((lots >= 0) & (lots < 1)).all()
        for share in (0.1, 0.5, 0.9):
            assert (lots < share).mean() == pytest.approx(share, abs=0.02)
        assert (nearest._lots(targets[::-1]) == lots[::-1]).all()


@pytest.mark.parametrize("text", ["", "cut off", "Cutoff"])
def test_unknown_attacks_are_refused(text):
    with pytest.raises(BadInput, match=f"unknown attack '{text}': use cutoff, likelihood, "):
        attack(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cutoff:5", "the attack cutoff takes no parameter, and 'cutoff:5' has one: write cutoff"),
        ("recipient:2", "the attack recipient takes no parameter"),
        ("likelihood:strangers", "the attack likelihood knows no 'strangers': write likelihood or"),
    ],
)
def test_parameters_that_are_not_taken_are_refused(text, sentence):
    with pytest.raises(BadInput, match=sentence):
        attack(text)


def test_a_colon_with_nothing_after_it_changes_nothing():
    """The attack that knows a policy still asks for one."""
    assert attack("likelihood:").name == "likelihood"
    assert not attack("likelihood:").applies_to(baseline("nothing"), observer("notified"))


@pytest.mark.parametrize("share", ["0", "1", "1.5", "-0.1", "half"])
def test_a_share_of_targets_lies_between_none_and_all(share):
    with pytest.raises(BadInput, match="the share of watched targets"):
        attack(f"nearest:{share}")
