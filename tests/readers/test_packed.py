"""Files and pipes as blocks of bytes: every packing, and one sentence for what is no such file."""

import bz2
import gzip
import io
import lzma
import os
import random
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.readers.packed import BLOCK, Packed

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
    shares = [source.share() for _ in source.blocks()]

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
            f"the dump dump.xml must be whole {packing} data, "
            "found an end that comes too early: was it copied to the end?"
        )


@pytest.mark.parametrize("packing", ["gzip", "bzip2", "xz"])
def test_damage_inside_is_refused(packing, tmp_path):
    """A byte that has changed on the way."""
    middle = len(PACKINGS[packing]) // 2
    changed = PACKINGS[packing][middle] ^ 0xFF
    content = PACKINGS[packing][:middle] + bytes([changed]) + PACKINGS[packing][middle + 1 :]

    assert refusal(put(tmp_path, content)).startswith(
        f"the dump dump.xml must be whole {packing} data, found "
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"7z\xbc\xaf\x27\x1c\0\4",
            "a 7z archive: unpack it first, or pipe it: 7z x -so FILE.7z | tarry read",
        ),
        (b"PK\x03\x04", "a zip archive: unpack it first, or pipe it: unzip -p FILE.zip | tarry read"),
        (b"", "must have something in it, found nothing"),
    ],
)
def test_what_cannot_be_read_from_the_front_is_refused(content, told, tmp_path):
    """With what to do instead."""
    assert told in refusal(put(tmp_path, content))


def test_a_file_that_cannot_be_opened_is_refused_before_it_is_read(tmp_path):
    """Nobody waits for an output that never comes."""
    for path, found in [
        (tmp_path / "nothing.xml", "no such file"),
        (tmp_path, "a directory"),
        ("a\0b", "a name that no file can have"),
    ]:
        with pytest.raises(BadInput, match=f"must be a file that can be read, found {found}"):
            Packed(path, "the dump")


@pytest.mark.parametrize("content", [b"ann", gzip.compress(b"ann")], ids=["plain", "gzip"])
def test_a_pipe_is_read_like_a_file(content):
    """It cannot be opened twice, and nobody knows how long it will be."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    source = Packed(f"/dev/fd/{reading}")

    assert b"".join(source.blocks()) == b"ann"
    assert source.share() is None
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
    assert (source.what, source.share(), buffer.closed) == ("standard input", None, False)


def test_zstd_is_read_where_a_library_is_at_hand(tmp_path, monkeypatch):
    """Python's own, or the same for older ones; without one the sentence says what to do."""
    path = put(tmp_path, b"\x28\xb5\x2f\xfdann")
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)

    assert "found zstd data: pip install backports.zstd, or pipe it: zstd -dc FILE.zst" in refusal(path)

    library = SimpleNamespace(ZstdFile=lambda file: io.BytesIO(file.read()[4:]))
    monkeypatch.setitem(sys.modules, "backports", SimpleNamespace(zstd=library))
    monkeypatch.setitem(sys.modules, "backports.zstd", library)
    assert list(Packed(path).blocks()) == [b"ann"]


def test_a_disk_that_fails_is_said_in_its_own_words(tmp_path, monkeypatch):
    """That is no damage of the file."""
    source = Packed(put(tmp_path, b"ann"), "the dump")

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("tarry.readers.packed._Counted.readinto", fail)
    with pytest.raises(BadInput, match="must be readable to its end, found Input/output error"):
        list(source.blocks())
