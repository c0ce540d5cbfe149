"""Files of events: read back exactly by the study's own reader, whole or not at all, over nothing else."""

import gzip
import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.event_files import ENDINGS, MANY, Written, check_output, write_events
from tarry.readers.events import Event
from tarry.readers.files import read_history

FIRST, END = -2_208_988_800_000_000, 7_289_654_400_000_000  # the years 1900 to 2200
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
EVENT = st.builds(Event, NAME, NAME, st.integers(FIRST, END - 1), NAME | st.just(""), st.booleans())
SOME = [
    Event("Änne", 'p "1", 2', 1_714_557_600_000_000, "0"),
    Event("007", "line\nbreak", 1_714_557_600_000_001, "", is_bot=True),
]


def columns_of(path):
    """What the study finds in a file."""
    found = read_history(path)
    frame = found.frame
    rows = zip(
        frame["actor"].to_list(),
        frame["target"].to_list(),
        found.arrival.tolist(),
        frame["track"].fill_null("").to_list(),
        [str(said).lower() == "true" for said in frame["is_bot"]],
        strict=True,
    )
    return [Event(*row) for row in rows], found


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=25)
@given(events=st.lists(EVENT, min_size=1, max_size=5))
def test_what_was_written_is_read_back(ending, events):
    """Any name, any microsecond of these years, without a word about how to read it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"events{ending}"
        write_events(events, path)
        read, found = columns_of(path)

    assert read == events
    assert found.unreadable_count == 0
    assert [note for note in found.notes if "whole days" not in note] == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_who_is_a_bot_is_left_out_where_nobody_knows(ending, tmp_path):
    """A column that says no to everybody would keep names from being asked."""
    path = tmp_path / f"events{ending}"
    write_events(SOME, path, bots=False)

    assert read_history(path).frame.columns == ["actor", "target", "time", "track"]


@given(events=st.lists(EVENT, max_size=9))
def test_the_account_is_that_of_the_events(events):
    """How many, of how many people, and between which moments."""
    told = Written()

    assert list(told.counting(events)) == events
    times = [event.time for event in events]
    assert (told.events, told.actors) == (len(events), len({event.actor for event in events}))
    assert (told.first, told.last) == (min(times, default=None), max(times, default=None))


def test_more_actors_than_are_counted_are_not_kept():
    """Names of all the people of a large wiki would fill the memory."""
    told = Written()
    for _ in told.counting(Event(str(n), "p", 0) for n in range(MANY + 2000)):
        pass

    assert (told.actors, told.events, len(told._names)) == (None, MANY + 2000, MANY + 1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_of_a_failure(ending, tmp_path):
    """Neither a file nor the draft of one; and the error is the one that was raised."""

    def damaged():
        yield from SOME * 11_000
        raise BadInput("the dump is only half of it", "copy it again")

    with pytest.raises(BadInput, match="the dump is only half of it: copy it again"):
        write_events(damaged(), tmp_path / f"events{ending}")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_seen_before_all_is_there(ending, tmp_path):
    """While events pass, there is no file of that name."""
    path = tmp_path / f"events{ending}"

    def looking():
        for event in SOME:
            assert not path.exists()
            yield event

    write_events(looking(), path)

    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_draft_is_private_and_the_file_is_as_others_are(ending, mask, tmp_path):
    """Half an export is nobody else's to read; the whole one has the rights of every new file."""
    path, rights = tmp_path / f"events{ending}", []

    def looking():
        for event in SOME:
            rights.extend(file.stat().st_mode & 0o777 for file in tmp_path.iterdir())
            yield event

    old = os.umask(mask)
    try:
        write_events(looking(), path)
        assert os.umask(mask) == mask
    finally:
        os.umask(old)

    assert rights
    assert not any(each & 0o077 for each in rights)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_table_that_cannot_be_written_ends_the_reading(tmp_path, monkeypatch):
    """Nobody reads for hours into nothing."""
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield Event("a", "b", 0)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(OSError, match="No space left"):
        write_events(endless(), tmp_path / "events.parquet")

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(tmp_path):
    """Unless that is said; then it is replaced at the end, and a failure leaves it as it was."""
    path = tmp_path / "events.csv"
    path.write_text("mine")

    with pytest.raises(BadInput, match=r"already exists: choose another name, or give --force"):
        write_events(SOME, path)
    with pytest.raises(ZeroDivisionError):
        write_events((Event("a", "b", 1 // n) for n in (1, 0)), path, force=True)
    assert path.read_text() == "mine"

    write_events(SOME, path, force=True)
    assert len(read_history(path)) == 2


def test_a_file_that_appears_in_between_stays(tmp_path):
    """Somebody else was faster."""
    path = tmp_path / "events.csv"

    def slow():
        yield from SOME
        path.write_text("theirs")

    with pytest.raises(BadInput, match="already exists"):
        write_events(slow(), path)

    assert (path.read_text(), list(tmp_path.iterdir())) == ("theirs", [path])


@pytest.mark.parametrize("there", [False, True])
def test_a_file_system_without_second_names_is_written_to_as_well(there, tmp_path, monkeypatch):
    """A stick for cameras, for example."""
    path = tmp_path / "events.csv"

    def link(*_):
        if there:
            path.write_text("theirs")
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    if there:
        with pytest.raises(BadInput, match="already exists"):
            write_events(SOME, path)
    else:
        write_events(SOME, path)

    assert len(list(tmp_path.iterdir())) == 1
    assert (path.read_text() == "theirs") == there


def test_an_output_that_cannot_be_is_refused_at_once(tmp_path):
    """Before anything long begins."""
    (tmp_path / "folder.csv").mkdir()
    for name, told in {
        "events.xlsx": r"must end in \.csv, \.csv\.gz, \.jsonl, \.jsonl\.gz or \.parquet",
        "events.parquet.gz": "must end in",
        "no/events.csv": "the folder '.*no' of the output file does not exist: make it first",
        "folder.csv": "is a directory: choose another name$",
    }.items():
        with pytest.raises(BadInput, match=told):
            check_output(tmp_path / name, force=name == "folder.csv")


def test_a_packed_file_tells_neither_its_name_nor_when_it_was_made(tmp_path):
    """Two of the same events are the same bytes."""
    for name in ("a.csv.gz", "b.csv.gz"):
        write_events(SOME, tmp_path / name)

    content = (tmp_path / "a.csv.gz").read_bytes()
    assert content == (tmp_path / "b.csv.gz").read_bytes()
    assert content[3:8] == b"\0\0\0\0\0"  # no name follows, and no time
    assert gzip.decompress(content).startswith(b"actor,target,time,track,is_bot\n")


def test_half_of_a_pair_of_surrogates_is_written_as_its_number(tmp_path):
    """JSON can name what no UTF-8 file can hold."""
    event = Event(json.loads('"a\\ud800"'), "p", 1_714_557_600_000_000)
    for ending in ENDINGS:
        write_events([event], tmp_path / f"events{ending}")

        assert read_history(tmp_path / f"events{ending}").frame["actor"].to_list() == ["a\\ud800"]


def test_a_table_is_written_in_groups_and_says_its_unit(tmp_path):
    """So that neither the writer nor a reader needs all rows at once."""
    write_events((Event(str(n % 7), "p", n) for n in range(50_000)), tmp_path / "events.parquet")

    assert pl.read_parquet_metadata(tmp_path / "events.parquet")["time_unit"] == "us"
    assert pl.read_parquet(tmp_path / "events.parquet")["time"].to_list() == list(range(50_000))


def test_without_a_table_library_texts_are_written_all_the_same(tmp_path, monkeypatch):
    """A plain install reads exports; only a table needs more, and says so."""
    code = (
        "import sys; sys.modules['polars'] = sys.modules['numpy'] = None\n"
        "from tarry.readers.event_files import write_events\n"
        "from tarry.places.mediawiki.reader import read_wiki_dump\n"
        "write_events(read_wiki_dump(sys.argv[1]), sys.argv[2])"
    )
    dump = tmp_path / "stub.xml"
    dump.write_text(
        "<mediawiki><page><title>p</title><revision><timestamp>2024-05-01T10:00:00Z</timestamp>"
        "<contributor><username>ann</username></contributor></revision></page></mediawiki>"
    )
    subprocess.run([sys.executable, "-c", code, dump, tmp_path / "a.csv"], check=True)
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == "ann,p,2024-05-01T10:00:00Z,,false"

    monkeypatch.setattr("tarry.readers.event_files.find_spec", lambda name: None)
    with pytest.raises(NotPossible, match=r"a \.parquet file needs the study extra"):
        check_output(tmp_path / "a.parquet")
