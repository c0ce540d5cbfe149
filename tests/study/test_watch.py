"""The long watch: planted names are found, independent people are not, and less sight finds no more.

Everything is seeded. Where chance decides, `ALPHA` is how often a right attack would fail with its seed.
"""

import re
from math import log

import numpy as np
import pytest
from scipy.stats import poisson

from contracts.pair_loop import data_file
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.readers.files import read_history
from tarry.study.baselines import baseline
from tarry.study.figures import percent, seconds
from tarry.study.practice import Practice, Shown
from tarry.study.replay import replay
from tarry.study.table import event_table, table_of
from tarry.study.watch import DATES, TENURE, WatchQuestion, ledger_posterior, watch
from tarry.study.watch.findings import Tally, estimate, interval_below
from tarry.study.watch.pseudonyms import WEEK, Pseudonyms, Split
from tarry.study.watch.ranking import BACKGROUNDS, Ranked, Sight, rank

ALPHA = 1e-4
MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000
WIDTHS = (5 * MINUTE, HOUR, DAY)


def moments(rng, count, days=120):
    """One person's acts: a tenure, an hour of the day and days of the week of their own."""
    begin, end = np.sort(rng.integers(0, days, 2))
    day = rng.integers(begin, max(end, begin + 20) + 1, count)
    day -= (day % 7 >= 5) * rng.integers(0, 3, count)  # quieter at the end of a week
    hour = rng.normal(rng.integers(6, 22), 3, count) % 24
    return day * DAY + (hour * HOUR).astype(np.int64)


def people(rng, pairs, shared=0):
    """Rows of so many pairs of independent people; `shared` acts of one have one of the other behind."""
    rows = []
    for pair in range(pairs):
        names = [moments(rng, int(rng.integers(10, 40))) for _ in range(2)]
        names[1][:shared] = names[0][:shared] + rng.integers(0, 5 * MINUTE, len(names[0][:shared]))
        rows += [(pair, 2 * pair + side, int(at)) for side in (0, 1) for at in names[side]]
    actor, target, time = zip(*rows, strict=True)
    return event_table(actor=actor, target=target, time=time)


def search(table, attack="likelihood", **choices):
    """What is found where even and odd targets are one person's two names."""
    names = Pseudonyms(table=table, sides=table.target % 2, **choices)
    sights = [Sight(names=names, seen=table.time, widths=WIDTHS, pause=pause) for pause in (0, HOUR)]
    who = names.queries // 2
    tally = Tally.of(
        rank(sights),
        ways=[way for sight in sights for way in sight.ways],
        people=who,
        halves=who % 2,
        shared=np.stack([names.shared_sessions(5 * MINUTE), names.shared_weeks()], axis=1),
    )
    return names, tally.finding(practice="nothing", split="random", attack=attack)


# --- the score --------------------------------------------------------------------------------------


