"""Plugins: ours by name, installed packages by entry points, and code only where it is allowed."""

import sys
from importlib.metadata import EntryPoint

import pytest

from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.plugins import load, names


@pytest.fixture
def installed(monkeypatch):
    """Pretends that packages with these entry points are installed."""
    entries = []
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: [each for each in entries if each.group == group]
    )
    monkeypatch.setitem(plugins._OURS, "law", {"ours": "fractions:Fraction"})

    def install(name, value, group="tarry.laws"):
        entries.append(EntryPoint(name=name, value=value, group=group))

    return install


def test_ours_is_found_by_its_name(installed):
    """A name of ours needs no installed package."""
    assert load("law", "ours").__name__ == "Fraction"


def test_an_installed_package_joins_by_its_entry_point(installed):
    """It is listed after ours, and loaded by its name."""
    installed("theirs", "decimal:Decimal")

    assert names("law") == ["ours", "theirs"]
    assert load("law", "theirs").__name__ == "Decimal"


def test_a_package_cannot_take_the_place_of_ours(installed):
    """Whoever installs a package with one of our names still gets ours."""
    installed("ours", "decimal:Decimal")

    assert names("law") == ["ours"]
    assert load("law", "ours").__name__ == "Fraction"


def test_an_entry_point_of_another_group_does_not_count(installed):
    """An outlet is no law."""
    installed("theirs", "decimal:Decimal", group="tarry.outlets")

    with pytest.raises(
        BadInput, match=r"^unknown law 'theirs': use ours, or install the package that has it$"
    ):
        load("law", "theirs")


def test_two_packages_with_one_name_are_refused(installed):
    """Which one is meant is not for us to guess."""
    installed("theirs", "decimal:Decimal")
    installed("theirs", "fractions:Fraction")

    with pytest.raises(BadInput, match=r"two packages have the law 'theirs' .*: uninstall one of them"):
        load("law", "theirs")


def test_a_package_that_breaks_is_named(installed, tmp_path, monkeypatch):
    """Whatever somebody else's code raises while it is loaded, the sentence says whose it is."""
    (tmp_path / "broken_package.py").write_text("raise RuntimeError('no luck')")
    monkeypatch.syspath_prepend(tmp_path)
    installed("broken", "broken_package:LAW")

    with pytest.raises(
        BadInput, match=r"the law 'broken' \(broken_package:LAW\) cannot be loaded: no luck"
    ):
        load("law", "broken")


def test_code_is_run_only_where_it_is_allowed(installed, tmp_path, monkeypatch):
    """A policy file or an option must not be a way to run whatever lies on the path."""
    (tmp_path / "own_code.py").write_text("LAW = 7")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(BadInput, match=r"--allow-code"):
        load("law", "own_code:LAW")
    assert "own_code" not in sys.modules
    assert load("law", "own_code:LAW", allow_code=True) == 7


@pytest.mark.parametrize("name", ["no_such_module:LAW", "fractions:Nothing"])
def test_code_that_is_not_there_is_one_sentence(name, installed):
    """A mistyped module or name is told as such."""
    with pytest.raises(BadInput, match=rf"^'{name}' cannot be loaded"):
        load("law", name, allow_code=True)
