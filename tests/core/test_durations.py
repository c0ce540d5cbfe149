"""Durations, numbers and ticks: exact both ways, and one clear sentence for anything else."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.exact import LONGEST, format_duration, parse_duration, parse_number, ticks_up

MICROSECONDS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
CENTURY = 36_525 * MICROSECONDS["d"]
LONG = "1" * 10**6


@st.composite
def written_durations(draw):
    """A text with some of the units, larger ones first, and the microseconds it means."""
    text, total = "", 0
    units = draw(st.sets(st.sampled_from(list(MICROSECONDS)), min_size=1, max_size=4))
    for unit in (unit for unit in MICROSECONDS if unit in units):
        places = draw(st.integers(0, 3)) if MICROSECONDS[unit] >= 1000 else 0
        digits = draw(st.integers(10**places, 100 * 10**places))
        text += (
            f"{digits // 10**places}.{digits % 10**places:0{places}}" if places else f"{digits}"
        ) + unit
        total += digits * MICROSECONDS[unit] // 10**places
    return text, total


def answer(read, text):
    """What a reader makes of a text: the value and nothing, or nothing and its refusal."""
    try:
        return read(text), ""
    except BadInput as error:
        return None, str(error)


def refusal(read, value):
    """The sentence with which a reader refuses a value."""
    with pytest.raises(BadInput) as caught:
        read(value, "--it")
    return str(caught.value)


def assert_sentence(text, rule, value):
    """One line of readable length that names what, the rule and the offending value."""
    assert text.startswith(f"--it {rule}, not {value}")
    assert len(text.splitlines()) == 1
    assert len(text) < 250


@given(st.integers(0, CENTURY))
def test_every_duration_reads_back_from_its_own_text(microseconds):
    """What `format_duration` writes, `parse_duration` reads back exactly."""
    seconds = Fraction(microseconds, 10**6)

    assert parse_duration(format_duration(seconds)) == seconds


@given(written_durations())
def test_a_duration_is_the_sum_of_its_parts(written):
    """Numbers with units, larger units first, mean the sum of their parts and nothing is rounded."""
    text, microseconds = written

    assert parse_duration(text) == Fraction(microseconds, 10**6)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("11m", 660),
        ("90s", 90),
        ("1h30m", 5400),
        ("500ms", Fraction(1, 2)),
        ("0s", 0),
        ("0.1s", Fraction(1, 10)),
        ("1us", Fraction(1, 10**6)),
        ("2w", 1_209_600),
        ("36525d", LONGEST),
        ("  5m\n", 300),
        (Fraction(1, 8), Fraction(1, 8)),
    ],
)
def test_durations_people_write(text, seconds):
    """The usual spellings mean what they say."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (Fraction(5400), "1h30m"),
        (Fraction(604_800), "7d"),
        (Fraction(90_061), "1d1h1m1s"),
        (Fraction(1_000_001, 10**6), "1s1us"),
        (Fraction(-3, 2), "-1.5s"),
        (Fraction(1, 3), "0.333333s"),
    ],
)
def test_format_writes_what_a_person_would(seconds, text):
    """Zero units are left out; what has no exact text is shown rounded."""
    assert format_duration(seconds) == text


MUST_HAVE_UNITS = "must be numbers with units"


