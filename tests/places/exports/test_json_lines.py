"""Any JSON by a mapping: ways, templates, times of every kind, and reasons for what cannot be read."""

import json

import pytest

from tarry.core.errors import BadInput
from tarry.places.exports.json_lines import read_json_lines
from tarry.readers.events import Event

TEN = 1_714_557_600_000_000  # 2024-05-01T10:00:00Z
PLAIN = {"actor": "who", "target": "what", "time": "when"}


@pytest.fixture
def read(tmp_path):
    """Write objects on lines and read them."""

    def read_rows(*rows, **mapping):
        path = tmp_path / "acts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return read_json_lines(path, **(PLAIN | mapping))

    return read_rows


def row(when, **more):
    """An object that the plain mapping fits."""
    return {"who": "ann", "what": "p", "when": when} | more


def test_ways_and_templates_lead_into_objects_and_lists(read):
    """Names, places in lists, and texts made of several of them."""
    found = {
        "user": {"login": "ann"},
        "repo": {"name": "o/r"},
        "number": 12,
        "labels": [{"name": "bug"}],
        "day": "2024-05-01",
        "hour": "10:00:00",
    }
    mapping = {
        "actor": "user.login",
        "target": "{repo.name}#{number}",
        "time": "{day}T{hour}Z",
        "track": "labels.0.name",
    }

    assert list(read(found, **mapping)) == [Event("ann", "o/r#12", TEN, "bug")]


def test_a_name_that_has_points_itself_goes_first(read):
    """Some exports are flat."""
    found = row("2024-05-01T10:00:00Z", **{"user.login": "bob", "user": {"login": "ann"}})

    assert [event.actor for event in read(found, actor="user.login")] == ["bob"]


def test_the_texts_of_a_template_stay_as_they_are(read):
    """Also those that would mean something elsewhere."""
    found = row("2024-05-01T10:00:00Z", n=7)

    assert [event.target for event in read(found, target="%s {what}%{n}\\1 100%")] == ["%s p%7\\1 100%"]


def test_numbers_are_names_too(read):
    """Also those that an export writes as floats."""
    assert [event.actor for event in read(row("2024-05-01T10:00:00Z", who=7.0))] == ["7"]


@pytest.mark.parametrize(
    ("when", "mapping", "notes"),
    [
        (1_714_557_600, {}, ("times read as seconds, by the size of the first",)),
        (1_714_557_600_000, {}, ("times read as milliseconds, by the size of the first",)),
        ("1714557600.0", {}, ("times read as seconds, by the size of the first",)),
        (1_714_557_600_000_000, {"time_unit": "us"}, ()),
        (1_714_557_600_000_000_000, {"time_unit": "ns"}, ()),
        ("2024-05-01T10:00:00Z", {}, ()),
        ("2024-05-01 12:00:00+02:00", {"time_unit": "iso"}, ()),
        ("2024-05-01T10:00:00", {"utc": True}, ("times without a zone are read as UTC",)),
    ],
)
def test_times_of_every_kind_are_read_and_what_was_guessed_is_said(read, when, mapping, notes):
    """The same moment, however it is written."""
    stream = read(row(when), **mapping)

    assert stream.notes == notes
    assert [event.time for event in stream] == [TEN]


