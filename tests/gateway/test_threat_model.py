"""Every line of the threat model is held by a test that exists, or says that it is not protected."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`((?:tests|src/tarry/testing)/[\w/]+\.py)::(\w+)`")
MOMENTS = "What a thief learns, moment by moment"
OBSERVERS = (
    "An observer of the feed",
    "A subscriber",
    "An eavesdropper on the network",
    "An author",
    "Another submitter with a token",
    "A thief of the database",
    MOMENTS,
    "A backup",
    "An operator",
    "A visitor of the pages",
    "Another program on your machine",
    "The receiver of a webhook",
    "A wiki, OpenReview or a node behind a space",
    "The app behind the middleware",
    "Attacks that were considered",
)


def sections() -> dict[str, list[str]]:
    """The lines of each table, by the heading that it stands under."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    return {
        heading: [line for line in text.splitlines() if line.startswith("| ")][2:]
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def names_in(path: str) -> set[str]:
    """The names of the tests in a file, also of those in classes."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, functions)}


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED.findall(PAGE))), ids="::".join)
def test_every_test_that_is_named_exists(path, name):
    """A test that is renamed or removed takes its line on the page with it."""
    assert name.startswith("test_")
    assert name in names_in(path)


def test_every_observer_has_a_section():
    """None of those whom the page promises to go through is left out."""
    assert tuple(sections()) == OBSERVERS
    assert all(sections().values())


@pytest.mark.parametrize(
    "line",
    # Those of the moments are read by the test that is named above them.
    [line for heading, lines in sections().items() if heading != MOMENTS for line in lines],
    ids=lambda line: line[2:60],
)
def test_every_line_names_a_test_or_says_that_nothing_protects(line):
    """No claim without either."""
    assert NAMED.search(line) or "not protected" in line.lower()


def test_whatever_looks_like_a_test_is_one():
    """No name slips by because it is written in another way."""
    assert PAGE.count("::test_") == len(NAMED.findall(PAGE))
