"""policy.toml: every key read exactly, everything else refused, and written files read back the same."""

import tomllib
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.policies import SEASON_RULES
from tarry.core.errors import BadInput
from tarry.core.law import Law
from tarry.core.mechanism import LawPair
from tarry.core.policy import Policy
from tarry.core.policy_file import KEYS, read_policy, write_policy
from tarry.core.season import Season

LEAST = 'epsilon = 1\ngap = "11m"\n'
LAWS = ("zero-inflated-uniform", "uniform", "exponential", "staircase")

DECIMALS = st.integers(0, 10**12).map(lambda i: Fraction(i, 10**12))
MICROSECONDS = st.integers(1, 10**12).map(lambda us: Fraction(us, 10**6))
MOMENTS = st.integers(-(10**16), 10**17).map(lambda us: Fraction(us, 10**6))
SHAPES = [{}, {"blocks": 3, "order": "0.01"}, {"blocks": 8, "order": "2.75"}]  # few: each has to be built
NAMES = st.text(max_size=8)


@st.composite
def for_a_pair(draw, labels):
    """The choices that make the promise of one pair."""
    return {
        "epsilon": draw(DECIMALS) * 99 + (Fraction(1, 100) if labels == "none" else Fraction(1, 10**6)),
        "weight": draw(DECIMALS),
        "law": "label-free" if labels == "none" else draw(st.sampled_from(LAWS)),
        "cover": "pair" if labels in ("follower", "none") else draw(st.sampled_from(["pair", "bridge"])),
        "delta": draw(DECIMALS) / 2 + Fraction(1, 1000) if labels == "none" else 0,
    }


@st.composite
def for_a_season(draw):
    """Those that make the promise of a season, which is so large that every law keeps it."""
    shape = draw(st.sampled_from(SHAPES))
    season = Season(acts=4, epsilon=20 + draw(DECIMALS), delta=draw(DECIMALS) / 2 + Fraction(1, 1000))
    return {"law": "cosine" if shape else draw(st.sampled_from(LAWS)), "season": season, **shape}


@st.composite
def policies(draw):
    """Any policy that can be written down."""
    labels = draw(st.sampled_from(["held", "declared", "follower", "simultaneous", "none"]))
    window = Fraction(0) if labels in ("simultaneous", "none") else draw(MICROSECONDS)
    tick = draw(MICROSECONDS) + 1
    gaps = MICROSECONDS.map(lambda gap: window + tick + gap)
    moments = sorted(draw(st.lists(MOMENTS, min_size=3, max_size=3, unique=True)))
    has_season = labels in SEASON_RULES and draw(st.booleans())
    return Policy(
        **draw(for_a_season() if has_season else for_a_pair(labels)),
        gap=draw(gaps),
        window=window,
        tick=tick,
        labels=labels,
        target_gaps=draw(st.dictionaries(NAMES, gaps, max_size=3)),
        track_gaps=draw(st.dictionaries(NAMES, gaps, max_size=3)),
        starts_at=draw(st.none() | st.just(moments[0])),
        ends_at=draw(st.none() | st.just(moments[1])),
        deadline_at=draw(st.none() | st.just(moments[2])),
    )


def refusal(text):
    """The sentence with which a file is refused."""
    with pytest.raises(BadInput) as caught:
        read_policy(text)
    return str(caught.value)


@given(policies())
def test_a_written_policy_reads_back_the_same(policy):
    """Writing and reading changes nothing in any policy, to the last digit and microsecond."""
    assert read_policy(write_policy(policy)) == policy


@pytest.mark.parametrize("name", ["", "a.b", '"', "\\", "\n", "\x7f", "\x00", "\u2028", "名", "\U0001f600"])
def test_any_name_may_have_a_gap(name):
    """Names with quotes, line ends, control characters or far-off letters are written as TOML wants."""
    policy = Policy(epsilon="1", gap="11m", target_gaps={name: "1h"}, track_gaps={name: "2h"})

    assert read_policy(write_policy(policy)) == policy


@given(policies())
def test_a_written_policy_is_toml_with_a_word_on_each_choice(policy):
    """The file is plain TOML that any reader takes, and every choice in it is explained."""
    text = write_policy(policy)
    choices = text.partition("\n[")[0].strip().splitlines()

    assert set(tomllib.loads(text)) <= set(KEYS)
    assert all(line.endswith(f"# {KEYS[line.split(' = ')[0]]}") for line in choices)


