"""The core needs the standard library and numpy, and nothing else."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import tarry.core

CORE = Path(tarry.core.__file__).parent
SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
ALLOWED = {*sys.stdlib_module_names, "numpy", "tarry"}


def imported(path: Path) -> set[str]:
    """The packages that a file imports, at its top or inside a function."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_a_file_of_the_core_imports_the_standard_library_and_numpy_alone(path):
    """A package that only an extra brings belongs to the room that needs it."""
    assert imported(path) <= ALLOWED


def test_lint_imports_forbids_the_core_every_package_that_an_extra_brings():
    """A new extra joins the contract in pyproject.toml."""
    (contract,) = (c for c in SETTINGS["tool"]["importlinter"]["contracts"] if "and numpy" in c["name"])
    extras = SETTINGS["project"]["optional-dependencies"].values()
    needed = {_plain_name(requirement) for extra in extras for requirement in extra} - {"tarry"}
    modules = {
        module
        for module, owners in packages_distributions().items()
        if needed & {_plain_name(owner) for owner in owners} and module.isidentifier()
    }

    assert modules
    assert modules <= set(contract["forbidden_modules"])


def _plain_name(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group().lower().replace("_", "-")
