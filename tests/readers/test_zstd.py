"""The beginning of a zstd file is small, and a zstd file itself."""

from io import BytesIO

import polars as pl
import pytest

from readers.kinds import small, stored_zstd, write, zstd_of_runs
from tarry.core.errors import BadInput
from tarry.readers.files import read_history
from tarry.readers.lines import HEAD, TextFile
from tarry.readers.zstd import beginning, stated_size


def text_file(folder, content):
    (folder / "a").write_bytes(content)
    return TextFile(path=folder / "a", what="the history")


@pytest.mark.parametrize("name", ["a.csv.zst", "a.tsv.zst", "a.jsonl.zst"])
def test_the_beginning_of_a_small_file_is_all_of_it(name, tmp_path):
    """As another program packed it, with a checksum or without, in one block or in several."""
    path = write(tmp_path, name)

    assert pl.read_lines(BytesIO(beginning(path))).equals(pl.read_lines(path))


def test_the_beginning_of_a_large_file_is_the_beginning_of_its_text(tmp_path):
    """Real blocks, which look back into those before them."""
    path = tmp_path / "a.csv.zst"
    large = pl.concat([small()] * 100_000).with_row_index().with_columns(pl.col("index").hash(1))
    large.lazy().sink_csv(path, compression="zstd")
    head = TextFile(path=path, what="it").head()

    assert len(beginning(path)) < path.stat().st_size / 2
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

    with pytest.raises(BadInput, match="found no end of its first line"):
        read_history(path)


def test_a_file_that_states_to_be_far_too_large_is_refused(tmp_path):
    """However it begins."""
    text = text_file(tmp_path, zstd_of_runs(3000, stated=True, text=b"actor,target,time\n"))

    assert stated_size(text.path) == 3000 << 20
    with pytest.raises(BadInput, match=r"must not unpack to more than 200 times .* unpack it first"):
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
    assert stated_size(text_file(tmp_path, zstd_of_runs(1, stated=False)).path) == 0
    assert stated_size(text_file(tmp_path, b"\x28\xb5").path) == 0
    assert beginning(text_file(tmp_path, b"\x28\xb5").path) == b""
