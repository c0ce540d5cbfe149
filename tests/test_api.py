"""The reference is written from the source: nothing is left out, and every example on it can be copied.

Its examples are run by pytest itself, from top to bottom (`--doctest-glob=*.md`).
"""

import ast
import re
from pathlib import Path
from runpy import run_path

import pytest

import tarry
import tarry.testing

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
SCRIPT = run_path(str(PAGE.with_name("generate_api.py")))
ENTRIES = SCRIPT["entries"]()
PROTOCOLS = [
    *("study.attack.Attack", "study.practice.Practice", "study.practice.Observer", "core.mechanism.Family"),
    *("keep.outlet.Outlet", "readers.kind.ReaderKind"),
]


def section(name):
    """The part of the page that is about a name."""
    return SCRIPT["_section"](name, ENTRIES[name])


def test_the_reference_is_up_to_date():
    """docs/api.md is what docs/generate_api.py writes; if not, run it."""
    assert SCRIPT["page"]() == PAGE.read_text(encoding="utf-8")


def test_every_name_that_is_exported_is_there():
    """Those of the package, those of its testing room, and what others may write themselves."""
    wanted = {f"tarry.{name}" for name in [*tarry.__all__, *PROTOCOLS]}
    wanted |= {f"tarry.testing.{name}" for name in tarry.testing.__all__}

    assert wanted - set(ENTRIES) == set()


@pytest.mark.parametrize("name", ENTRIES)
def test_every_name_has_a_heading_a_declaration_a_sentence_and_an_example(name):
    heading, declared, told, *_ = section(name).split("\n\n")

    assert heading.removeprefix("### ").removeprefix("class ") == name
    assert declared.startswith("```python\n")
    assert ast.parse(declared.removeprefix("```python\n").removesuffix("\n```"))
    assert told[0].isupper()
    assert "```pycon\n>>> " in section(name)


def test_a_heading_stands_once():
    """`promise` is a function and `Promise` a class: a link must not lead to the other one."""
    text = re.sub(r"^```.*?^```$", "", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = [SCRIPT["_anchor"](heading) for heading in headings]

    assert sorted(anchors) == sorted(set(anchors))


class Sample:
    """Something with a field, a method and an example.

    It has a part before the example,

    >>> Sample().twice(2)
    4

    and one after it:

    >>> for number in (1, 2):
    ...     print(PAGE.name)
    api.md
    api.md
    """

    field: int = 3  # with a comment
    _hidden: int = 4

    def twice(self, number: int, *, more: str = "") -> int:
        """Two of it. More is not told.

        Not even this.
        """
        return 2 * number


def test_a_class_shows_its_fields_and_methods():
    """With comments and first lines, and without what is nobody's business."""
    shown = SCRIPT["_section"]("tests.Sample", Sample)

    assert "class Sample:\n    field: int = 3  # with a comment\n```" in shown
    assert shown.endswith('- `twice(number: int, *, more: str = "") -> int`: Two of it. More is not told.')
    assert "_hidden" not in shown


def test_an_example_brings_what_it_needs():
    """Imports of whatever it names from its module, once, before the first block."""
    shown = SCRIPT["_section"]("tests.Sample", Sample)
    home = Sample.__module__

    block = [f">>> from {home} import PAGE", f">>> from {home} import Sample", ">>> Sample().twice(2)", "4"]
    assert "\n".join(["```pycon", *block, "\n```"]) in shown
    assert shown.count("import") == 2


LONG = "a: int, /, b: str = 'x', *, c: float = 1.5, **d: dict[str, dict[str, dict[str, dict[str, int]]]]"


def test_a_long_signature_takes_a_line_for_each_argument():
    """With the signs that say how each may be given."""
    (function,) = ast.parse(f"def f({LONG}) -> None: ...").body

    lines = SCRIPT["_signature"](function).split("\n")
    assert [line.strip(" ,") for line in lines[1:-1]] == [
        *("a: int", "/", 'b: str = "x"', "*", "c: float = 1.5"),
        "**d: dict[str, dict[str, dict[str, dict[str, int]]]]",
    ]
    assert lines[-1] == ") -> None: ..."