PER = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.parametrize("unit", PER)
@pytest.mark.parametrize("first", PER)
def test_a_number_that_fits_another_unit_is_never_read_in_the_first_s(read, first, unit):
    """Files of mixed units would put acts into 1970: such rows are faults."""
    seconds = [1_714_557_600, 100_000_001, 7_000_000_000]
    stream = read(row(seconds[0] * PER[first]), *(row(second * PER[unit]) for second in seconds[1:]))

    assert [event.time // 10**6 for event in stream] == (seconds if first == unit else seconds[:1])
    assert stream.faults.count == (0 if first == unit else 2)


@pytest.mark.parametrize(
    ("found", "mapping", "reason"),
    [
        (row("2024-05-01T10:00:00Z", who=None), {}, "actor is missing: nothing at who"),
        (row("2024-05-01T10:00:00Z"), {"actor": "who.name"}, "actor is missing: nothing at who.name"),
        (
            row("2024-05-01T10:00:00Z", what=[1]),
            {"target": "what.1"},
            "target is missing: nothing at what.1",
        ),
        (row("2024-05-01T10:00:00Z", what=[1]), {}, "target is a list"),
        (row("2024-05-01T10:00:00Z", what={"a": 1}), {"target": "x{what}"}, "target is an object"),
        (row("2024-05-01T10:00:00Z", who=True), {}, "actor is true or false"),
        (row(None), {}, "time is missing: nothing at when"),
        (row("soon"), {}, "time is not a moment (a text of 4 characters)"),
        (row({"ann": 1}), {}, "time is not a moment"),
        (row(True), {}, "time is not a moment: True"),
        (row("2024-05-01T10:00:00"), {}, "time carries no zone: 2024-05-01T10:00:00"),
        (row("2024-05-01"), {}, "time is a day without a time of day: 2024-05-01"),
        (row(20240501), {}, "time is a day without a time of day: 20240501"),
        (row(1_714_557_600), {"time_unit": "iso"}, "time is not a moment: 1714557600"),
        (row(10**400), {"time_unit": "s"}, "time is outside the years 1900 to 2200"),
        ([7], {}, "not a JSON object"),
    ],
)
def test_what_is_no_event_is_counted_with_its_line(read, found, mapping, reason):
    """Whether it comes first or not."""
    sound = {"who": "bob", "what": "p", "when": "2024-05-01T10:00:00Z"}
    sound |= {"who": {"name": "bob"}} if mapping.get("actor") else {}
    sound |= {"what": [1, 2]} if mapping.get("target") == "what.1" else {}

    after, before = read(sound, found, **mapping), read(found, sound, **mapping)

    for stream, line in ((after, 2), (before, 1)):
        events = list(stream)
        assert len(events) == 1
        assert [str(fault) for fault in stream.faults.first] == [f"line {line}: {reason}"]


@pytest.mark.parametrize("way", ["", ".", "a.", "a..b", "{}", "{a", "a}", "{a}}", "{a.}", "{{a}}"])
def test_a_mapping_that_leads_nowhere_is_refused(read, way):
    """Before the file is opened."""
    with pytest.raises(BadInput, match=r"--target must be a way such as"):
        read(row(0), target=way)


def test_an_unknown_unit_is_refused(read):
    """With those there are."""
    with pytest.raises(BadInput, match="unknown --time-unit 'min': use s, ms, us, ns, iso"):
        read(row(0), time_unit="min")


def test_a_file_that_the_mapping_does_not_fit_is_refused(read):
    """With the first reason, so that a person sees which name is wrong."""
    with pytest.raises(BadInput, match=r"has none among 2: the first fault is in line 1: actor is missing"):
        list(read({"what": "p"}, {"what": "q"}))


def test_an_array_is_read_like_lines(tmp_path):
    """Damage in it is told with its line."""
    path = tmp_path / "acts.json"
    path.write_text(json.dumps([row("2024-05-01T10:00:00Z")] * 2, indent=1))
    assert len(list(read_json_lines(path, **PLAIN))) == 2

    path.write_text(path.read_text().replace('"p"', '"p', 1))
    with pytest.raises(BadInput, match=r"the export acts\.json must be JSON, and has damage in line 4"):
        list(read_json_lines(path, **PLAIN))


def test_a_file_that_is_not_there_is_refused_at_once(tmp_path):
    """Nobody waits for it."""
    with pytest.raises(BadInput, match=r"the export none\.jsonl cannot be read \(no such file\)"):
        read_json_lines(tmp_path / "none.jsonl", **PLAIN)