@pytest.mark.parametrize(
    ("value", "rule", "shown"),
    [
        ("-5m", "must be 0s or longer", "'-5m'"),
        ("-0s", "must be 0s or longer", "'-0s'"),
        (Fraction(-1), "must be 0s or longer", "-1"),
        ("nan", MUST_HAVE_UNITS, "'nan'"),
        ("infs", MUST_HAVE_UNITS, "'infs'"),
        ("", MUST_HAVE_UNITS, "''"),
        ("   ", MUST_HAVE_UNITS, "''"),
        ("90", MUST_HAVE_UNITS, "'90'"),
        ("m", MUST_HAVE_UNITS, "'m'"),
        ("1h30", MUST_HAVE_UNITS, "'1h30'"),
        ("1 h", MUST_HAVE_UNITS, "'1 h'"),
        ("1H", MUST_HAVE_UNITS, "'1H'"),
        (".5s", MUST_HAVE_UNITS, "'.5s'"),
        ("1.s", MUST_HAVE_UNITS, "'1.s'"),
        ("1_0s", MUST_HAVE_UNITS, "'1_0s'"),
        ("5\u00b5s", MUST_HAVE_UNITS, "'5\u00b5s'"),
        ("\u0661s", MUST_HAVE_UNITS, "'\u0661s'"),
        ("1s\n2us", MUST_HAVE_UNITS, "'1s\\n2us'"),
        ("30m1h", "must name larger units first, each once", "'30m1h'"),
        ("1m1m", "must name larger units first, each once", "'1m1m'"),
        ("0.5us", "must be a whole number of microseconds", "0.5us"),
        (Fraction(1, 3), "must be a whole number of microseconds", "1/3"),
        ("36525d1us", "must be at most 36525d (a century)", "36525d1us"),
        ("9" * 38 + "w\n", "must be at most 36525d (a century)", "9" * 38 + "w"),
        pytest.param(LONG + "s", "must have at most 40 characters", "1000001", id="long"),
        (5, "must be text with a unit", "5"),
        (0.5, "must be text with a unit", "0.5"),
        (float("nan"), "must be text with a unit", "nan"),
        (True, "must be text with a unit", "True"),
        (None, "must be text with a unit", "None"),
        (b"5m", "must be text with a unit", "b'5m'"),
    ],
)
def test_a_bad_duration_gets_one_sentence(value, rule, shown):
    """Whatever is wrong with a duration, one line names it, the rule and the offending value."""
    assert_sentence(refusal(parse_duration, value), rule, shown)


@pytest.mark.parametrize(("text", "unit"), [("5y", "y"), ("1e3s", "e")])
def test_an_unknown_unit_is_named_with_those_there_are(text, unit):
    """Whoever writes years reads which units there are."""
    sentence = f"--it has the unknown unit {unit!r} in {text!r}: use w, d, h, m, s, ms, us"

    assert refusal(parse_duration, text) == sentence


@given(st.text(max_size=60) | st.text("0123456789.wdhmsu -+e", max_size=12))
def test_any_text_is_a_duration_or_refused_in_one_line(text):
    """No text makes the reader fail in any other way, and what is read can be written again."""
    seconds, refused = answer(parse_duration, text)

    assert (seconds is None) == (len(refused.splitlines()) == 1)
    assert seconds is None or parse_duration(format_duration(seconds)) == seconds


@given(st.decimals(-(10**20), 10**20, places=15))
def test_a_number_is_read_exactly(number):
    """Text, Decimal and Fraction of one number give the same fraction, with every digit kept."""
    value = Fraction(number)

    assert {parse_number(str(number)), parse_number(number), parse_number(value)} == {value}


@given(st.integers(-(10**39) + 1, 10**40 - 1))
def test_a_whole_number_is_read_exactly(number):
    """An int is itself, as an int or as text."""
    assert parse_number(number) == number == parse_number(str(number))


def test_a_tenth_is_a_tenth():
    """No number passes through a float, where 0.1 is a little more."""
    assert parse_number("0.1") == Fraction(1, 10) != Fraction(0.1)


MUST_BE_DECIMAL = "must be a decimal number"
MUST_BE_FINITE = "must be a finite number of ordinary size"


