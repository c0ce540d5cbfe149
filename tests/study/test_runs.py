"""Runs: every attack on every draw of every practice through every observer, and what it costs."""

from fractions import Fraction

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.promise import MEANINGLESS
from tarry.core.season import Season
from tarry.study.attack import Truth, attack
from tarry.study.attack.cutoff import cutoff_attack, recipient_attack
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, Practice, Shown, observer
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.runs import run_attacks
from tarry.study.table import event_table

POLICY = Policy(epsilon="1", gap="11m")


class Late(Practice):
    """A practice of one's own that does not draw: each event as late as its place in the table."""

    name, draws = "late", False

    def __init__(self):
        self.asked = []

    def show(self, history, draw):
        """Print the true times."""
        self.asked.append((draw.seed, draw.draw))
        return Shown(release=history.times + np.arange(len(history)) * MICROSECONDS, printed=history.times)


@pytest.fixture(scope="module")
def table():
    """Half a day of some people."""
    rng = np.random.default_rng(6)
    return event_table(
        actor=rng.integers(0, 30, 300),
        target=rng.integers(0, 20, 300),
        time=rng.integers(0, 40_000, 300) * MICROSECONDS,
    )


def test_everything_asked_is_run_in_its_order(table):
    """Practices, draws, observers, attacks; what does not draw is run once."""
    question = Question(
        practices=[baseline("nothing"), replay(POLICY, "mine")],
        observers=[observer("notified"), observer("archive")],
        attacks=[attack("cutoff"), attack("recipient")],
        draws=2,
    )
    runs = audit(table, question).runs

    assert [(run.policy, run.draw, run.observer, run.attack) for run in runs] == [
        (policy, draw, watcher, method)
        for policy, draw in (("nothing", 0), ("mine", 0), ("mine", 1))
        for watcher in ("notified", "archive")
        for method in ("cutoff", "recipient")
    ]


def test_runs_are_the_attacks_on_what_the_observer_saw(table):
    """With the draw of the seed asked for."""
    question = Question(
        practices=[replay(POLICY)],
        observers=[observer("poller:10m")],
        attacks=[attack("cutoff"), attack("recipient")],
        cutoffs=[60 * MICROSECONDS, 0],
        window=90 * MICROSECONDS,
        seed=7,
        draws=3,
    )
    found = audit(table, question)
    truth = Truth(table=table, window=90 * MICROSECONDS)
    for draw in range(3):
        seen = observer("poller:10m").see(replay(POLICY).show(table.history, Seeded(7, draw)))
        for method in (cutoff_attack, recipient_attack):
            [run] = [
                run
                for run in found.runs
                if (run.draw, run.attack) == (draw, method.__name__.removesuffix("_attack"))
            ]
            assert list(run.scores) == method(truth, seen, question.cutoffs)
    assert (found.linked_pairs, found.candidate_pairs) == (truth.linked_pairs, table.candidate_pairs)
    assert len({run.scores for run in found.runs}) == 6


def test_the_archive_sees_what_is_printed(table):
    """A practice that prints true times helps against the notified alone."""
    plain = audit(table, Question(practices=[baseline("nothing")])).runs[0].scores
    watchers = [observer("notified"), observer("archive")]
    notified, archive = audit(table, Question(practices=[Late()], observers=watchers)).runs

    assert notified.scores != plain
    assert archive.scores == plain


def test_a_practice_that_does_not_draw_is_shown_once(table):
    """However many draws are asked for."""
    late = Late()
    found = audit(table, Question(practices=[late], draws=5, seed=3))

    assert late.asked == [(3, 0)]
    assert [(cost.policy, cost.draw) for cost in found.costs] == [("late", 0)]


