"""The key file: private, made once, read raw or in hex."""

import os

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.database import make_key, read_key
from tarry.keep.keys import Keys

KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "key"


def write(path, content, rights=0o600):
    path.write_bytes(content)
    path.chmod(rights)


def same(left, right):
    return left.actor("ann") == right.actor("ann")


@pytest.mark.parametrize(
    "content", [KEY, KEY.hex().encode(), KEY.hex().upper().encode(), f"{KEY.hex()}\n".encode()]
)
def test_a_key_is_read_raw_or_in_hex(path, content):
    write(path, content)

    assert same(read_key(path), Keys(KEY))


@pytest.mark.parametrize(
    "content", [b"", KEY[:31], KEY + b"\n", KEY * 2, b"g" * 64, KEY.hex().encode() * 2]
)
def test_anything_else_is_no_key(path, content):
    write(path, content)

    with pytest.raises(
        BadInput, match=r"^the key file must hold 32 bytes, raw or as 64 hexadecimal digits: "
    ):
        read_key(path)


@pytest.mark.parametrize("rights", [0o644, 0o604, 0o602, 0o601, 0o620])
def test_a_key_that_others_may_read_is_refused(path, rights):
    write(path, KEY, rights)

    with pytest.raises(BadInput, match=rf"is open to others \(mode {rights:o}\): chmod 600"):
        read_key(path)


@pytest.mark.parametrize("rights", [0o600, 0o400, 0o440])
def test_a_private_key_is_taken(path, rights):
    write(path, KEY, rights)

    assert same(read_key(path), Keys(KEY))


def test_a_missing_key_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(NotPossible, match="there is no key file"):
        read_key(tmp_path / "none")
    tmp_path.chmod(0o700)
    with pytest.raises(BadInput, match="the key file must be a plain file"):
        read_key(tmp_path)


def test_a_new_key_is_private_whatever_the_umask_and_made_once(path):
    old = os.umask(0)
    try:
        first = make_key(path)
    finally:
        os.umask(old)

    assert path.stat().st_mode & 0o777 == 0o600
    assert same(make_key(path), first)  # the one that is there stays
    assert list(path.parent.iterdir()) == [path]  # no draft is left


def test_where_no_key_can_be_made_it_says_so(tmp_path):
    with pytest.raises(
        NotPossible,
        match=r"no key file can be made at .* \(No such file or directory\): name another place",
    ):
        make_key(tmp_path / "none" / "key")
