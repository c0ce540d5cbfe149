"""What a release says of itself: one version, notes, notices, a list of parts, and Pythons that ran."""

import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_one_version_is_told_everywhere():
    """The package, what is to be cited, and the newest release of the change log; its day too."""
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest, day = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$", CHANGES, re.MULTILINE)[0]

    assert newest == PROJECT["version"] == version("tarry")
    assert f"\nversion: {newest}\ndate-released: {day}\n" in cited


def test_a_release_has_upgrade_notes_and_nothing_is_in_two_of_them():
    parts = re.split(r"^## \[", CHANGES, flags=re.MULTILINE)[1:]
    items = re.findall(r"^- .+(?:\n  .+)*", CHANGES, re.MULTILINE)

    assert parts[0].startswith("Unreleased]")
    assert "### Upgrade notes" in parts[1]
    assert len(items) == len(set(items))


def test_the_list_of_parts_is_that_of_the_lock():
    """locks/sbom.cdx.json is what its script writes; if not, run it."""
    made = run_path(str(ROOT / "locks" / "sbom.py"))
    parts = json.loads(made["sbom"]())["components"]

    assert made["sbom"]() == (ROOT / "locks" / "sbom.cdx.json").read_text(encoding="utf-8")
    assert {"starlette", "uvicorn", "numpy"} <= {part["name"] for part in parts}
    assert all(part["hashes"] for part in parts)


def test_classifiers_name_the_pythons_that_the_tests_ran_on():
    """Those that scripts/test-pythons can run on, and of them only what its last whole run had."""
    command = (ROOT / "scripts" / "test-pythons").read_text(encoding="utf-8")
    lists = dict(re.findall(r"^(versions|ran_on)=\((.*)\)$", command, re.MULTILINE))
    known, ran = lists["versions"].split(), lists["ran_on"].split()
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))

    assert claimed == ran
    assert set(ran) <= set(known)


#: Installing tarry from an index: it is in none.
NO_INDEX = re.compile(r"install\s+(?:-\S+\s+)*['\"]?tarry(?![-\w])")


def test_no_page_or_message_names_an_install_that_fails():
    """A checkout, a wheel, or the package that is missing; tarry itself is in no index of packages."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir()]
    files += [file for kind in ("py", "toml", "html") for file in (ROOT / "src").rglob(f"*.{kind}")]
    files += [*(ROOT / "examples").glob("*.py"), *(ROOT / "scripts").iterdir()]

    assert [file.name for file in files if NO_INDEX.search(file.read_text(encoding="utf-8"))] == []
    assert NO_INDEX.search("pip install 'tarry[study]'")
