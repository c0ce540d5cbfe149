"""Owners: names of one person are one actor, and a mapping that is not whole is none."""

import csv
from collections import Counter
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Owners, Stream, read_owners
from tarry.readers.faults import Faults

# What a person writes in a cell: the ends of a name are no part of it.
NAMES = some.text(some.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda name: name == name.strip()
)


def file_of(folder, content):
    """A file of owners with this in it."""
    path = folder / "owners.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@given(some.dictionaries(NAMES, NAMES, min_size=1, max_size=8))
def test_any_names_are_read_as_they_were_written(tmp_path_factory, owners):
    """With commas, quotes and line ends in them."""
    text = StringIO()
    csv.writer(text).writerows([("name", "owner"), *owners.items()])

    assert read_owners(file_of(tmp_path_factory.mktemp("owners"), text.getvalue())).by_name == owners


@given(
    some.dictionaries(some.sampled_from("abcd"), some.sampled_from("aX"), min_size=1),
    some.lists(some.builds(Event, some.sampled_from("abcd"), some.just("p"), some.integers(0, 9))),
)
def test_each_event_is_by_the_owner_of_its_name_and_otherwise_the_same(mapping, events):
    """Once: an owner who is called like a name is not looked up again."""
    owners, faults = Owners(mapping), Faults()
    stream = Stream(iter(events), faults, ("a note",), lambda: 0.5)

    named = owners.named(stream)

    assert list(named) == [event._replace(actor=mapping.get(event.actor, event.actor)) for event in events]
    assert owners.events == sum(event.actor in mapping for event in events)
    assert (named.faults, named.notes, named.share) == (faults, stream.notes, stream.share)


def test_events_are_named_one_by_one():
    """Nothing is taken before it is asked for: a stream may be without end."""
    taken = Counter()

    def endless():
        while True:
            taken["events"] += 1
            yield Event("a", "p", taken["events"])

    events = iter(Owners({"a": "ann"}).named(Stream(endless(), Faults())))

    assert [next(events).actor for _ in range(3)] == ["ann"] * 3
    assert taken["events"] == 3


@pytest.mark.parametrize(
    "content",
    [
        "name,owner\nAnn,ann\nAnnie,ann\n",
        "\ufeffName, Owner\r\nAnn, ann\r\n\r\nAnnie ,ann",
        "owner,name\nann,Ann\nann,Annie\nann,Annie\n",
    ],
)
def test_a_file_may_be_written_as_people_write_it(tmp_path, content):
    """Columns in either order, blank lines, spaces at the ends, a pair twice, a mark of Windows."""
    assert read_owners(file_of(tmp_path, content)).by_name == {"Ann": "ann", "Annie": "ann"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "does not begin with the line name,owner: write name,owner"),
        ("Ann,ann\n", "does not begin with the line name,owner"),
        ("name,owner,more\n", "does not begin with the line name,owner"),
        ("name,owner\n", "names nobody: write"),
        ("name,owner\nAnn,ann\n\nAnnie\n", "line 4 has no such pair"),
        ("name,owner\nAnn,\n", "line 2 has no such pair"),
        ("name,owner\nAnn,ann,annie\n", "line 2 has no such pair"),
        ("name,owner\nAnn,ann\nAnn,bob\n", "line 3 gives a name a second owner"),
        ('name,owner\n"Ann,ann\n', "line 2 has a quote that does not end"),
        (f"name,owner\n{'x' * 200_000},ann\n", "line 2 has a quote that does not end, or too long"),
        (b"name,owner\nAnn,\xff\n", "is not UTF-8 text: convert"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_with_its_line(tmp_path, content, told):
    """Half a mapping would split people without a word; the sentence shows no name."""
    with pytest.raises(BadInput, match=told) as caught:
        read_owners(file_of(tmp_path, content))
    assert "Ann" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """As is a folder."""
    with pytest.raises(BadInput, match=r"the file of owners none\.csv cannot be read"):
        read_owners(tmp_path / "none.csv")
    with pytest.raises(BadInput, match=r"cannot be read \(Is a directory\)"):
        read_owners(tmp_path)
