"""Whose acts they are: every count equals a loop over pairs, and moves with the truth as it must."""

import re
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.pair_loop import CUTOFFS, EVENTS, data_file, seen_of, table_of_rows
from tarry.core.entropy import Seeded
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.readers.files import read_history
from tarry.study.attack import Observed, Truth, attack
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.attack.nearest import nearest_test
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.best_cutoff import best_score, longest_score
from tarry.study.pairs import common_unit
from tarry.study.person import (
    CONFIDENCES,
    calls_at,
    candidates_within,
    people_behind,
    persons_within,
    right_interval,
    yardsticks,
)
from tarry.study.practice import MICROSECONDS, Practice, Shown
from tarry.study.question import Question
from tarry.study.replay import replay
from tarry.study.score import Counts, Score
from tarry.study.table import event_table, table_of

DAY = 86_400 * MICROSECONDS
MINUTE = 60 * MICROSECONDS
FILES = (
    *("wiki_webdocs_a", "wiki_month_a", "wiki_ticker_am", "code_review_a", "dao_votes"),
    *("bitcoin_otc", "ports_commits_a", "git_oslo", "qa_forum"),
)
#: A loop over all pairs of so many events takes a second or two: the two smallest files whole.
LOOPED = 6000
#: Of larger ones people with so many events.
SAMPLED = 3000


