"""Every law has its proof, and a proof names the very code it was read against."""

import ast
import re
from hashlib import blake2b
from pathlib import Path

import pytest

import tarry.core
from contracts.coq import PROOFS as MACHINE_CHECKED
from contracts.coq import files_in_order, statements
from tarry.core.laws import LAWS

CORE = Path(tarry.core.__file__).parent
PROOFS = sorted((CORE / "proofs").glob("*.md"))


def fingerprint(place: str) -> str:
    """A hash of a file, or of one function of it, without empty lines, comment lines and docstrings."""
    name, _, function = place.partition(":")
    source = (CORE.parent / name).read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    if function:
        (only,) = (node for node in tree.body if getattr(node, "name", "") == function)
        lines = lines[only.lineno - 1 : only.end_lineno]
    code = [line for line in lines if line.strip() and not line.strip().startswith("#")]
    return blake2b("\n".join(code).encode(), digest_size=8).hexdigest()


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_a_proof_was_read_against_today_s_code(proof):
    """A proof page ends with a fingerprint of its code: when the code changes, read the proof again."""
    text = proof.read_text(encoding="utf-8")
    places = re.findall(r"`(core/[\w/]+\.py(?::\w+)?)`", text.split("\n\n")[1])
    pinned = dict(re.findall(r"^Read against `(core/[\w/.:]+)` ([0-9a-f]{16})\.$", text, re.MULTILINE))

    assert pinned == {place: fingerprint(place) for place in places}


def test_every_law_has_a_proof():
    """A law that a policy can name has a page beside it."""
    assert {name.replace("-", "_") for name in LAWS} <= {proof.stem for proof in PROOFS}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_a_proof_names_its_tests(proof):
    """The tests that a proof names exist."""
    root = Path(__file__).parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)`", proof.read_text(encoding="utf-8"))

    assert named
    assert all((root / name).exists() for name in named)


def checked_by_machine(text: str) -> list[tuple[str, str]]:
    """File and name of each statement that a page says a machine has checked."""
    (paragraph,) = re.findall(r"^\*\*Machine-checked\.\*\* (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    named, file = [], ""
    for name in re.findall(r"`([\w/.]+)`", paragraph):
        if name.startswith("proofs/"):
            file = name.removeprefix("proofs/")
        elif file and re.fullmatch(r"[a-z]\w*", name):
            named.append((file, name))
    return named


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_a_proof_says_what_a_machine_has_checked_of_it(proof):
    """Each page has a paragraph about it; the statements that it names are in the files that it names."""
    named = checked_by_machine(proof.read_text(encoding="utf-8"))

    assert [each for each in named if each[1] not in statements(each[0])] == []


def test_the_default_law_the_cosine_law_and_both_theorems_are_checked_by_machine():
    """Their pages name statements of their own."""
    checked = {proof.stem: checked_by_machine(proof.read_text(encoding="utf-8")) for proof in PROOFS}

    assert {stem for stem, named in checked.items() if len(named) > 1} == {
        "cosine",
        "season",
        "theorem",
        "zero_inflated_uniform",
    }


@pytest.mark.parametrize("name", files_in_order())
def test_the_page_of_the_machine_checked_proofs_names_every_theorem(name):
    """In the row of its file."""
    page = (MACHINE_CHECKED / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{re.escape(name)}` \|.*$", page, re.MULTILINE)

    assert set(statements(name, "Theorem", "Corollary")) <= set(re.findall(r"`(\w+)`", row))
