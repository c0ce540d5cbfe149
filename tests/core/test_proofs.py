"""Every law has its proof, and a proof names the very code it was read against."""

import ast
import re
from hashlib import blake2b
from pathlib import Path

import pytest

import tarry.core
from tarry.core.laws import FAMILIES

CORE = Path(tarry.core.__file__).parent
PROOFS = sorted((CORE / "proofs").glob("*.md"))


def fingerprint(path: Path) -> str:
    """A hash of what code says: blank lines, comment lines and docstrings do not count."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    told = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    return blake2b("\n".join(told).encode(), digest_size=8).hexdigest()


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_a_proof_was_read_against_today_s_code(proof):
    """A proof page ends with a fingerprint of its code: when the code changes, read the proof again."""
    text = proof.read_text(encoding="utf-8")
    files = re.findall(r"`(core/[\w/]+\.py)`", text.split("\n\n")[1])
    pinned = dict(re.findall(r"^Read against `(core/[\w/]+\.py)` ([0-9a-f]{16})\.$", text, re.MULTILINE))

    assert pinned == {name: fingerprint(CORE.parent / name) for name in files}


def test_every_law_has_a_proof():
    """A law that a policy can name has a page beside it."""
    assert {name.replace("-", "_") for name in FAMILIES} <= {proof.stem for proof in PROOFS}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_a_proof_names_its_tests(proof):
    """The tests that a proof names exist."""
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)`", proof.read_text(encoding="utf-8"))

    assert named
    assert all((root / name).exists() for name in named)