def pairs_of(table, seen):
    """All pairs on different targets: (one person's, the days, arrivals apart, seen apart)."""
    rows = list(zip(*(c.tolist() for c in (table.actor, table.target, table.time, seen)), strict=True))
    return [
        (a[0] == b[0], a[2] // DAY == b[2] // DAY, abs(a[2] - b[2]), abs(a[3] - b[3]), a[0], b[0])
        for a, b in combinations(rows, 2)
        if a[1] != b[1]
    ]


# --- counts ---------------------------------------------------------------------------------------


@given(EVENTS, CUTOFFS, st.integers(0, 99), st.sampled_from([1, 1_000_000]))
def test_claims_about_one_person_are_counted_as_a_loop_counts_them(rows, multiples, seed, unit):
    table, cutoffs = table_of_rows(rows), [unit * each for each in multiples]
    seen = seen_of(table, seed, unit)
    pairs = pairs_of(table, seen)

    assert candidates_within(table, seen, cutoffs) == [
        sum(pair[3] <= cutoff for pair in pairs) for cutoff in cutoffs
    ]
    assert persons_within(table, seen, cutoffs) == [
        sum(pair[0] and pair[3] <= cutoff for pair in pairs) for cutoff in cutoffs
    ]
    assert table.person_pairs == sum(pair[0] for pair in pairs)


@given(EVENTS, st.integers(0, 12), st.integers(0, 40), st.sampled_from([1, 1_000_000, DAY // 10]))
def test_yardsticks_are_counted_as_a_loop_counts_them(rows, window, more, unit):
    table = table_of_rows(rows)
    window, reach = unit * window, unit * (window + more)
    found, pairs = yardsticks(table, window, reach), pairs_of(table, table.time)
    between = [pair[0] for pair in pairs if window < pair[2] <= reach]
    on_one_day = [pair[0] for pair in pairs if pair[1]]

    assert (found.reference.persons, found.reference.pairs) == (sum(between), len(between))
    assert (found.same_day.persons, found.same_day.pairs) == (sum(on_one_day), len(on_one_day))
    assert (found.base.persons, found.base.pairs) == (sum(pair[0] for pair in pairs), len(pairs))


def test_a_reach_below_the_window_is_refused():
    with pytest.raises(BadInput, match="the reach must be at least the window, not 4 and 5"):
        yardsticks(table_of_rows([(1, 1, 0)]), window=5, reach=4)


@given(EVENTS, st.integers(0, 40), st.integers(0, 99))
def test_people_are_called_as_a_loop_calls_them(rows, cutoff, seed):
    """Who has a pair of their own among the claims, and how often claims about them are right."""
    table = table_of_rows(rows)
    seen = seen_of(table, seed, 1)
    found = calls_at(table, seen, cutoff)
    claims = [(pair[0], {pair[4], pair[5]}) for pair in pairs_of(table, seen) if pair[3] <= cutoff]
    own = dict.fromkeys(table.actor.tolist(), 0)
    about = dict.fromkeys(own, 0)
    for right, who in claims:
        for actor in who:
            about[actor] += 1
            own[actor] += right

    assert (found.people, found.called) == (len(own), sum(count > 0 for count in own.values()))
    ranked, total = sorted(own.values(), reverse=True), sum(own.values())
    assert found.top_share == (ranked[0] / total if total else None)
    assert found.top_ten_share == (sum(ranked[:10]) / total if total else None)
    shares = [own[actor] / count for actor, count in about.items() if count]
    assert found.mean_right == (pytest.approx(np.mean(shares)) if shares else None)
    assert sum(size.people for size in found.sizes) == len(own)
    assert sum(size.called for size in found.sizes) == found.called


# --- every attack ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd():
    """Forty people who act now and then, half of it in twos, on a hundred targets."""
    chance = np.random.default_rng(3)
    actor = np.repeat(chance.integers(0, 40, 300), 2)
    time = np.repeat(chance.integers(0, 10 * DAY // MICROSECONDS, 300), 2) + chance.integers(0, 400, 600)
    return event_table(actor=actor, target=chance.integers(0, 100, 600), time=time * MICROSECONDS)


@pytest.mark.parametrize("name", ["cutoff", "likelihood", "likelihood:neighbours"])
@pytest.mark.parametrize("cutoff", [30 * MICROSECONDS, 5 * MINUTE, 40 * MINUTE])
def test_an_attack_on_pairs_says_whose_they_are(crowd, name, cutoff):
    """What it claims is some set of pairs: of those, the ones of one person are counted."""
    practice = replay(Policy(epsilon="1", gap="11m"))
    seen = practice.show(crowd.history, Seeded(1)).release
    observed = Observed(truth=Truth(table=crowd, window=5 * MINUTE), practice=practice, seen=seen)
    [score] = attack(name).score(observed, [cutoff])
    pairs = sorted((pair[3], pair[0]) for pair in pairs_of(crowd, seen))
    if name != "cutoff":  # here it claims what is closest, too
        assert score.counts.claims == sum(apart <= pairs[score.counts.claims - 1][0] for apart, _ in pairs)

    assert score.persons == sum(one for _, one in pairs[: score.counts.claims])


@given(EVENTS, st.integers(0, 40))
def test_the_nearest_event_says_whose_it_is(rows, cutoff):
    """Right about the person: one of the nearest events on watched targets is of the same actor."""
    table = table_of_rows(rows)
    own, watched = table.target % 2 == 0, table.target % 2 == 1
    [score] = nearest_test(
        table.time,
        *(table.time, table.actor, table.target),
        own=own,
        watched=watched,
        window_us=3,
        cutoffs_us=[cutoff],
    )
    persons = 0
    for actor, at in zip(table.actor[own].tolist(), table.time[own].tolist(), strict=True):
        apart = [
            (abs(at - t), a)
            for a, t in zip(table.actor[watched].tolist(), table.time[watched].tolist(), strict=True)
        ]
        least = min((each for each, _ in apart), default=cutoff + 1)
        persons += least <= cutoff and (least, actor) in apart

    assert score.persons == persons


def test_payments_to_one_address_do_not_say_whose_they_are(crowd):
    """There the recipient stands for the actor: every claim would be right."""
    [run] = audit(crowd, Question(practices=["nothing"], attacks=["recipient"])).runs

    assert run.people.best is None
    assert all(score.right_person is None for score in run.scores)


# --- the best cutoff ------------------------------------------------------------------------------


@given(EVENTS, st.integers(0, 5), st.integers(0, 99))
def test_the_best_cutoff_is_the_best_of_all(rows, window, seed):
    """No cutoff that finds a tenth of the linked pairs is right more often by a tenth of a point."""
    table = table_of_rows([(actor, target, time % 1000) for actor, target, time in rows])
    seen = seen_of(table, seed, 1)
    truth = Truth(table=table, window=window)

    def score(cutoffs):
        return cutoff_attack(truth, seen, cutoffs)

    found = best_score(score, seen, 1024)
    every = [
        each.right_person
        for each in score(range(1025))
        if (each.counts.recall or 0) >= 0.1 and each.counts.claims
    ]

    assert (found is None) == (not every)
    if found is not None:
        assert found.right_person >= max(every) - 0.001


@given(EVENTS, st.sampled_from([0.2, 0.5, 0.9]), st.integers(0, 99))
def test_the_longest_cutoff_is_the_longest_of_all(rows, right, seed):
    table = table_of_rows([(actor, target, time % 200) for actor, target, time in rows])
    seen = seen_of(table, seed, 1)
    truth = Truth(table=table, window=3)

    def score(cutoffs):
        return cutoff_attack(truth, seen, cutoffs)

    found = longest_score(score, seen, 256, right)
    good = [each for each in score(range(257)) if each.counts.claims and each.right_person >= right]

    assert (found is None) == (not good)
    if found is not None:
        assert found.counts.claims == good[-1].counts.claims


def test_the_longest_cutoff_is_found_behind_many_that_might_be_right():
    """Past 100 each step could have been right often enough, and was not: no look there is the last one."""

    def score(cutoffs):
        return [
            Score(
                cutoff=cutoff,
                persons=cutoff + 4 + (cutoff <= 100),
                counts=Counts(
                    true_positives=0,
                    false_positives=2 * cutoff + 10,
                    false_negatives=0,
                    true_negatives=0,
                ),
            )
            for cutoff in cutoffs
        ]

    assert longest_score(score, np.array([0, 1, 2]), 256, 0.5).cutoff == 100


# --- real histories -------------------------------------------------------------------------------


class Looped(NamedTuple):
    """What a loop over all pairs on different targets has counted; days, arrivals and releases apart."""

    pairs: int
    persons: int
    reference: tuple[int, int]  # one person's, and all
    same_day: tuple[int, int]
    linked: int
    apart: np.ndarray  # of each pair seen at most `farthest` apart
    own: np.ndarray  # whether it is one person's
    batched: np.ndarray  # whether it is linked
    earlier: np.ndarray  # its first row
    later: np.ndarray


def looped(table, seen, window, reach, farthest):
    """Each row against every later row."""
    columns = (table.actor, table.target, table.time, seen)
    time, counts, close = table.time, np.zeros(7, dtype=np.int64), []
    for row in range(len(table)):
        own, same, moment, away = (column[row + 1 :] - column[row] for column in columns)
        other, own, moment, away = same != 0, own == 0, np.abs(moment), np.abs(away)
        between = other & (moment > window) & (moment <= reach)
        day = other & (time[row + 1 :] // DAY == time[row] // DAY)
        linked = other & own & (moment <= window)
        kinds = (other, other & own, between & own, between, day & own, day, linked)
        counts += [np.count_nonzero(kind) for kind in kinds]
        near = np.flatnonzero(other & (away <= farthest))
        first = np.full(len(near), row, dtype=np.int32)
        close.append((away[near], own[near], linked[near], first, near.astype(np.int32) + row + 1))
    pairs, persons, *others, linked = counts.tolist()
    pooled = (np.concatenate(column) for column in zip(*close, strict=True))
    return Looped(pairs, persons, tuple(others[:2]), tuple(others[2:]), linked, *pooled)


def rights_of(loop):
    """Each cutoff there is, how often claims are right at it, and whether they find enough."""
    order = np.argsort(loop.apart, kind="stable")
    apart = loop.apart[order]
    last = np.append(apart[1:] != apart[:-1], True)
    right, found = (np.cumsum(column[order])[last] for column in (loop.own, loop.batched))
    return apart[last], right / (np.flatnonzero(last) + 1), found * 10 >= loop.linked


def sample_of(name):
    """A whole history if it is small; else people drawn at random."""
    table = table_of(read_history(data_file(f"{name}.parquet")))
    if len(table) <= LOOPED:
        return table
    people = np.random.default_rng(5).permutation(table.actors)
    sizes = np.cumsum(np.bincount(table.actor_rank)[people])
    table = table.keep(np.isin(table.actor_rank, people[: max(2, int(np.searchsorted(sizes, SAMPLED)))]))
    return table.between(0, int(np.sort(table.time)[min(SAMPLED, len(table)) - 1]) + 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_on_real_histories_every_figure_is_that_of_a_loop(name):
    """Small ones whole, of large ones the people of a sample; under a policy, as an observer sees it.

    Claims at each cutoff by both truths, all yardsticks, the best cutoff, who can be called and who has
    most of it, for two observers.
    """
    table = sample_of(name)
    question = Question(
        practices=[replay(Policy(epsilon="1", gap="11m"), "mine")],
        observers=["notified", "poller:10m"],
        cutoffs=["10s", "5m", "1h"],
        seed=2,
        different=False,
    )
    report = audit(table, question)
    shown = question.practices[0].show(table.history, Seeded(2, 0))
    for run, line, observer in zip(report.runs, report.lines, question.observers, strict=True):
        figures_are_those_of_a_loop(table, report, run, line, observer.see(shown))


def figures_are_those_of_a_loop(table, report, run, line, seen):
    found = report.yardsticks["mine"]
    farthest = max(DAY, 5 * MINUTE + 2 * int(np.ptp(seen - table.time)))
    unit = common_unit(seen)
    while unit < farthest:  # cutoffs are looked for up to the first doubling that finds every linked pair
        unit *= 2
    loop = looped(table, seen, 5 * MINUTE, 16 * MINUTE, unit)

    assert (report.candidate_pairs, report.linked_pairs) == (loop.pairs, loop.linked)
    assert (found.base.persons, found.base.pairs) == (loop.persons, loop.pairs)
    assert (found.reference.persons, found.reference.pairs) == loop.reference
    assert (found.same_day.persons, found.same_day.pairs) == loop.same_day
    assert [score.cutoff for score in run.scores] == [10 * MICROSECONDS, 5 * MINUTE, 60 * MINUTE]
    for score in run.scores:
        claimed = loop.apart <= score.cutoff
        assert (score.counts.claims, score.persons) == (claimed.sum(), loop.own[claimed].sum())
        assert score.counts.true_positives == loop.batched[claimed].sum()
    cutoffs, rights, enough = rights_of(loop)
    best = rights[enough].max()
    assert best - 0.001 <= line.right_person.mean <= best
    assert line.lift == pytest.approx(line.right_person.mean / (loop.persons / loop.pairs))
    assert line.excess == pytest.approx(line.right_person.mean - loop.reference[0] / loop.reference[1])
    for confidence in CONFIDENCES:
        claimed = loop.apart <= cutoffs[rights >= confidence].max(initial=-1)
        people_are_those_of_a_loop(table, run.people.calls[confidence], loop, claimed)


def people_are_those_of_a_loop(table, calls, loop, claimed):
    """Who is called, who has most of it, how often claims about each are right, and sizes of activity."""
    ranks = table.actor_rank
    rights = claimed & loop.own
    own = np.bincount(ranks[loop.earlier[rights]], minlength=table.actors)
    sides = (
        np.bincount(ranks[side[claimed]], minlength=table.actors) for side in (loop.earlier, loop.later)
    )
    about = sum(sides) - own  # a claim about two acts of a person is one claim about that person
    most, acts = np.sort(own)[::-1], np.bincount(ranks)

    assert (calls.people, calls.called) == (table.actors, np.count_nonzero(own))
    if own.any():
        assert calls.top_share == pytest.approx(most[0] / own.sum())
        assert calls.top_ten_share == pytest.approx(most[:10].sum() / own.sum())
    if about.any():
        assert calls.mean_right == pytest.approx((own[about > 0] / about[about > 0]).mean())
    for size in calls.sizes:
        inside = (acts >= size.least) & (acts <= (size.most or acts.max()))
        assert (size.people, size.called) == (inside.sum(), np.count_nonzero(own[inside]))


# --- made-up histories with a known truth ---------------------------------------------------------


class Redrawn(Practice):
    """Releases at moments that have nothing to do with arrivals: anywhere in the whole period."""

    name = "redrawn"

    def show(self, history, draw):
        times = np.random.default_rng(8).integers(0, 60 * DAY, len(history))
        return Shown(release=times, printed=times)


def strangers(rates, *, seed, hours=None):
    """People who act by themselves, each at their own rate a day over sixty days, never in batches.

    With `hours`, each at their own hour of the day, and in a month of their own.
    """
    chance = np.random.default_rng(seed)
    actor = np.repeat(np.arange(len(rates)), chance.poisson(np.array(rates) * 60))
    if hours is None:
        time = chance.integers(0, 60 * DAY, len(actor))
    else:
        month = chance.integers(0, 2, len(rates))[actor]
        day = chance.integers(0, 30, len(actor)) + 30 * month
        hour = chance.integers(0, 24, len(rates))[actor] + chance.random(len(actor)) * hours
        time = day * DAY + (hour * 3600 * MICROSECONDS).astype(np.int64)
    return event_table(actor=actor, target=np.arange(len(actor)), time=time)


def precision_error(pairs, share):
    """Five standard errors of a share of so many pairs, twice over: pairs of one person come together."""
    return 10 * (share * (1 - share) / max(pairs, 1)) ** 0.5


def test_independent_people_of_one_rate_have_no_lift():
    """Claims at any cutoff are right as often as all pairs are one person's: five errors on both sides."""
    table = strangers([3.0] * 30, seed=1)
    base = table.person_pairs / table.candidate_pairs
    for score in cutoff_attack(
        Truth(table=table, window=5 * MINUTE), table.time, [10 * MINUTE, 60 * MINUTE]
    ):
        assert abs(score.right_person - base) < precision_error(score.counts.claims, base)


def test_people_with_hours_and_months_of_their_own_have_lift_and_no_excess():
    """Being active at one time links them; batching, which they never do, adds nothing to it."""
    table = strangers([3.0] * 30, seed=2, hours=2)
    found = yardsticks(table, 5 * MINUTE, 60 * MINUTE)
    [score] = cutoff_attack(Truth(table=table, window=5 * MINUTE), table.time, [5 * MINUTE])
    reference = found.reference.share

    assert score.right_person > 3 * found.base.share
    assert abs(score.right_person - reference) < precision_error(score.counts.claims, reference)


def test_batching_gives_an_excess_that_redrawn_releases_take_away(crowd):
    """With releases anywhere in the period each share is at its own base rate."""
    report = audit(crowd, Question(practices=["nothing", Redrawn()], cutoffs=["5m", "60d"]))
    now, redrawn = report.lines
    linked = report.linked_pairs / report.candidate_pairs

    assert now.excess > 0.2
    [run] = report.runs_of("redrawn", "cutoff", "notified")
    for score in run.scores:
        claims = score.counts.claims
        assert abs(score.right_person - redrawn.base) < precision_error(claims, redrawn.base)
        assert abs(score.counts.precision - linked) < precision_error(claims, linked)


# --- people ---------------------------------------------------------------------------------------


def test_an_interval_over_people_covers_other_people_like_these():
    """Of 40 crowds of one kind the interval holds the mean of all at least 34 times.

    At 95 % the chance of fewer than 34 is below 0.02, for intervals that are right; one a third as wide
    would hold it some 20 times.
    """
    crowds = []
    for seed in range(40):
        chance = np.random.default_rng(seed)
        pairs = chance.geometric(0.3, 60)
        actor = np.repeat(np.arange(60), 2 * pairs)
        start = np.repeat(chance.integers(0, 20_000, int(pairs.sum())), 2)
        time = (start + chance.integers(0, 60, len(start))) * MICROSECONDS
        crowds.append(event_table(actor=actor, target=np.arange(len(actor)), time=time))
    rights, intervals = [], []
    for table in crowds:
        [claims], [own] = (
            count(table, table.time, [MINUTE]) for count in (candidates_within, persons_within)
        )
        rights.append(own / claims)
        intervals.append(right_interval(table, table.time, MINUTE))
    truth = np.mean(rights)

    assert sum(low <= truth <= high for low, high in intervals) >= 34
    assert (
        sum(
            (low + high) / 2 - (high - low) / 6 <= truth <= (low + high) / 2 + (high - low) / 6
            for low, high in intervals
        )
        < 34
    )


def test_too_few_people_have_no_interval():
    table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 5, 6])

    assert right_interval(table, table.time, 60) is None


def test_whoever_is_thorough_tells_whom_the_claims_are_about(crowd):
    truth = Truth(table=crowd, window=5 * MINUTE)
    found = people_behind(
        crowd,
        crowd.time,
        lambda cutoffs: cutoff_attack(truth, crowd.time, cutoffs),
        60 * MINUTE,
        thorough=True,
    )

    assert 0 <= found.called_at(0.9) <= found.called_at(0.5) <= crowd.actors
    assert found.called_at(0.5) > 10
    assert found.interval[0] <= found.right <= found.interval[1]
    quick = people_behind(
        crowd,
        crowd.time,
        lambda cutoffs: cutoff_attack(truth, crowd.time, cutoffs),
        60 * MINUTE,
        thorough=False,
    )
    assert (quick.right, quick.called_at(0.5)) == (found.right, None)


# --- sentences ------------------------------------------------------------------------------------


def test_the_headline_names_before_after_and_what_is_so_anyway(crowd):
    told = audit(
        crowd, Question(practices=["nothing", replay(Policy(epsilon="1", gap="11m"), "mine")])
    ).headlines

    assert told[0].startswith("Claims that two acts are one person's are right ")
    assert "Of acts 5m to 16m apart" in told[0]
    assert told[1].startswith("With mine they are right ")
    assert "acts 5m to 16m apart are one person's" in told[1]
    [called] = [each for each in told if "people have a pair of acts" in each]
    assert re.fullmatch(
        r"Now \d+ of 40 people have a pair of acts that can be linked with 50 % confidence, \d+ with "
        r"90 %\. With mine \d+ and \d+\.",
        called,
    )
    [most] = [each for each in told if "one person has" in each]
    assert re.fullmatch(
        r"Of the pairs that can be linked with 50 % confidence "
        r"one person has [\d.]+ %, ten have [\d.]+ %\.",
        most,
    )
    assert told[-1].startswith("With mine ")
    assert " of neighbours on one target change places, and half of the replies appear within " in told[-1]


class Together(Practice):
    """Shows all acts of one actor at one moment of their own: a practice that makes matters worse."""

    name = "together"

    def show(self, history, draw):
        times = np.unique(history.actors, return_inverse=True)[1].astype(np.int64) * DAY
        return Shown(release=times, printed=times)


def test_whatever_makes_claims_right_more_often_says_so(crowd):
    told = audit(crowd, Question(practices=["nothing", Together()])).headlines

    assert any(sentence.startswith("Careful: at a cutoff of ") for sentence in told)
    quiet = audit(crowd, Question(practices=["nothing", baseline("jitter:24h")])).headlines
    assert not any(sentence.startswith("Careful") for sentence in quiet)
