"""Made-up histories: exact laws for any recipe, and the habits they are made to have."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.labels import partner_distance
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES, Recipe

SECOND = 1_000_000
HOUR = 3_600 * SECOND
COLUMNS = ("actor", "target", "time", "is_bot", "session")

RECIPE = st.builds(
    Recipe,
    events=st.integers(1, 200),
    actors=st.integers(6, 40),
    targets=st.integers(1, 40),
    days=st.integers(1, 40),
    starts_at=st.integers(0, 10**15),
    resolution=st.sampled_from([1, 1_000, 777_777, SECOND, 24 * HOUR]),
    bots=st.integers(0, 5),
    bot_share=st.floats(0, 1),
    acts=st.floats(1, 1_000),
    bursts=st.floats(0, 1),
    burst_gap=st.floats(0, 3_600),
    actor_skew=st.floats(0, 5) | st.just(1),
    target_skew=st.floats(0, 5),
    circle=st.integers(0, 5),
    zones=st.floats(0, 12),
    rush=st.floats(0, 100),
)
SEED = st.integers(0, 2**63 - 1)


@pytest.fixture(scope="module")
def wiki():
    return synthesize(RECIPES["wiki"], seed=1)


def batched_share(made, window=300 * SECOND):
    """Events with another of the same actor on another target within the window."""
    history = made.history()
    return (np.minimum(*partner_distance(history, history.times)) <= window).mean()


def busiest_tenth(names):
    """The share of the rows that belong to the tenth of the names with most of them."""
    counts = np.sort(np.unique(names, return_counts=True)[1])[::-1]
    return counts[: len(counts) // 10].sum() / len(names)


def gaps_by_session(made):
    """Seconds from each act of a person to their next: inside a session, and all the others."""
    order = np.lexsort((np.arange(len(made)), made.actor))
    actor, time, session = made.actor[order], made.time[order], made.session[order]
    same = (actor[1:] == actor[:-1]) & ~made.is_bot[order][1:]
    inside = (session[1:] == session[:-1]) & (session[1:] >= 0)
    gaps = np.diff(time) / SECOND
    return gaps[same & inside], gaps[same & ~inside]


@given(RECIPE, SEED)
def test_a_history_has_exactly_the_events_asked_for_inside_its_days(recipe, seed):
    """Every column has a row for each event, sorted by time and cut to the resolution."""
    made = synthesize(recipe, seed)
    offsets = made.time - recipe.starts_at

    assert {len(getattr(made, name)) for name in COLUMNS} == {recipe.events} == {len(made)}
    assert (np.diff(made.time) >= 0).all()
    assert offsets.min() >= 0
    assert offsets.max() < recipe.days * 24 * HOUR
    assert (offsets % recipe.resolution == 0).all()


def test_a_session_longer_than_the_history_stays_inside():
    """Even hours between the acts of an endless session do not lead out of the only day."""
    recipe = Recipe(events=2_000, bots=0, days=1, acts=1_000, burst_gap=3_600)
    offsets = synthesize(recipe, seed=1).time - recipe.starts_at

    assert offsets.min() >= 0
    assert offsets.max() < 24 * HOUR


@given(RECIPE, SEED)
def test_names_are_numbers_below_the_number_of_names(recipe, seed):
    """Actors and targets stay within the numbers that the recipe gives."""
    made = synthesize(recipe, seed)

    assert 0 <= made.actor.min() <= made.actor.max() < recipe.actors
    assert 0 <= made.target.min() <= made.target.max() < recipe.targets


@given(RECIPE, SEED)
def test_the_same_seed_gives_the_same_history(recipe, seed):
    """Nothing but recipe and seed decides."""
    once, again = synthesize(recipe, seed), synthesize(recipe, seed)

    assert once.frame().equals(again.frame())


@given(RECIPE, SEED)
def test_a_session_is_several_acts_of_one_person(recipe, seed):
    """Every session has one actor, at least two acts, and no bot in it; sessions are numbered from 0."""
    made = synthesize(recipe, seed)
    inside = made.session >= 0
    numbers, acts = np.unique(made.session[inside], return_counts=True)
    pairs = set(zip(made.session[inside].tolist(), made.actor[inside].tolist(), strict=True))

    assert numbers.tolist() == list(range(len(numbers)))
    assert (acts >= 2).all()
    assert len(pairs) == len(numbers)
    assert not made.is_bot[inside].any()
    assert (made.session[~inside] == -1).all()


@given(RECIPE, SEED)
def test_an_actor_is_a_bot_in_all_acts_or_in_none(recipe, seed):
    """Bots make their share of the events, and nobody is both."""
    made = synthesize(recipe, seed)
    bots, people = set(made.actor[made.is_bot].tolist()), set(made.actor[~made.is_bot].tolist())

    assert not bots & people
    assert len(bots) <= recipe.bots
    assert made.is_bot.sum() == (round(recipe.events * recipe.bot_share) if recipe.bots else 0)


@given(RECIPE, SEED)
def test_a_session_stays_on_its_target_where_there_are_no_bursts(recipe, seed):
    """Only bursts move over several targets."""
    made = synthesize(Recipe(**{**vars(recipe), "bursts": 0.0}), seed)
    inside = made.session >= 0
    pairs = set(zip(made.session[inside].tolist(), made.target[inside].tolist(), strict=True))

    assert len(pairs) == len(np.unique(made.session[inside]))


@given(RECIPE, SEED)
def test_people_keep_to_their_circle(recipe, seed):
    """A person who keeps to two targets acts on no third."""
    made = synthesize(Recipe(**{**vars(recipe), "circle": 2}), seed)
    people = ~made.is_bot
    pairs = set(zip(made.actor[people].tolist(), made.target[people].tolist(), strict=True))
    of_actor = np.unique([actor for actor, _ in pairs], return_counts=True)[1]

    assert (of_actor <= 2).all()


def test_another_seed_gives_another_history(wiki):
    """The seed matters in every column."""
    other = synthesize(RECIPES["wiki"], seed=2)

    for name in COLUMNS:
        assert not np.array_equal(getattr(wiki, name), getattr(other, name))


def test_all_actors_and_targets_of_a_recipe_act_and_are_acted_on(wiki):
    """With events enough the sizes of the history are those of its recipe."""
    assert len(np.unique(wiki.actor)) == RECIPES["wiki"].actors
    assert len(np.unique(wiki.target)) == RECIPES["wiki"].targets


def test_the_default_resembles_real_histories(wiki):
    """Batching and the gaps between strangers lie where those of public histories do."""
    actor, target, time = wiki.actor, wiki.target, wiki.time
    strangers = (actor[1:] != actor[:-1]) & (target[1:] != target[:-1])
    low, median, high = np.percentile(np.diff(time)[strangers] / SECOND, [25, 50, 75])

    assert 0.25 < batched_share(wiki) < 0.36
    assert 10 < low < 40 < median < 150 < high < 500


@pytest.mark.parametrize(("name", "low", "high"), [("forum", 0.06, 0.15), ("review", 0.42, 0.6)])
def test_recipes_differ_in_how_much_people_batch(name, low, high):
    """People batch less on a forum, and more when they review."""
    assert low < batched_share(synthesize(RECIPES[name], seed=1)) < high


def test_few_make_most(wiki):
    """A tenth of the people makes most of the acts, a tenth of the targets gets far more than its part."""
    people = ~wiki.is_bot

    assert busiest_tenth(wiki.actor[people]) > 0.5
    assert busiest_tenth(wiki.target[people]) > 0.35


def test_without_skew_people_are_equally_busy():
    """The exponent 0 makes everybody alike."""
    made = synthesize(Recipe(bots=0, actor_skew=0), seed=1)

    assert busiest_tenth(made.actor) < 0.17


def test_the_names_say_nothing_about_how_busy_or_popular(wiki):
    """The size of a number does not follow rank: busy actors and popular targets lie anywhere."""
    for column, many in ((wiki.actor, 500), (wiki.target, 300)):
        counts = np.bincount(column, minlength=many)

        assert abs(np.corrcoef(np.arange(many), np.argsort(np.argsort(counts)))[0, 1]) < 0.15


def test_gaps_inside_a_session_are_short(wiki):
    """Inside a session people act about a minute apart; otherwise hours go by."""
    inside, outside = gaps_by_session(wiki)

    assert 50 < inside.mean() < 70
    assert np.median(outside) > 3_600


def test_some_sessions_stay_and_some_move(wiki):
    """Four tenths of the sessions go over several targets, fewer those that come back by chance."""
    sessions = {}
    for session, target in zip(wiki.session.tolist(), wiki.target.tolist(), strict=True):
        sessions.setdefault(session, set()).add(target)
    del sessions[-1]

    assert 0.36 < np.mean([len(targets) > 1 for targets in sessions.values()]) < 0.42


@pytest.mark.parametrize(("zones", "times"), [(0.0, 4), (3.0, 2)])
def test_people_act_by_day(zones, times):
    """The six hours after midnight are far quieter than the afternoon, most of all within one zone."""
    made = synthesize(Recipe(bots=0, zones=zones), seed=1)
    hour = made.time // HOUR % 24
    night, afternoon = (hour < 6).sum(), ((hour >= 13) & (hour < 19)).sum()

    assert times * night < afternoon


def test_people_live_in_different_time_zones():
    """Where zones spread wide, the night of UTC is day for many, yet each person still sleeps."""
    made = synthesize(Recipe(events=40_000, bots=0, actors=40, zones=12.0), seed=1)
    hour = made.time // HOUR % 24
    of_actor = np.array([np.bincount(hour[made.actor == actor], minlength=24) for actor in range(40)])
    quiet_together = np.sort(of_actor.sum(axis=0))[:6].sum() / len(made)
    quiet_alone = np.sort(of_actor, axis=1)[:, :6].sum() / len(made)

    assert quiet_alone < 0.1 < quiet_together


@pytest.mark.parametrize("moved_days", [0, 3])
def test_people_act_less_at_weekends_whenever_the_history_starts(moved_days):
    """Saturdays and Sundays are quieter, by the calendar and not by the first day."""
    starts_at = Recipe().starts_at + moved_days * 24 * HOUR
    made = synthesize(Recipe(bots=0, days=28, zones=0.0, starts_at=starts_at), seed=1)
    weekday = (made.time // (24 * HOUR) + 3) % 7
    days = np.bincount(weekday, minlength=7)

    assert days[5:].max() < 0.8 * days[:5].min()


def test_bots_are_busy_at_all_hours_on_many_targets(wiki):
    """A bot acts more than any person, in every hour of the day alike, on nearly everything."""
    by_person = np.unique(wiki.actor[~wiki.is_bot], return_counts=True)[1].max()

    for bot in np.unique(wiki.actor[wiki.is_bot]):
        own = wiki.actor == bot
        hours = np.bincount(wiki.time[own] // HOUR % 24, minlength=24)

        assert own.sum() > by_person
        assert hours.max() < 1.6 * hours.min()
        assert len(np.unique(wiki.target[own])) > 0.95 * 300


def test_a_deadline_brings_a_rush():
    """Reviews crowd on the last two of 28 days; without a rush these are like the others."""
    recipe = RECIPES["review"]
    shares = []
    for rush in (recipe.rush, 0.0):
        made = synthesize(Recipe(**{**vars(recipe), "rush": rush}), seed=1)
        shares.append((made.time >= recipe.starts_at + 26 * 24 * HOUR).mean())

    assert shares[0] > 0.25
    assert shares[1] < 0.09


def test_the_end_cuts_no_session_short():
    """Sessions near the end are moved, not squeezed: the last second is as empty as any other."""
    made = synthesize(Recipe(bots=0, days=1, acts=50, burst_gap=120.0), seed=1)

    assert np.bincount((made.time - made.time[0]) // SECOND)[-1] < 10
    assert 110 < gaps_by_session(made)[0].mean() < 130


def test_ties_and_repeats_happen(wiki):
    """Some events share a second, some an actor and a target as well, as in real tables."""
    frame = wiki.frame()

    assert frame["time"].n_unique() < len(wiki)
    assert frame.select("actor", "target", "time").n_unique() < len(wiki)


def test_a_frame_holds_the_columns_as_they_are(wiki):
    """Names, times and truth of the table are those of the record."""
    frame = wiki.frame()

    assert frame.columns == list(COLUMNS)
    for name in COLUMNS:
        assert frame[name].to_list() == getattr(wiki, name).tolist()
    assert str(frame["time"].dtype) == "Int64"


def test_the_default_recipe_is_the_wiki():
    """The recipe without a word is the named one."""
    assert RECIPES["wiki"] == Recipe()
    assert list(RECIPES) == ["forum", "wiki", "review", "wikipedia"]
    assert (RECIPES["wikipedia"].events, RECIPES["wikipedia"].actors) == (3_500_000, 326_000)


WRONG = {
    "events": 0,
    "actors": -1,
    "targets": 1.0,
    "days": 3_661,
    "starts_at": -1,
    "resolution": 0,
    "bots": True,
    "bot_share": 1.01,
    "acts": 0.5,
    "bursts": "0.5",
    "burst_gap": -1.0,
    "actor_skew": float("inf"),
    "target_skew": float("nan"),
    "circle": 101,
    "zones": 13,
    "rush": None,
}


@pytest.mark.parametrize("field", [field.name for field in fields(Recipe)])
def test_a_wrong_ingredient_is_named(field):
    """Every number of a recipe has a range, and what lies outside is refused by name."""
    with pytest.raises(BadInput, match=rf"^{field} must be a (whole )?number from .* to .*, not "):
        Recipe(**{field: WRONG[field]})


def test_bots_leave_room_for_people():
    """A history of bots alone has nobody to protect."""
    with pytest.raises(BadInput, match="bots must leave at least one person among 2 actors, not 2: give"):
        Recipe(actors=2, bots=2)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, 2**63])
def test_a_seed_is_a_whole_number(seed):
    """What could be read in two ways is no seed."""
    with pytest.raises(BadInput, match="the seed must be a whole number from 0"):
        synthesize(Recipe(events=1), seed)
