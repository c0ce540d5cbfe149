"""Several files are read as one: the same events, faults with their file, one open at a time."""

import gzip
import json
import os
import tracemalloc
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.places.json_lines.reader import read_json_lines
from tarry.places.mediawiki.dump import read_wiki_dump
from tarry.readers.faults import PATIENCE
from tarry.readers.pieces import Pieces

ROW = st.one_of(
    st.builds(
        lambda who, at: {"a": who, "t": "p", "s": at}, st.sampled_from("xyz"), st.integers(10**9, 2**30)
    ),
    st.just({"a": "x"}),
)


def read(paths):
    """The events and the faults of lines of JSON."""
    stream = read_json_lines(paths, actor="a", target="t", time="s", time_unit="s")
    return list(stream), stream.faults


def written(path, rows):
    """Rows on lines, packed where the name says so."""
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@given(pieces=st.lists(st.lists(ROW, min_size=1, max_size=5), min_size=2, max_size=4), good=ROW)
def test_pieces_tell_what_the_whole_tells(pieces, good):
    """Wherever it was cut; a piece may have nothing but faults."""
    pieces[0][:0] = [{"a": "x", "t": "p", "s": 10**9}, good]
    with TemporaryDirectory() as folder:
        paths = [
            written(Path(folder) / f"{number}.jsonl{'.gz' * (number % 2)}", rows)
            for number, rows in enumerate(pieces)
        ]
        whole, all_faults = read(written(Path(folder) / "whole", [row for rows in pieces for row in rows]))
        events, faults = read(paths)

    assert events == whole
    assert faults.count == all_faults.count
    bad = [
        (path.name, line, "target is missing: nothing at t")
        for path, rows in zip(paths, pieces, strict=True)
        for line, row in enumerate(rows, 1)
        if "t" not in row
    ]
    assert [(fault.file, fault.line, fault.reason) for fault in faults.first] == bad[:20]


def test_the_unit_of_times_is_that_of_the_first_file(tmp_path):
    """Half an export in seconds and half in milliseconds is no export."""
    paths = [
        written(tmp_path / f"{at}.jsonl", [{"a": "x", "t": "p", "s": at}]) for at in (10**9, 10**9 * 1000)
    ]
    stream = read_json_lines(paths, actor="a", target="t", time="s")

    assert len(list(stream)) == 1
    assert str(stream.faults.first[0]).startswith("line 1 of 1000000000000.jsonl: time is of another unit")


def test_two_files_of_one_name_are_told_apart(tmp_path):
    """By the way to them."""
    paths = [tmp_path / name / "acts.jsonl" for name in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        written(path, [{"a": "x", "t": "p", "s": 10**9}, {}])

    assert [fault.file for fault in read(paths)[1].first] == [str(path) for path in paths]


def test_one_file_in_two_ways_is_one(tmp_path):
    """Its events would count twice."""
    path = written(tmp_path / "acts.jsonl", [{}])
    (tmp_path / "other").symlink_to(path)

    with pytest.raises(BadInput, match="the export in 2 files must be different files, found one of them"):
        Pieces([path, tmp_path / "other"], "the export")


def test_a_file_that_is_missing_is_told_before_the_first_is_read(tmp_path):
    """Not hours later."""
    path = written(tmp_path / "acts.jsonl", [{}])

    with pytest.raises(BadInput, match=r"the export none must be a file that can be read"):
        Pieces([path, tmp_path / "none"], "the export")


def test_faults_of_one_file_do_not_make_the_next_one_rubbish(tmp_path):
    """A file may have many rows that are none, if there are others."""
    row = "<revision><timestamp>{}</timestamp><contributor><username>x</username></contributor></revision>"
    good, bad = row.format("2024-05-01T10:00:00Z"), row.format("")
    text = "<mediawiki><page><title>p</title>{}</page></mediawiki>"
    paths = [tmp_path / "1.xml", tmp_path / "2.xml"]
    paths[0].write_text(text.format(good + bad * PATIENCE))
    paths[1].write_text(text.format(bad + " " * 600_000 + good))
    stream = read_wiki_dump(paths)

    assert (len(list(stream)), stream.faults.count) == (2, PATIENCE + 1)


def test_how_much_was_read_is_told_over_all(tmp_path):
    """By bytes, and by nobody where one is a pipe."""
    small = written(tmp_path / "1", [{"a": "x", "t": "p", "s": 10**9}])
    large = written(tmp_path / "2", [{"a": "x", "t": "p", "s": 10**9}] * 9)
    pieces = Pieces([small, large], "the export")
    shares = []
    for source in pieces:
        list(source.blocks())
        shares.append(pieces.share())

    assert shares == [0.1, 1.0]
    os.mkfifo(tmp_path / "3")
    assert Pieces([small, tmp_path / "3"], "the export").share() is None


def peak(folder, count):
    """The most memory that reading this many files takes, and the most files that were open."""
    rows = [{"a": "x", "t": "p" * 1000, "s": 10**9}] * 500
    paths = [written(folder / f"{count}-{number}", rows) for number in range(count)]
    tracemalloc.start()
    try:
        stream = read_json_lines(paths, actor="a", target="t", time="s")
        looks = islice(stream, 0, None, 100)
        open_files = max(len(list(Path("/proc/self/fd").iterdir())) for _ in looks)
        return tracemalloc.get_traced_memory()[1], open_files
    finally:
        tracemalloc.stop()


def test_ten_times_the_files_take_no_more_memory(tmp_path):
    """Only one is open at a time."""
    peak(tmp_path, 1)
    (little, few), (much, many) = peak(tmp_path, 2), peak(tmp_path, 20)

    assert much < little * 1.5
    assert many <= few
