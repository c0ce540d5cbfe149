"""Where bytes come from: every packing, pipes, and several files that are read as one."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import sys
import tracemalloc
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.kinds import small, stored_zstd, write, zstd_of_runs
from tarry.core.errors import BadInput
from tarry.places.exports.json_lines import read_json_lines
from tarry.places.mediawiki.reader import read_wiki_dump
from tarry.readers import sources
from tarry.readers.faults import PATIENCE
from tarry.readers.files import read_history
from tarry.readers.sources import BLOCK, HEAD, Illegible, Packed, Pieces, TextFile, text_of

TEXT = random.Random(7).randbytes(3 * BLOCK + 17)
HALVES = TEXT[: len(TEXT) // 2], TEXT[len(TEXT) // 2 :]
PACKINGS = {
    "plain": TEXT,
    "gzip": gzip.compress(TEXT, 1),
    "bzip2": bz2.compress(TEXT, 1),
    "xz": lzma.compress(TEXT, preset=0),
    "gzip in two parts": b"".join(gzip.compress(half, 1) for half in HALVES),
    "bzip2 in two streams, as Wikimedia packs": b"".join(bz2.compress(half, 1) for half in HALVES),
}
SMALL = {
    "gzip": gzip.compress(b"ann," * 40),
    "bzip2": bz2.compress(b"ann," * 40),
    "xz": lzma.compress(b"a"),
}


def put(folder, content, name="dump.xml"):
    (folder / name).write_bytes(content)
    return folder / name


def refusal(path):
    """The sentence with which a file is refused, at once or when it is read."""
    with pytest.raises(BadInput) as caught:
        list(Packed(path, "the dump").blocks())
    return str(caught.value)


@pytest.mark.parametrize("name", PACKINGS)
def test_every_packing_gives_the_same_bytes(name, tmp_path):
    """Whatever the file is called, in blocks of a bounded size."""
    blocks = list(Packed(put(tmp_path, PACKINGS[name]), "the dump").blocks())

    assert b"".join(blocks) == TEXT
    assert max(map(len, blocks)) <= BLOCK


@pytest.mark.parametrize("name", PACKINGS)
def test_the_share_that_was_read_grows_to_all_of_it(name, tmp_path):
    """Counted in packed bytes, so that it is known before the file has been unpacked."""
    source = Packed(put(tmp_path, PACKINGS[name]), "the dump")
    shares = [source.taken / source.size for _ in source.blocks()]

    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] == 1


@given(content=st.binary(min_size=1, max_size=40).filter(lambda found: found[0] not in b"\x1fB\xfd\x287P"))
def test_bytes_that_are_not_packed_come_back_as_they_are(content, tmp_path_factory):
    """Also those that are no text at all."""
    path = put(tmp_path_factory.mktemp("plain"), content)

    assert b"".join(Packed(path).blocks()) == content


@pytest.mark.parametrize("packing", SMALL)
def test_a_file_that_was_cut_off_is_refused(packing, tmp_path):
    """Wherever behind its first bytes the end comes."""
    for end in range(8, len(SMALL[packing])):
        told = refusal(put(tmp_path, SMALL[packing][:end]))

        assert told == (
            f"the dump dump.xml must be whole {packing} data, and ends too early: copy it again, to its end"
        )


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz"])
def test_damage_inside_is_refused(packing, tmp_path):
    """A byte that has changed on the way."""
    middle = len(PACKINGS[packing]) // 2
    changed = PACKINGS[packing][middle] ^ 0xFF
    content = PACKINGS[packing][:middle] + bytes([changed]) + PACKINGS[packing][middle + 1 :]

    assert refusal(put(tmp_path, content)).startswith(
        f"the dump dump.xml must be whole {packing} data, and "
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"7z\xbc\xaf\x27\x1c\0\4",
            "a 7z archive: unpack it first, or pipe it: 7z x -so FILE.7z | tarry read",
        ),
        (b"PK\x03\x04", "a zip archive: unpack it first, or pipe it: unzip -p FILE.zip | tarry read"),
        (b"", "is empty: give one with something in it"),
    ],
)
def test_what_cannot_be_read_from_the_front_is_refused(content, told, tmp_path):
    """With what to do instead."""
    assert told in refusal(put(tmp_path, content))


def test_a_file_that_cannot_be_opened_is_refused_before_it_is_read(tmp_path):
    """Nobody waits for an output that never comes."""
    for path, found in [
        (tmp_path / "nothing.xml", "no such file"),
        (tmp_path, "it is a directory"),
        ("a\0b", "no file can have such a name"),
    ]:
        with pytest.raises(BadInput, match=rf"cannot be read \({found}\)"):
            Packed(path, "the dump")


@pytest.mark.parametrize("content", [b"ann", gzip.compress(b"ann")], ids=["plain", "gzip"])
def test_a_pipe_is_read_like_a_file(content):
    """It cannot be opened twice, and nobody knows how long it will be."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    source = Packed(f"/dev/fd/{reading}")

    assert b"".join(source.blocks()) == b"ann"
    assert source.size == 0
    os.close(reading)


