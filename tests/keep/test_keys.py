"""Keyed hashes: equal for equal names under one key, and otherwise unlike anything."""

import json
import os
import pickle
import stat
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.core.lanes import SecureLanes
from tarry.keep.keys import (
    Keys,
    ctr_reader,
    new_key,
    new_receipt,
    receipt_hash,
    replace_private,
    write_private,
)

KEYS, OTHERS = Keys(bytes(32)), Keys(bytes([1] * 32))


@given(st.text(), st.text(), st.text(), st.text())
def test_a_pseudonym_is_an_actor_on_a_target(actor, target, other, goal):
    """Two pairs of names have one hash only if they are the same pair."""
    same = KEYS.pseudonym(actor, target) == KEYS.pseudonym(other, goal)

    assert same is ((actor, target) == (other, goal))


def test_a_copy_in_another_process_has_the_same_hashes():
    """Keys can be sent to a worker that is started anew."""
    copy = pickle.loads(pickle.dumps(KEYS))  # noqa: S301 - our own bytes

    assert copy.pseudonym("ann", "p1") == KEYS.pseudonym("ann", "p1")
    assert (copy.seal, copy.fingerprint) == (KEYS.seal, KEYS.fingerprint)


def test_each_kind_of_hash_has_a_key_of_its_own():
    """No hash of one kind can be matched with a hash of another, or with one of another store."""
    hashes = [
        hash_of
        for keys in (KEYS, OTHERS)
        for hash_of in (
            keys.actor("ann"),
            keys.account(keys.actor("ann")),
            keys.account(b"ann"),
            keys.pseudonym("ann", ""),
            bytes.fromhex(keys.public_id(7)),
            keys.seal,
        )
    ]

    assert len(set(hashes)) == len(hashes)
    assert KEYS.actor("ann") == Keys(bytes(32)).actor("ann")


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_public_ids_tell_posts_apart_and_nothing_else(post, other):
    """A post is delivered under one name, which says nothing of its key."""
    assert (KEYS.public_id(post) == KEYS.public_id(other)) is (post == other)
    assert len(KEYS.public_id(post)) == 32


def test_secrets_are_new_each_time():
    """Keys and receipts never repeat, and a store keeps a receipt's hash alone."""
    assert len({new_key() for _ in range(100)}) == 100
    receipts = {new_receipt() for _ in range(100)}
    assert len({receipt_hash(receipt) for receipt in receipts}) == 100


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_has_32_bytes(size):
    """A key of another length is refused."""
    with pytest.raises(BadInput, match="32 bytes"):
        Keys(bytes(size))


def test_the_core_draws_from_it():
    """What the core is handed is all it needs to know."""
    pytest.importorskip("cryptography")

    assert set(SecureLanes(1000, ctr_reader()).randbelow(6).tolist()) == set(range(6))


def test_counter_mode_gives_bytes():
    """Counter mode gives as many bytes as asked, never the same twice, by a key of its own."""
    pytest.importorskip("cryptography")
    one, two = ctr_reader(), ctr_reader()

    chunks = [one(32), one(32), two(32), two(32)]

    assert [len(one(size)) for size in (0, 1, 16, 100_000)] == [0, 1, 16, 100_000]
    assert len(set(chunks)) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_counter_mode_takes_a_new_key_after_a_fork():
    """Parent, child and grandchild read different bytes."""
    pytest.importorskip("cryptography")
    code = """
        import json, os
        from tarry.keep.keys import ctr_reader

        read = ctr_reader()
        reading, writing = os.pipe()
        depth = 0
        while depth < 2 and (child := os.fork()) == 0:
            depth += 1
        if depth < 2:
            os.waitpid(child, 0)
        os.write(writing, json.dumps([read(16).hex(), read(16).hex()]).encode() + b"\\n")
        if depth:
            os._exit(0)
        lines = os.read(reading, 1000).decode().splitlines()
        print(json.dumps([json.loads(line) for line in lines]))
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    chunks = [chunk for pair in json.loads(done.stdout) for chunk in pair]
    assert len(set(chunks)) == len(chunks) == 6


def test_counter_mode_without_its_package(monkeypatch):
    """Where the package is missing the error says how to get it, and nothing stands in."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)

    with pytest.raises(BadInput, match=r"needs the package cryptography.*pip install cryptography"):
        ctr_reader()


def test_a_private_file_is_on_the_disk_when_it_is_written(tmp_path, monkeypatch):
    """Its content first, and then its name: a power cut leaves all of it or nothing."""
    seen, real = [], os.fsync

    def note(descriptor):
        seen.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    written = [write_private(tmp_path / "key", content) for content in (b"first", b"second")]
    replace_private(tmp_path / "policy", b"third")

    assert (written, (tmp_path / "key").read_bytes()) == ([True, False], b"first")
    assert seen == [False, True, False, False, True]
    assert {path.name for path in tmp_path.iterdir()} == {"key", "policy"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
