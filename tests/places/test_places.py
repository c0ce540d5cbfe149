"""Every place of ours joins the suite that somebody else's has to pass, and is registered by its name."""

import pkgutil
import tomllib
from pathlib import Path

import pytest

import tarry.places
from tarry.core import plugins
from tarry.core.plugins import load
from tarry.testing.places import PlaceSuite, descriptors, imports_upwards

PLACES = sorted(
    f"tarry.places.{each.name}" for each in pkgutil.iter_modules(tarry.places.__path__) if each.ispkg
)


@pytest.mark.parametrize("package", PLACES)
class TestPlaces(PlaceSuite):
    """Ours."""

    @pytest.fixture(autouse=True)
    def _take(self, package):
        self.package = package


@pytest.mark.parametrize("package", PLACES)
def test_every_descriptor_is_registered_by_its_name(package):
    """What is not in the table could never be used."""
    for kind in descriptors(package):
        assert load("outlet" if hasattr(kind, "delivery") else "reader", kind.name) is kind


@pytest.mark.parametrize("what", ["outlet", "reader"])
def test_nothing_is_registered_under_another_name(what):
    """The table and the descriptors agree."""
    assert {name: load(what, name).name for name in plugins._OURS[what]} == {
        name: name for name in plugins._OURS[what]
    }


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("client", "from bad_place.outlet import Bad"),
        ("client", "import bad_place.reader"),
        ("client", "from . import command"),
        ("outlet", "from .reader import read"),
        ("reader", "from bad_place import command"),
        ("outlet", "from bad_place.form import FORM"),
        ("form", "import bad_place.command"),
    ],
)
def test_an_import_against_the_order_is_found(tmp_path, monkeypatch, file, line):
    """In whichever way it is written."""
    folder = tmp_path / "bad_place"
    folder.mkdir()
    for name in ("__init__", "client", "outlet", "reader", "form", "command"):
        (folder / f"{name}.py").write_text(line if name == file else "")
    monkeypatch.syspath_prepend(tmp_path)

    assert len(imports_upwards("bad_place")) == 1


def test_import_linter_knows_the_same_order():
    """The contract of the repository names the folders of all places at once."""
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (inside,) = [contract for contract in contracts if contract.get("containers") == ["tarry.places.*"]]

    assert inside["layers"] == ["(command)", "(form)", "(outlet) | (reader)", "(client)"]