def slow_score(sight, query, other, way):
    """The definition, act by act; `query` and `other` are names."""
    times, owner = sight.times.tolist(), sight.names.candidates[sight.owners].tolist()
    mine = [at for at, name in zip(times, owner, strict=True) if name == query]
    theirs = [at for at, name in zip(times, owner, strict=True) if name == other]
    start, span = int(sight.seen.min()), max(WEEK, int(sight.seen.max() - sight.seen.min()))
    total, width, background = 0.0, way.width, way.background
    for at in theirs:
        density = sum(max(0, width - abs(at - act)) for act in mine) / (width * width * len(mine))
        week = (at - start) // WEEK
        if background == BACKGROUNDS[0]:
            everybody = sum((int(seen) - start) // WEEK == week for seen in sight.seen)
            expected = everybody / len(sight.seen) / WEEK
        elif background == BACKGROUNDS[1]:
            expected = sum((act - start) // WEEK == week for act in theirs) / len(theirs) / WEEK
        elif background == BACKGROUNDS[2]:
            near = sum((act - start) // WEEK // 4 == week // 4 for act in theirs)
            expected = near / len(theirs) / (4 * WEEK)
        else:
            like = sum(act // HOUR % 168 == at // HOUR % 168 for act in theirs)
            expected = like / len(theirs) * 168 / span
        total += log(1 - way.trust + way.trust * density / expected)
    return total


@pytest.mark.parametrize("width", [5 * MINUTE, 12 * HOUR, 40 * DAY])
@pytest.mark.parametrize("pause", [0, HOUR])
def test_a_score_is_the_one_of_the_definition(width, pause):
    """Every background and trust, widths from below any gap to beyond the history."""
    table = people(np.random.default_rng(width), pairs=3, shared=4)
    names = Pseudonyms(table=table, sides=table.target % 2)
    sight = Sight(names=names, seen=table.time, widths=(width,), pause=pause)
    for query in names.candidates[:3].tolist():
        scores = sight.scores(query, width)
        for place, other in enumerate(names.candidates.tolist()):
            ways = sight.ways[:-1]
            slow = [slow_score(sight, query, other, way) for way in ways]
            assert scores[place, :-1] == pytest.approx(slow, rel=1e-9, abs=1e-9)


def test_coincidences_are_counted_as_a_loop_counts_them():
    table = people(np.random.default_rng(5), pairs=4, shared=3)
    names = Pseudonyms(table=table, sides=table.target % 2)
    sight = Sight(names=names, seen=table.time, widths=(HOUR,))
    mine = table.time[names.names == names.queries[0]]
    near = (np.abs(table.time[:, None] - mine) < HOUR).any(axis=1)
    expected = [int(near[names.names == name].sum()) for name in names.candidates]

    assert sight.scores(int(names.queries[0]), HOUR)[:, -1].tolist() == expected


def test_times_far_from_1970_score_the_same():
    """Sums of times may wrap around; scores do not."""
    table = people(np.random.default_rng(6), pairs=3, shared=4)
    scores = []
    for offset in (0, 1_000 * 52 * WEEK):
        moved = event_table(actor=table.actor, target=table.target, time=table.time + offset)
        names = Pseudonyms(table=moved, sides=moved.target % 2)
        scores.append(Sight(names=names, seen=moved.time, widths=(DAY,)).scores(0, DAY))

    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_whoever_sees_moments_may_look_at_dates_alone():
    """Scores with times cut to the day are those of somebody who was told no more."""
    table = people(np.random.default_rng(7), pairs=3, shared=4)
    names = Pseudonyms(table=table, sides=table.target % 2)
    told = Sight(names=names, seen=table.time // DAY * DAY, widths=(HOUR, DAY), pause=HOUR)
    looked = Sight(names=names, seen=table.time, widths=(HOUR, DAY), pause=HOUR, grid=DAY)

    assert looked.scores(0, HOUR).tolist() == told.scores(0, HOUR).tolist()
    assert (
        looked.scores(0, HOUR).tolist()
        != Sight(names=names, seen=table.time, widths=(HOUR,), pause=HOUR).scores(0, HOUR).tolist()
    )
    assert looked.ways[0].text.startswith("within 1h, times cut to 1d, bursts as one")


def test_a_burst_counts_once_where_pauses_are_asked_for():
    table = event_table(actor=[1] * 4, target=[1, 1, 1, 2], time=[0, 5, 9, 2 * HOUR])
    names = Pseudonyms(table=table, sides=table.target - 1, least=1)

    assert Sight(names=names, seen=table.time, widths=(HOUR,)).sizes.tolist() == [3, 1]
    assert Sight(names=names, seen=table.time, widths=(HOUR,), pause=HOUR).sizes.tolist() == [1, 1]


# --- ranks ------------------------------------------------------------------------------------------


def test_ties_count_half():
    """One equal: half a hit. Nine equals: a tenth, and surely among the first ten; the area is a half."""
    ranked = Ranked(above=np.array([[0, 0, 1]]), beside=np.array([[1, 9, 0]]), others=10)

    assert ranked.among(1).tolist() == [[0.5, 0.1, 0.0]]
    assert ranked.among(10).tolist() == [[1.0, 1.0, 1.0]]
    assert ranked.area[0] == pytest.approx([1 - 0.5 / 9, 0.5, 8 / 9])


def test_where_all_names_look_alike_the_other_one_is_found_by_chance():
    """Every name acts at the same moments: everybody ties."""
    times = np.arange(12) * DAY
    table = event_table(
        actor=np.repeat(np.arange(5), 24), target=np.repeat(np.arange(10), 12), time=np.tile(times, 10)
    )
    names, found = search(table)

    assert len(names.candidates) == 10
    assert found.first.mean == pytest.approx(1 / 9)
    assert found.area.mean == pytest.approx(0.5)


def test_the_interval_is_one_of_people_not_of_queries():
    """The same figures ten times over tell no more; each person's own do."""
    values, who = np.tile([1.0, 0.0, 1.0, 0.0, 1.0], 10), np.tile(np.arange(5), 10)
    few, many = estimate(values, who), estimate(values, np.arange(50))

    assert few.high - few.low == pytest.approx(estimate(values[:5], who[:5]).high - few.low, abs=0.02)
    assert few.high - few.low > 2 * (many.high - many.low)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """95 of 100; below 91 would come once in 10,000 runs of this test with 400 intervals."""
    rng, held = np.random.default_rng(11), 0
    for _ in range(400):
        hits = np.repeat((rng.random(150) < 0.3).astype(float), 2)  # two queries of one person agree
        one = estimate(hits, np.repeat(np.arange(150), 2))
        held += one.low <= 0.3 <= one.high
    assert 0.91 < held / 400 < 0.99


# --- who is found -----------------------------------------------------------------------------------


def test_planted_names_are_found_and_more_often_the_more_they_share():
    """Eight shared sessions of two independent tenures: nearly always; two: rarer, far above chance."""
    often = search(people(np.random.default_rng(1), pairs=60, shared=8))[1]
    seldom = search(people(np.random.default_rng(2), pairs=60, shared=2))[1]

    assert often.first.low > 0.9
    assert 20 / 119 < seldom.first.mean < often.first.mean
    assert often.area.low > 0.9
    assert often.by_sessions[-1].least >= 4


def test_counting_finds_planted_names_too():
    _, found = search(people(np.random.default_rng(1), pairs=60, shared=8), attack="counting")

    assert found.first.low > 0.5
    assert "coincidences" in found.chosen[0]


def clusters_of_hits(shared):
    """Pairs of which some name was found, in ten worlds of 50 pairs with profiles of their own."""
    hits = 0.0
    for seed in range(10):
        _, found = search(people(np.random.default_rng(100 + seed), pairs=50, shared=shared))
        hits += found.first.mean * 100
    return hits / 2


def test_independent_people_are_found_by_chance():
    """1,000 searches among 99 others, two for each pair: 5.05 pairs' worth are expected.

    People are glued to each other at random, so whatever their tenures and hours, each of the 99 is as
    likely to come first. The two searches of a pair may agree, so pairs are counted.
    """
    expected = 1000 / 99 / 2
    limit = poisson.isf(ALPHA, expected)

    assert clusters_of_hits(shared=0) <= limit
    assert clusters_of_hits(shared=1) > limit, "power: one shared session of each pair is noticed"


def glued(table, seed):
    """The real people with ten acts or more, two and two as if they were one, at random."""
    ranks = table.actor_rank
    busy = np.flatnonzero(np.bincount(ranks) >= 10)
    order = np.random.default_rng(seed).permutation(busy)[: len(busy) // 2 * 2]
    place = np.full(table.actors, -1)
    place[order] = np.arange(len(order))
    kept = place[ranks] >= 0
    name = place[ranks[kept]]
    return event_table(actor=name // 2, target=name, time=table.time[kept])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dao_votes", "bitcoin_otc"])
def test_real_people_who_are_strangers_are_found_by_chance(name):
    """Three times everybody with a stranger: with real tenures and hours each other name is as likely."""
    table = table_of(read_history(data_file(f"{name}.parquet")))
    pairs, expected = 0.0, 0.0
    for seed in range(3):
        names, found = search(glued(table, seed))
        searches = len(names.queries)
        pairs += found.first.mean * searches / 2
        expected += searches / (len(names.candidates) - 1) / 2

    assert pairs <= poisson.isf(ALPHA, expected)


# --- splits, candidates and queries -----------------------------------------------------------------


def made_up(seed=3, actors=60, events=4_000):
    """People with sessions over several targets."""
    from tarry.study.synth import synthesize
    from tarry.study.synth_recipes import Recipe

    made = synthesize(Recipe(events=events, actors=actors, bots=0, days=60, actor_skew=0.5), seed=seed)
    return event_table(actor=made.actor, target=made.target, time=made.time)


@pytest.mark.parametrize("kind", ["random", "time"])
def test_a_target_of_a_person_belongs_to_one_name(kind):
    table = made_up()
    sides = Split(kind).sides(table, seed=1)
    owners = {}
    for actor, target, side in zip(table.actor, table.target, sides, strict=True):
        assert owners.setdefault((actor, target), side) == side

    assert set(sides.tolist()) == {0, 1}


def test_random_splits_are_even_and_differ_by_number_and_seed():
    table = made_up()
    sides = [
        Split("random", number).sides(table, seed) for number, seed in ((0, 1), (1, 1), (0, 2), (0, 1))
    ]

    assert all(0.4 < side.mean() < 0.6 for side in sides)
    assert (sides[0] == sides[3]).all()
    assert 0.3 < (sides[0] == sides[1]).mean() < 0.7
    assert 0.3 < (sides[0] == sides[2]).mean() < 0.7


def test_a_split_by_time_gives_the_targets_touched_first_to_the_first_name():
    table = event_table(actor=[1] * 6, target=[1, 2, 1, 3, 4, 1], time=[0, 1, 2, 3, 4, 5])

    assert Split("time").sides(table, seed=0).tolist() == [0, 1, 0, 1, 1, 0]


def test_candidates_have_enough_acts_and_queries_a_candidate_as_other_name():
    table = event_table(
        actor=[1] * 6 + [2] * 5, target=[1] * 3 + [2] * 3 + [1] * 4 + [2], time=np.arange(11) * HOUR
    )
    names = Pseudonyms(table=table, sides=table.target - 1, least=3)

    assert names.candidates.tolist() == [0, 1, 2]
    assert names.queries.tolist() == [0, 1]


def test_queries_are_taken_from_every_activity():
    """One from each tenth of the names by activity."""
    table = made_up(actors=200, events=12_000)
    sides = Split("random").sides(table, 0)
    names = Pseudonyms(table=table, sides=sides, most=20)
    everybody = Pseudonyms(table=table, sides=sides).queries
    edges = np.quantile(names.sizes[everybody], [0.1, 0.9])
    sizes = names.sizes[names.queries]

    assert len(names.queries) == len(np.unique(names.queries)) == 20
    assert (sizes <= edges[0]).any()
    assert (sizes >= edges[1]).any()
    other = Pseudonyms(table=table, sides=sides, most=20, seed=1).queries
    assert names.queries.tolist() != other.tolist()


def test_shared_sessions_and_weeks_are_those_counted_by_hand():
    """A session ends with a pause above the window; it is shared if both names act in it."""
    times = [0, 4 * MINUTE, 8 * MINUTE, DAY, DAY + MINUTE, 8 * DAY]
    table = event_table(actor=[1] * 6, target=[1, 1, 2, 1, 1, 2], time=times)
    names = Pseudonyms(table=table, sides=table.target - 1, least=1)

    assert names.shared_sessions(5 * MINUTE).tolist() == [1, 1]
    assert names.shared_sessions(3 * MINUTE).tolist() == [0, 0]
    assert names.shared_weeks().tolist() == [1, 1]


# --- the whole watch --------------------------------------------------------------------------------

POLICY = replay(Policy(epsilon="0.5", gap="11m"), "policy")


@pytest.fixture(scope="module")
def watched():
    return watch(made_up(), WatchQuestion(practices=[POLICY, baseline("jitter:24h")], splits=2, draws=2))


def test_every_practice_dates_and_tenure_have_their_lines(watched):
    practices = ["nothing", "policy", "jitter:1d", DATES, TENURE]
    lines = [(one.split, one.practice, one.attack) for one in watched.findings]

    assert lines == [
        (split, practice, attack)
        for split in ("random", "time")
        for practice in practices
        for attack in ("likelihood", "counting")
    ]


def test_less_sight_finds_no_more(watched):
    """Nothing hides least, and is below no practice beyond its interval."""
    first = {name: watched.of(name).first for name in ("nothing", "policy", "jitter:1d", DATES, TENURE)}

    assert first["nothing"].mean > 0.8
    assert first["nothing"].high >= max(one.mean for one in first.values())
    assert first["nothing"].low > first["jitter:1d"].high
    assert first[DATES].mean > first[TENURE].mean
    assert watched.notes == ()


class Telling(Practice):
    """Shows all acts of a person at one moment that nobody else has: worse than nothing."""

    name, draws = "telling", False

    def show(self, history, draw):
        at = history.actor_ids * DAY + 5 * history.times.max()
        return Shown(release=at, printed=at)


def test_a_practice_that_tells_more_than_nothing_is_pointed_out():
    """The figures of an attack that finds less where it sees more are not to be trusted."""
    found = watch(made_up(events=1_500), WatchQuestion(practices=[Telling()], splits=1))

    assert any("telling" in note and "too weak" in note for note in found.notes)


def test_less_is_below_only_beyond_chance():
    rng, who = np.random.default_rng(4), np.arange(200)
    same = (rng.random(200) < 0.5).astype(float)

    assert not interval_below(same, same, who)
    assert interval_below(np.where(who < 40, 0.0, same), np.where(who < 40, 1.0, same), who)
    few = np.where(who < 6, 1.0, same), np.where(who < 6, 0.0, same)
    assert interval_below(few[1], few[0], who)
    assert not interval_below(few[1], few[0], who, looks=100), "one of so many may be so by chance"
    assert not interval_below(same, (rng.random(200) < 0.5).astype(float), who)


class Spy(Practice):
    """Remembers what it was shown."""

    name, draws = "spy", False

    def show(self, history, draw):
        self.actors = history.actors
        return Shown(release=history.times, printed=history.times)


def test_a_policy_sees_people_and_not_names():
    """Its labels are the person's, however targets are split."""
    table, spy = made_up(events=1_500), Spy()
    watch(table, WatchQuestion(practices=[spy], splits=1))

    assert (spy.actors == table.actor).all()


def test_the_same_seed_finds_the_same_in_any_order_of_rows():
    table = made_up(events=1_500)
    mixed = np.random.default_rng(1).permutation(len(table))
    shuffled = event_table(actor=table.actor[mixed], target=table.target[mixed], time=table.time[mixed])
    question = WatchQuestion(practices=[POLICY], splits=1, seed=5)
    answers = [watch(one, question).as_dict() for one in (table, shuffled)]

    assert answers[0] == answers[1]
    assert watch(table, WatchQuestion(practices=[POLICY], splits=1, seed=6)).as_dict() != answers[0]


def test_progress_ends_at_all_there_is():
    told = []
    watch(made_up(events=1_500), WatchQuestion(splits=1), lambda done, total: told.append((done, total)))

    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1] == (len(told), len(told))


def test_the_sentence_says_what_an_operator_needs(watched):
    sentence = watched.sentences[1]

    assert sentence.startswith("policy: after ")
    assert "finds the other name first" in sentence
    assert re.search(
        r"first [\d.]+ % \([\d.]+ to [\d.]+\) of the time; by dates alone [\d.]+ % \(", sentence
    )


def test_the_ledger_is_held_against_what_is_found_and_says_why_more_may_be(watched):
    """With the figures of this very history, after the sentence of its policy and nowhere else."""
    found = watched.of("policy")
    sentence = watched.sentences[2]

    assert len(watched.sentences) == 4
    assert sentence.startswith(
        f"policy: by its ledger alone an observer could be {percent(found.ledger)} sure of the right name; "
        f"the name found first is right {percent(found.first.mean)} of the time."
    )
    assert ("breaks no promise" in sentence) == (found.first.mean > found.ledger)
    assert f"acts within {seconds(found.reach_s)} of every batch" in sentence
    assert f"in {percent(found.alone)} of the searches with such a batch there is nobody else" in sentence
    assert watched.of("nothing").alone is None


def test_company_is_counted_as_by_a_loop():
    """Other people with an act within reach of every session that both names share."""
    table = made_up(events=1_500)
    names = Pseudonyms(table=table, sides=Split("random").sides(table, 1), least=5)
    window, reach = 5 * MINUTE, 2 * HOUR
    acts = [table.time[table.actor_rank == person] for person in range(table.actors)]
    expected = []
    for query in names.queries.tolist():
        mine = np.flatnonzero(table.actor_rank == query // 2)
        parts = np.split(mine, np.flatnonzero(np.diff(table.time[mine]) > window) + 1)
        shared = [table.time[part] for part in parts if len(set(names.sides[part])) == 2]
        others = [
            all(((other >= each[0] - reach) & (other <= each[-1] + reach)).any() for each in shared)
            for person, other in enumerate(acts)
            if person != query // 2
        ]
        expected.append(sum(others) if shared else -1)
    found = names.company(window, reach).tolist()

    assert found == expected
    assert {-1, 0} < set(found)


def test_the_ledger_of_people_who_never_batch_allows_a_blind_guess():
    """And that of people who batch all the time allows anything."""
    rng = np.random.default_rng(2)
    table = people(rng, pairs=20)
    lone = event_table(actor=table.actor, target=table.target, time=np.arange(len(table)) * HOUR)
    names = Pseudonyms(table=lone, sides=lone.target % 2)
    both = event_table(actor=[1, 1] * 40 + [2] * 40, target=[0, 1] * 40 + [2] * 40, time=[0] * 120)
    close = Pseudonyms(table=both, sides=both.target % 2)

    assert ledger_posterior(POLICY.policy, names) == pytest.approx(1 / (len(names.candidates) - 1))
    assert ledger_posterior(POLICY.policy, close) > 0.99


def test_a_history_without_two_names_is_refused():
    table = event_table(actor=[1] * 30, target=[1] * 30, time=np.arange(30))

    with pytest.raises(NotPossible, match="at least 10 acts each"):
        watch(table, WatchQuestion())


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"draws": 0}, "the number of draws must be at least 1, not 0"),
        ({"least_acts": 0}, "the number of acts of a candidate must be at least 1, not 0"),
        ({"practices": [POLICY, POLICY]}, "the practice 'policy' is given twice: give it once"),
    ],
)
def test_a_question_that_asks_nothing_is_refused(choices, sentence):
    with pytest.raises(BadInput) as refused:
        WatchQuestion(**choices)

    assert str(refused.value) == sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wiki_webdocs_a", "git_oslo", "qa_forum"])
def test_on_real_histories_nothing_is_not_below_what_hides_more(name):
    """Neither below policies and mixes nor below dates alone, where bursts outvote what is regular."""
    table = table_of(read_history(data_file(f"{name}.parquet")), bots=None)
    hidden = [POLICY, replay(Policy(epsilon="0.5", gap="1h"), "wide"), baseline("mix:1h")]
    found = watch(table, WatchQuestion(practices=hidden, splits=1, most_queries=200))
    attack = [one for one in found.findings if one.attack == "likelihood"]
    nothing = {one.split: one for one in attack if one.practice == "nothing"}

    assert all(one.first.mean <= nothing[one.split].first.high for one in attack)
    assert not any("too weak" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least", "most"), [("dao_votes", 0.85, 0.97), ("bitcoin_otc", 0.57, 0.72)]
)
def test_real_names_are_found_about_as_often_as_measured_elsewhere(name, least, most):
    """Doing nothing; and no policy is found out more often."""
    table = table_of(read_history(data_file(f"{name}.parquet")))
    found = watch(table, WatchQuestion(practices=[POLICY], splits=1))

    assert least < found.of("nothing").first.mean < most
    assert not any("too weak" in note for note in found.notes)
