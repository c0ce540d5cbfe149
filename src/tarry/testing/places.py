"""The conformance suite of places: a descriptor loads nothing, and the files beside it have one order.

A package joins in two lines, once for each folder that has descriptors:

    class TestMastodon(PlaceSuite):
        package = "tarry_mastodon"

It needs pytest.
"""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tarry.core.plugins import Option, resolve
from tarry.keep.outlet import OutletKind
from tarry.readers.kind import ReaderKind

__all__ = ["PlaceSuite", "descriptors", "imports_upwards"]

#: Who stands above whom. What is not named here may be used by everybody.
_ORDER = {"client": 0, "outlet": 1, "reader": 1, "form": 2, "command": 3}
_OFTEN_LEFT_OUT = {"wait"}  # an argument of a reader that is for tests


def descriptors(package: str) -> list[OutletKind | ReaderKind]:
    """The descriptors that a package holds.

    >>> [each.name for each in descriptors("tarry.places.git")]
    ['git', 'git']
    """
    return [
        value
        for value in vars(import_module(package)).values()
        if isinstance(value, OutletKind | ReaderKind)
    ]


def imports_upwards(package: str) -> list[str]:
    """Imports inside a package that go against command > form > outlet | reader > client.

    >>> imports_upwards("tarry.places.mediawiki")
    []
    """
    spec = find_spec(package)
    folder = Path(spec.origin).parent if spec and spec.origin else Path()
    return [
        f"{name} imports {other}"
        for name, height in _ORDER.items()
        for other in sorted(set(_imported(folder / f"{name}.py", package)))
        if other != name and _ORDER.get(other, -1) >= height
    ]


def _imported(file: Path, package: str) -> Iterator[str]:
    """The modules of the package that a file of it imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8") if file.exists() else "")):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.ImportFrom):  # from . import client, from .client import Node
            names = [f"{package}.{node.module or alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith(f"{package}."):
                yield name.removeprefix(f"{package}.").partition(".")[0]


class PlaceSuite:
    """What the test class of a place inherits; `package` is all it adds.

    >>> class TestMine(PlaceSuite):
    ...     package = "tarry.places.git"
    >>> TestMine().test_the_files_have_one_order()
    """

    package: str

    def test_there_is_a_descriptor(self) -> None:
        """A place has an outlet or a reader."""
        assert descriptors(self.package)

    def test_a_descriptor_loads_nothing(self) -> None:
        """Whoever lists the places imports no outlet, reader, form, client or command."""
        code = f"import sys, {self.package}; print(*sys.modules)"
        ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        loaded = set(ran.stdout.split())

        assert not loaded & {f"{self.package}.{name}" for name in _ORDER}

    def test_everything_that_is_named_is_there(self) -> None:
        """A function that reads, or a class that delivers as often as its descriptor promises."""
        for kind in descriptors(self.package):
            if isinstance(kind, ReaderKind):
                assert callable(resolve(kind.read)), kind.name
            else:
                assert kind.at_home or kind.option, kind.name
                assert kind.load().delivery == kind.delivery, kind.name

    def test_every_option_says_what_it_is(self) -> None:
        """Each has a help text, a place to put what it takes, and a flag of its own."""
        for kind in descriptors(self.package):
            options: tuple[Option, ...] = kind.options
            if isinstance(kind, OutletKind) and kind.option:
                options = (kind.option, *options)
            assert all(option.help for option in options), kind.name
            assert all(bool(option.metavar) is (option.rule != "switch") for option in options), kind.name
            assert len({option.flag for option in options}) == len(options), kind.name

    def test_options_of_a_reader_are_arguments_of_its_function(self) -> None:
        """What a command offers is what the function takes, and what it needs is required."""
        for kind in descriptors(self.package):
            if not isinstance(kind, ReaderKind):
                continue
            _, *taken = inspect.signature(resolve(kind.read)).parameters.values()
            needed = {each.name for each in taken if each.default is each.empty}
            assert {option.key for option in kind.options} == {
                each.name for each in taken
            } - _OFTEN_LEFT_OUT
            assert {option.key for option in kind.options if option.required} == needed

    def test_the_files_have_one_order(self) -> None:
        """Inside: command > form > outlet | reader > client."""
        upwards = imports_upwards(self.package)
        if upwards:
            pytest.fail("; ".join(upwards))