def test_progress_is_told_after_each_replay(table):
    """One for each practice and draw, up to all of them."""
    told = []
    run_attacks(
        table,
        Question(practices=[baseline("nothing"), replay(POLICY)], draws=3),
        lambda done, total: told.append((done, total)),
    )

    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_costs_are_delays_in_seconds():
    """From arrival to release, with what changes places on one target."""
    table = event_table(actor=[1, 2, 3, 4], target=[1, 1, 2, 2], time=[0, 0, 10_000_000, 11_500_000])
    [cost] = audit(table, Question(practices=[Late()])).costs

    assert (cost.mean_s, cost.median_s, cost.longest_s) == (1.5, 1.5, 3.0)
    assert cost.high_s == pytest.approx(2.85)
    assert cost.reordered == 0.0
    assert cost.spent is None


def test_costs_of_a_policy_are_those_of_its_own_draw(table):
    """Each draw has its own, and the promise adds up over an actor's batched events."""
    found = audit(table, Question(practices=[replay(POLICY)], draws=2, seed=9)).costs
    for draw, cost in enumerate(found):
        shown = replay(POLICY).show(table.history, Seeded(9, draw))
        delay = (shown.release - table.time) / MICROSECONDS
        batched = [int(shown.batched[table.actor == actor].sum()) for actor in set(table.actor.tolist())]

        assert (cost.mean_s, cost.longest_s) == (delay.mean(), delay.max())
        assert cost.high_s == np.quantile(delay, 0.95)
        assert cost.spent.most_nats == max(batched) / 2
        assert cost.spent.actors == sum(Fraction(count, 2) > MEANINGLESS for count in batched)
    assert found[0].mean_s != found[1].mean_s


def test_a_promise_of_just_the_limit_is_not_spent():
    """Six batched events at a half each are three nats: still something; eight are not."""
    pairs = [(1, 3), (2, 4), (3, 0)]  # actors and how often each acts on two targets at once
    rows = [
        (actor, target, i * 10**10) for actor, count in pairs for i in range(count) for target in (1, 2)
    ]
    actor, target, time = zip(*rows, strict=True)
    crowd = event_table(actor=[*actor, 3], target=[*target, 1], time=[*time, 0])
    [cost] = audit(crowd, Question(practices=[replay(POLICY)])).costs

    assert (cost.spent.most_nats, cost.spent.actors, cost.spent.batching) == (4.0, 1, 2)


def test_a_season_tells_who_is_inside_it():
    """People with at most its acts are inside, one with more is beyond; and costs cancel."""
    allowed = Season(acts=6, epsilon=Fraction(3), delta=Fraction("0.01"))
    policy = Policy(gap="11m", law="cosine", blocks=6, order="4", season=allowed)
    rows = [(actor, target, i * 10**11) for actor in (1, 2) for i in range(2 + actor) for target in (1, 2)]
    actor, target, time = zip(*rows, strict=True)
    crowd = event_table(actor=[*actor, 3], target=[*target, 1], time=[*time, 0])
    [cost] = audit(crowd, Question(practices=[replay(policy)])).costs

    assert (cost.spent.actors, cost.spent.batching, cost.spent.season) == (1, 2, allowed)
    assert cost.spent.most_nats < 8 * policy.share
    assert cost.spent.words(3).startswith(
        "the season is for 6 batched acts: 1 of 2 people who batch are inside it; 1 are beyond it (up to"
    )
    assert cost.as_dict()["season_acts"] == 6


def test_nothing_costs_nothing(table):
    [cost] = audit(table, Question(practices=[baseline("nothing")])).costs

    assert (cost.mean_s, cost.median_s, cost.high_s, cost.longest_s, cost.reordered) == (0, 0, 0, 0, 0)


def test_an_attack_that_does_not_apply_is_left_out(table):
    """The likelihood attack on a habit; but if nothing is left of it, that is said."""
    both = [attack("likelihood"), attack("cutoff")]
    found = audit(table, Question(practices=[baseline("nothing"), replay(POLICY, "mine")], attacks=both))

    assert [(run.policy, run.attack) for run in found.runs] == [
        ("nothing", "cutoff"),
        ("mine", "likelihood"),
        ("mine", "cutoff"),
    ]
    with pytest.raises(BadInput, match="the attack likelihood needs a policy, and an observer who"):
        Question(practices=[baseline("nothing")], attacks=both)