def test_a_written_policy_explains_each_of_its_keys():
    policy = Policy(
        epsilon="0.5",
        gap="30m",
        labels="none",
        law="label-free",
        delta="0.25",
        starts_at=0,
        ends_at=1,
        deadline_at=2,
        target_gaps={"p 3": "1h"},
    )

    assert (
        write_policy(policy)
        == """\
epsilon = 0.5  # the budget of the promise, per batched pair: smaller is more private and slower
gap = "30m"  # how far apart two acts would plausibly be had they not been batched
window = "0s"  # acts of one person on different targets at most this far apart count as batched
tick = "1s"  # the clock's unit: arrivals are rounded up to it
weight = 0.5  # how much batched delay counts against unbatched delay, 0 to 1
labels = "none"  # how batched acts are known: held, declared, follower, simultaneous or none
law = "label-free"  # zero-inflated-uniform, uniform, exponential, staircase, cosine (for a season) or \
label-free
cover = "pair"  # what costs one epsilon: a pair, or a bridge (an act that joins two others)
delta = 0.25  # the chance with which a label-free law may fail
from = 1970-01-01T00:00:00Z  # the moment from which the policy holds
until = 1970-01-01T00:00:01Z  # the moment until which it stays as it is
deadline = 1970-01-01T00:00:02Z  # the public moment by which everything is released

[gaps.target]
"p 3" = "1h"
"""
    )


def test_every_key_reaches_its_field():
    """A file with every key gives a policy with every choice."""
    policy = read_policy("""
        epsilon = 0.5
        gap = "30m"
        window = "2m"
        tick = "10s"
        weight = 0.25
        labels = "declared"
        law = "staircase"
        cover = "bridge"
        delta = 0
        from = 2026-01-01T00:00:00Z
        until = 2026-02-01T00:00:00Z
        deadline = 2026-02-02T00:00:00.5Z
        gaps.target."paper 3" = "1h"
        gaps.track.theory = "2h"
    """)

    assert policy == Policy(
        epsilon="0.5",
        gap="30m",
        window="2m",
        tick="10s",
        weight="0.25",
        labels="declared",
        law="staircase",
        cover="bridge",
        starts_at=Fraction(int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())),
        ends_at=Fraction(int(datetime(2026, 2, 1, tzinfo=UTC).timestamp())),
        deadline_at=Fraction(int(datetime(2026, 2, 2, tzinfo=UTC).timestamp())) + Fraction(1, 2),
        target_gaps={"paper 3": "1h"},
        track_gaps={"theory": "2h"},
    )


def test_two_keys_are_enough():
    """Everything but epsilon and gap has a default."""
    assert read_policy(LEAST) == Policy(epsilon="1", gap="11m")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("0.12345678901234567890123456789", Fraction(12345678901234567890123456789, 10**29)),
        ("1e-3", Fraction(1, 1000)),
        ('"0.1"', Fraction(1, 10)),
        ("1", Fraction(1)),
    ],
)
def test_numbers_never_pass_through_a_float(text, value):
    """A number in a file is the decimal that is written there, to its last digit."""
    assert read_policy(f'epsilon = {text}\ngap = "11m"').epsilon == value


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01 02:00:00+02:00", 0),
        ("1970-01-01T00:00:00.000001Z", Fraction(1, 10**6)),
        ("1969-12-31T23:59:59.5Z", Fraction(-1, 2)),
        ("2026-08-01T12:00:00-05:30", 1785605400),
    ],
)
def test_moments_are_exact_in_any_offset(moment, seconds):
    """A date-time means its moment, whatever offset it is written in."""
    assert read_policy(f"{LEAST}from = {moment}").starts_at == seconds