class Drops(io.RawIOBase):
    """A pipe from which one byte comes at a time."""

    def __init__(self, content):
        self._left = io.BytesIO(content)

    def readable(self):
        return True

    def readinto(self, buffer):
        drop = self._left.read(1)
        buffer[: len(drop)] = drop
        return len(drop)


@pytest.mark.parametrize("packing", SMALL)
def test_standard_input_is_read_however_slowly_it_comes(packing, monkeypatch):
    """Its packing is known by its first bytes, and it is left open."""
    buffer = Drops(SMALL[packing])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    source = Packed("-", "the dump")

    assert b"".join(source.blocks()) in {b"ann," * 40, b"a"}
    assert (source.what, source.size, buffer.closed) == ("standard input", 0, False)


def test_zstd_is_read_where_a_library_is_at_hand(tmp_path, monkeypatch):
    """Python's own, or the same for older ones; without one the sentence says what to do."""
    path = put(tmp_path, b"\x28\xb5\x2f\xfdann")
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)

    assert (
        "and no library for it is installed: pip install backports.zstd, or pipe it: zstd -dc FILE.zst"
        in refusal(path)
    )

    library = SimpleNamespace(ZstdFile=lambda file: io.BytesIO(file.read()[4:]))
    monkeypatch.setitem(sys.modules, "backports", SimpleNamespace(zstd=library))
    monkeypatch.setitem(sys.modules, "backports.zstd", library)
    assert list(Packed(path).blocks()) == [b"ann"]


def test_a_disk_that_fails_is_said_in_its_own_words(tmp_path, monkeypatch):
    """That is no damage of the file."""
    source = Packed(put(tmp_path, b"ann"), "the dump")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("tarry.readers.sources._Counted.readinto", fail)
    with pytest.raises(
        BadInput, match="must be readable to its end, and has an error \\(Input/output error\\)"
    ):
        list(source.blocks())


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

    with pytest.raises(BadInput, match="one file of the export in 2 files is given twice"):
        Pieces([path, tmp_path / "other"], "the export")


def test_a_file_that_is_missing_is_told_before_the_first_is_read(tmp_path):
    """Not hours later."""
    path = written(tmp_path / "acts.jsonl", [{}])

    with pytest.raises(BadInput, match=r"the export none cannot be read"):
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


LINES = [b"actor,target,time\n", b"\n", b"a,b,1\n", "ç,d,2\n".encode()]


def text_file(folder, content):
    (folder / "a").write_bytes(content)
    return TextFile(path=folder / "a", what="the history")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, stored_zstd])
def test_a_file_is_the_same_lines_packed_or_not(pack, tmp_path):
    """Blank lines are lines; the head is the beginning of it all."""
    text = text_file(tmp_path, pack(b"".join(LINES)))

    assert list(text.lines()) == LINES
    assert text.head() == b"".join(LINES)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, stored_zstd])
def test_lines_that_are_no_text_are_told_from_the_others(pack, tmp_path):
    """One bad byte costs one line, also where the unpacking insists on text."""
    text = text_file(tmp_path, pack(b"good\n\nb\xe9d\n\xff\ngood\n"))

    found = [legible(line) for line in text.lines()]

    assert found == [True, True, False, False, True]


