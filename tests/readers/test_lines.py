"""Lines of a file, packed or not, in bounded pieces."""

import gzip

import pytest

from readers.kinds import stored_zstd
from tarry.core.errors import BadInput
from tarry.readers import lines
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
        BadInput, match=r"the history must be whole (gzip|zstd) data, found damage inside or an end"
    ):
        list(text_file(tmp_path, content).lines())


def legible(line):
    """Whether a line is text."""
    try:
        text_of(line)
    except Illegible:
        return False
    return True