MOMENT = "write it like 2026-01-31T12:00:00Z, without quotes"
REFUSED = [
    ("", "the policy file has no epsilon: add it, the budget of the promise, per batched pair"),
    ("epsilon = 1", "the policy file has no gap: add it, how far apart two acts"),
    (LEAST + "epsilom = 1", "unknown key 'epsilom' in the policy file: use epsilon, gap, window"),
    (LEAST + "max_delay = '1h'", "unknown key 'max_delay' in the policy file: use epsilon, gap, window"),
    (LEAST + "target_gaps = {}", "unknown key 'target_gaps' in the policy file: use epsilon, gap, window"),
    (LEAST + "epsilon = 2", "the policy file is not valid TOML (Cannot overwrite a value"),
    ("epsilon 1", "the policy file is not valid TOML (Expected '='"),
    ("\x00", "the policy file is not valid TOML (Invalid statement"),
    (LEAST + "weight = 1e99999999999999999999", "the policy file has a huge number or deep nesting: write"),
    (LEAST + "weight = " + "1" * 5000, "the policy file has a huge number or deep nesting: write ordinary"),
    (LEAST + "x = " + "[" * 50_000, "the policy file has a huge number or deep nesting: write ordinary"),
    ('epsilon = nan\ngap = "11m"', "epsilon must be a finite number of ordinary size, not 'NaN'"),
    ('epsilon = inf\ngap = "11m"', "epsilon must be a finite number of ordinary size, not 'Infinity'"),
    ('epsilon = -1\ngap = "11m"', "epsilon must be between 0.000001 and 100, not -1: 0.5 to 2 is usual"),
    ('epsilon = true\ngap = "11m"', "epsilon must be a decimal number, not True (bool)"),
    ('epsilon = [1]\ngap = "11m"', "epsilon must be a decimal number, not [1] (list)"),
    ("epsilon = 1\ngap = 660", "gap must be text with a unit, not 660"),
    ("epsilon = 1\ngap = 12:00:00", "gap must be text with a unit, not datetime.time(12, 0)"),
    (LEAST + "law = 5", "law must be a name or a function, not 5"),
    (LEAST + "law = 'laplace'", "unknown law 'laplace': use zero-inflated-uniform, uniform"),
    (LEAST + "law = 'os:getcwd'", "'os:getcwd' is code that is not installed: install it as a package"),
    (LEAST + "labels = false", "unknown labels False: use held"),
    (LEAST + "cover = {}", "unknown cover {}: use pair, bridge"),
    (
        LEAST + "from = 2026-01-01T00:00:00",
        f"from must be a moment with its offset, not '2026-01-01 00:00:00': {MOMENT}",
    ),
    (LEAST + "until = 2026-01-01", f"until must be a moment with its offset, not '2026-01-01': {MOMENT}"),
    (LEAST + "deadline = 'soon'", f"deadline must be a moment with its offset, not 'soon': {MOMENT}"),
    (
        LEAST + "deadline = '2020-01-01T00:00:00Z'",
        f"deadline must be a moment with its offset, not '2020-01-01T00:00:00Z': {MOMENT}",
    ),
    (LEAST + "from = 1e9", f"from must be a moment with its offset, not '1E+9': {MOMENT}"),
    (
        LEAST + "from = 2026-01-02T00:00:00Z\nuntil = 2026-01-01T00:00:00Z",
        "until must come after from, not 1d before it",
    ),
    (LEAST + "gaps = 3", "gaps must be a table, not 3: write [gaps] and"),
    (LEAST + "gaps.paper.p = '1h'", "unknown table 'gaps.paper': use gaps.target or gaps.track"),
    (LEAST + "gaps.target = '1h'", "gaps.target must be a table, not '1h': write [gaps.target] and"),
    (LEAST + "gaps.track.a = 3600", "the gap of track 'a' must be text with a unit, not 3600"),
    (LEAST + "gaps.track.a.b = '1h'", "the gap of track 'a' must be text with a unit, not {'b': '1h'}"),
    (LEAST + "gaps.target.a = '5m'", "the gap of target 'a' must be above the window (5m), not 5m"),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED, ids=lambda part: part[-30:])
def test_an_impossible_file_is_refused_in_one_sentence(text, sentence):
    """Whatever is wrong in a file, one line names the key, the rule and the offending value."""
    refused = refusal(text)

    assert refused.startswith(sentence)
    assert len(refused.splitlines()) == 1


VALUES = [
    *("1", "0.5", "-3", "nan", "true", "[]", "{}", "{p = '2h'}", "2026-01-01T00:00:00Z", "2026-01-01"),
    *(
        '"11m"',
        '"1h"',
        '"0s"',
        '"held"',
        '"none"',
        '"label-free"',
        '"bridge"',
        '"\\u0000"',
        "'''\n'''",
        '"',
    ),
]


@st.composite
def files(draw):
    """Files of plausible lines, most of them wrong somewhere."""
    keys = st.sampled_from([*KEYS, "gaps.target.p", "gaps.track", "other"])
    values = st.sampled_from(VALUES)
    return LEAST + "\n".join(f"{draw(keys)} = {draw(values)}" for _ in range(draw(st.integers(0, 4))))


@given(files() | st.text(max_size=40))
def test_any_text_is_a_policy_or_refused_in_one_line(text):
    """No text makes the reader fail in any other way."""
    try:
        sentence, policy = "", read_policy(text)
    except BadInput as error:
        sentence, policy = str(error), None

    assert (policy is None) == (len(sentence.splitlines()) == 1)


def own(ask):
    """A law of one's own."""
    return LawPair(batched=Law.of_masses([1]), unbatched=Law.of_masses([1]), start=ask.start)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"law": own}, "law 'own' is a function, which a policy file cannot hold: install it as a package"),
        ({"epsilon": Fraction(1, 3)}, "a number in a policy file must be a decimal, not 1/3"),
        ({"starts_at": Fraction(1, 3)}, "a moment in a policy file must be a whole number of microseconds"),
        (
            {"deadline_at": Fraction(10**15)},
            "a moment in a policy file must be a whole number of microseconds",
        ),
    ],
)
def test_what_a_file_cannot_say_is_not_written(choices, sentence):
    """A policy that would read back as another one is refused instead of rounded."""
    with pytest.raises(BadInput) as caught:
        write_policy(Policy(**{"epsilon": "1", "gap": "11m", **choices}))

    assert str(caught.value).startswith(sentence)