def test_a_line_without_end_is_not_held_in_memory(tmp_path, monkeypatch):
    """Of a line that is too long the beginning is kept, and it counts as one line."""
    monkeypatch.setattr(sources, "_LONGEST", 10)
    text = text_file(tmp_path, b"short\n" + b"x" * 35 + b"\n" + b"y" * 9 + b"\nlast")

    found = list(text.lines())

    assert found == [b"short\n", b"x" * 10, b"y" * 9 + b"\n", b"last"]
    assert [legible(line) for line in found] == [True, False, False, True]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_head_of_a_large_file_is_small(pack, tmp_path):
    """However large the file is."""
    assert len(text_file(tmp_path, pack(b"x" * (3 * HEAD))).head()) == HEAD


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"a\n" * 99)[:-4], b"\x1f\x8bno", stored_zstd(b"a\n")[:-1]],
    ids=["cut gzip", "no gzip", "cut zstd"],  # not the bytes: gzip writes the time of day into them
)
def test_a_packing_that_is_cut_or_damaged_is_refused(content, tmp_path):
    """Nothing behind the damage can be trusted."""
    with pytest.raises(
        BadInput, match=r"the history must be whole (gzip|zstd) data, and has damage inside or ends"
    ):
        list(text_file(tmp_path, content).lines())


def legible(line):
    """Whether a line is text."""
    try:
        text_of(line)
    except Illegible:
        return False
    return True


@pytest.mark.parametrize("name", ["a.csv.zst", "a.tsv.zst", "a.jsonl.zst"])
def test_the_beginning_of_a_small_file_is_all_of_it(name, tmp_path):
    """As another program packed it, with a checksum or without, in one block or in several."""
    path = write(tmp_path, name)
    whole = "".join(f"{line}\n" for line in pl.read_lines(path)["line"])

    assert TextFile(path=path, what="it").head().decode() == whole


def test_the_beginning_of_a_large_file_is_the_beginning_of_its_text(tmp_path):
    """Real blocks, which look back into those before them."""
    path = tmp_path / "a.csv.zst"
    large = pl.concat([small()] * 100_000).with_row_index().with_columns(pl.col("index").hash(1))
    large.lazy().sink_csv(path, compression="zstd")
    head = TextFile(path=path, what="it").head()

    assert len(head) == HEAD
    assert large.head(20_000).write_csv().encode().startswith(head)


def test_files_that_were_joined_are_one(tmp_path):
    """A first part that is empty is no empty file."""
    text = text_file(tmp_path, stored_zstd(b"") + stored_zstd(b"a\n") + stored_zstd(b"b\n"))

    assert text.head() == b"a\nb\n"


@pytest.mark.parametrize("name", ["a.csv.zst", "a.jsonl.zst", "a.zst"])
def test_a_line_of_gigabytes_is_refused_by_its_beginning(name, tmp_path):
    """A hundred kilobytes that unpack to three gigabytes: nothing unpacks them."""
    path = tmp_path / name
    path.write_bytes(zstd_of_runs(3000, stated=False))

    with pytest.raises(BadInput, match=r"the first line of the history a.*\.zst has no end"):
        read_history(path)


def test_a_file_that_states_to_be_far_too_large_is_refused(tmp_path):
    """However it begins."""
    text = text_file(tmp_path, zstd_of_runs(3000, stated=True, text=b"actor,target,time\n"))

    with pytest.raises(
        BadInput, match=r"unpacks to at most 200 times its size, not \d+ times: unpack it first"
    ):
        text.head()


@pytest.mark.parametrize("stated", [True, False])
def test_a_file_that_packs_well_is_no_bomb(stated, tmp_path):
    """What unpacks to less than a gigabyte may be as repetitive as it likes."""
    text = text_file(tmp_path, zstd_of_runs(30, stated=stated, text=b"actor,target,time\n"))
    if stated:  # the size that it states is that of the letters alone
        (tmp_path / "a").write_bytes(zstd_of_runs(30, stated=True))

    assert len(text.head()) == HEAD


def test_what_a_file_does_not_state_is_nothing(tmp_path):
    """Also where there is no file to speak of."""
    assert len(text_file(tmp_path, zstd_of_runs(1, stated=False)).head()) == HEAD
    assert text_file(tmp_path, b"\x28\xb5").head() == b"\x28\xb5"