@pytest.mark.parametrize(
    ("value", "rule", "shown"),
    [
        ("", MUST_BE_DECIMAL, "''"),
        ("one", MUST_BE_DECIMAL, "'one'"),
        ("0x10", MUST_BE_DECIMAL, "'0x10'"),
        ("1/2", MUST_BE_DECIMAL, "'1/2'"),
        ("1,5", MUST_BE_DECIMAL, "'1,5'"),
        ("1\n2", MUST_BE_DECIMAL, "'1\\n2'"),
        ("\u0661", MUST_BE_DECIMAL, "'\u0661'"),
        ("\uff11\uff12", MUST_BE_DECIMAL, "'\uff11\uff12'"),
        ("5m", MUST_BE_DECIMAL, "'5m'"),
        ("nan", MUST_BE_FINITE, "'nan'"),
        ("sNaN", MUST_BE_FINITE, "'sNaN'"),
        ("inf", MUST_BE_FINITE, "'inf'"),
        ("-Infinity", MUST_BE_FINITE, "'-Infinity'"),
        (Decimal("NaN"), MUST_BE_FINITE, "'NaN'"),
        ("1e41", MUST_BE_FINITE, "'1e41'"),
        ("1e-41", MUST_BE_FINITE, "'1e-41'"),
        ("1e999999999999999999", MUST_BE_FINITE, "'1e999999999999999999'"),
        pytest.param(LONG, "must have at most 40 characters", "1000000", id="long"),
        pytest.param(10**5000, "must have at most 40 digits", "about 4983", id="huge"),
        (-(10**40), "must have at most 40 digits", "about 39"),
        (0.1, MUST_BE_DECIMAL, "0.1 (float)"),
        (float("nan"), MUST_BE_DECIMAL, "nan (float)"),
        (True, MUST_BE_DECIMAL, "True (bool)"),
        (None, MUST_BE_DECIMAL, "None (NoneType)"),
        (b"1", MUST_BE_DECIMAL, "b'1' (bytes)"),
    ],
)
def test_a_bad_number_gets_one_sentence(value, rule, shown):
    """Whatever is wrong with a number, one line names it, the rule and the offending value."""
    assert_sentence(refusal(parse_number, value), rule, shown)


@given(st.text(max_size=60) | st.text("0123456789.-+eE_naif ", max_size=12))
def test_any_text_is_a_number_or_refused_in_one_line(text):
    """No text makes the reader fail in any other way, and every number has an ordinary size."""
    number, refused = answer(parse_number, text)

    assert (number is None) == (len(refused.splitlines()) == 1)
    assert number is None or abs(number) < 10**41


MOMENTS = st.fractions(0, 10**6, max_denominator=10**6)
TICKS = st.fractions(Fraction(1, 1000), 3600, max_denominator=1000)


@given(MOMENTS, TICKS)
def test_ticks_up_is_the_first_tick_at_or_after_the_moment(moment, tick):
    """The tick of a moment does not end before it, and the tick before does."""
    k = ticks_up(moment, tick)

    assert (k - 1) * tick < moment <= k * tick


@given(st.integers(-(10**9), 10**9), TICKS)
def test_whole_ticks_stay_as_they_are(count, tick):
    """A moment on the border of a tick belongs to the tick that it ends."""
    assert ticks_up(count * tick, tick) == count


@given(MOMENTS, MOMENTS, TICKS)
def test_later_moments_have_no_earlier_ticks(a, b, tick):
    """Rounding keeps the order of moments."""
    assert ticks_up(min(a, b), tick) <= ticks_up(max(a, b), tick)


@given(MOMENTS, MOMENTS, MOMENTS, TICKS)
def test_a_gap_of_at_most_g_stays_within_the_ticks_of_g(moment, gap, more, tick):
    """Two moments at most g apart lie at most `ticks_up(g)` ticks apart, whatever their fractions."""
    apart = ticks_up(moment + gap, tick) - ticks_up(moment, tick)

    assert apart <= ticks_up(gap + more, tick)


@given(MOMENTS, st.integers(0, 10**9), TICKS)
def test_rounding_commutes_with_whole_ticks(moment, count, tick):
    """Adding whole ticks before or after rounding gives the same tick."""
    assert ticks_up(moment + count * tick, tick) == ticks_up(moment, tick) + count
