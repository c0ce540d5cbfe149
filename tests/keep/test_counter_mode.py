"""Counter mode: fast secure bytes for the core's bulk draws, from a package that the core does not know."""

import json
import subprocess
import sys
import textwrap

import pytest

from tarry.core.errors import BadInput
from tarry.core.lanes import SecureLanes
from tarry.keep.counter_mode import ctr_reader


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
        from tarry.keep.counter_mode import ctr_reader

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

    with pytest.raises(BadInput, match=r"needs the package cryptography.*pip install 'tarry\[fast\]'"):
        ctr_reader()
