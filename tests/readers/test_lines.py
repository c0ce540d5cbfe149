"""Lines of a file, packed or not, in bounded pieces."""

import gzip

import polars as pl
import pytest

from readers.kinds import small, stored_zstd, write, zstd_of_runs
from tarry.core.errors import BadInput
from tarry.readers import lines
from tarry.readers.files import read_history
from tarry.readers.lines import HEAD, Illegible, TextFile, text_of

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
    monkeypatch.setattr(lines, "_LONGEST", 10)
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