def test_runs_are_found_by_practice_attack_and_observer(table):
    found = audit(table, Question(practices=[baseline("nothing"), replay(POLICY, "mine")], draws=2))

    assert [run.draw for run in found.runs_of("mine", "cutoff", "notified")] == [0, 1]
    assert found.runs_of("mine", "cutoff", "archive") == []


def test_the_order_of_rows_changes_no_answer(table):
    """Nor do the names of people, but for the order of those who act at one moment."""
    places = np.random.default_rng(3).permutation(len(table))
    shuffled = event_table(actor=table.actor[places], target=table.target[places], time=table.time[places])
    question = Question(practices=[replay(POLICY)], draws=2)

    assert audit(shuffled, question) == audit(table, question)


def test_a_history_of_one_event_has_no_pairs():
    """And of none nothing at all."""
    one = event_table(actor=[1], target=[1], time=[5])
    found = audit(one, Question(practices=[baseline("nothing")]))

    assert (found.linked_pairs, found.candidate_pairs, found.measures.null_gaps_s) == (0, 0, {})
    assert found.runs[0].scores[0].counts.precision is None
    with pytest.raises(NotPossible, match="a history without events cannot be measured"):
        audit(one.keep(one.time > 5), Question(practices=[baseline("nothing")]))


# --- who is looked for ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "which"),
    [
        ({"suspects": ["1", "3"]}, lambda table: np.isin(table.actor, [1, 3])),
        ({"among": ["1", "2"]}, lambda table: np.isin(table.target, [1, 2])),
        (
            {"suspects": [str(n) for n in range(20)], "among": [str(n) for n in range(15)]},
            lambda table: (table.actor < 20) & (table.target < 15),
        ),
    ],
)
def test_claims_are_about_those_who_are_looked_for_and_everybody_is_delayed(table, choices, which):
    """Everybody's acts are delayed as ever; pairs are counted among those of the suspects, or targets."""
    [run] = run_attacks(table, Question(practices=[replay(POLICY)], seed=4, **choices)).runs
    rows = which(table)
    seen = replay(POLICY).show(table.history, Seeded(4, 0)).release[rows]
    truth = Truth(table=table.keep(rows), window=300 * MICROSECONDS)

    assert list(run.scores) == cutoff_attack(truth, seen, [score.cutoff for score in run.scores])
    assert 0 < rows.sum() < len(table)


def test_a_report_says_whom_its_claims_are_about(table):
    """How many, and no name. The recommendation is everybody's, and says so."""
    report = audit(table, Question(suspects=["1", "3"], among=[str(n) for n in range(40)], cutoffs=["5m"]))
    asked = "acts on 40 named targets by 2 named actors"

    assert f"claims are about {asked} alone; everybody is delayed" in report.notes
    assert any(" of 2 people have a pair of acts" in sentence for sentence in report.headlines)
    assert any(f"not on {asked} alone" in sentence for sentence in report.recommendation)
    assert f"claims about {asked} alone" in report.html()
    assert not any("alone" in note for note in audit(table, Question(practices=["nothing"])).notes)


def test_names_that_nobody_has_are_refused(table):
    with pytest.raises(BadInput, match="none of the 2 names is an actor of this history: check their"):
        run_attacks(table, Question(suspects=["nobody", "neither"]))


def test_text_names_are_found_too():
    table = event_table(actor=["ann", "ann", "7"], target=["x", "y", "z"], time=[0, 1, 2])

    assert table.named(actors=["7", "bob"]).sum() == 1
    assert table.named(actors=["ann"]).sum() == 2
    assert table.named(targets=["x", "z"]).sum() == 2
