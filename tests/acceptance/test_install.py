"""What somebody installs: a wheel made from the source archive, in an environment that has nothing else."""

import json
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

from acceptance.gateway_process import wait_for
from contracts.container import read_steps, run_build

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
#: What pip says where the index of packages is away.
AWAY = re.compile(r"NewConnectionError|Failed to establish|No matching distribution|Temporary failure")
POLICY = 'epsilon = 2\ngap = "8s"\nwindow = "5s"\ntick = "500ms"\nlabels = "declared"\n'


def run(*command, **more):
    """The output of a command that succeeds."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, timeout=300, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive, and the wheel that is made from it and from nothing else."""
    folder = tmp_path_factory.mktemp("built")
    archive = "from hatchling.build import build_sdist; print(build_sdist({!r}))"
    run(sys.executable, "-c", archive.format(str(folder)), cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    (folder / "source").mkdir()
    # Not by Python: Debian's 3.11.2 knows no filters yet, and later ones warn where none is named.
    run("tar", "-xzf", source, "-C", folder / "source")
    (unpacked,) = (folder / "source").iterdir()
    run(*PIP, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", folder, unpacked)
    (wheel,) = folder.glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def gateway_alone(built, tmp_path_factory):
    """What the container file's own steps make, with the wheel in place of the checkout; the programs."""
    folder = tmp_path_factory.mktemp("alone")
    wrong = run_build(read_steps(ROOT / "deploy" / "Containerfile"), ROOT, folder)
    if AWAY.search(wrong):
        pytest.skip(
            "PYPI CANNOT BE REACHED: what a gateway needs cannot be installed into a clean environment"
        )
    assert wrong == ""
    programs = folder / "tarry" / "bin"
    assert run(programs / "tarry", "--version") == f"tarry {version('tarry')}\n"
    again = ["install", "--no-deps", "--no-index", "--force-reinstall", built[1]]
    run(*PIP, "--python", programs / "python", *again)
    return programs


@pytest.fixture
def own(tmp_path):
    """The environment of somebody who has set nothing."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TARRY_", "PYTHON"))}
    return {"cwd": tmp_path, "env": {**kept, "HOME": str(tmp_path), "TARRY_HOME": str(tmp_path / "home")}}


def test_the_wheel_holds_the_package_its_proofs_and_its_licence(built):
    """Templates, statements, texts, proofs and the licence are in it; tests and locks are not."""
    source, wheel = built
    names = ZipFile(wheel).namelist()

    for name in (
        "tarry/py.typed",
        "tarry/keep/sql/queries.sql",
        "tarry/core/proofs/theorem.md",
        "tarry/console/templates/layout.html",
        "tarry/console/texts/en/board.toml",
    ):
        assert name in names
    for notice in ("LICENSE", "THIRD-PARTY.md"):
        assert any(re.fullmatch(rf"tarry-[^/]+\.dist-info/licenses/{notice}", name) for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tarry"}
    with tarfile.open(source) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert {"CHANGELOG.md", "docs/index.md", "locks/dev.txt", "scripts/test", "tests/conftest.py"} <= inside


def test_the_version_is_the_same_everywhere(built, gateway_alone):
    """`tarry --version`, the names of both archives, and what is to be cited."""
    source, wheel = built
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]

    assert cited == version("tarry")
    assert run(gateway_alone / "tarry", "--version") == f"tarry {cited}\n"
    assert source.name == f"tarry-{cited}.tar.gz"
    assert wheel.name.startswith(f"tarry-{cited}-")


def test_a_gateway_needs_neither_numba_nor_polars(gateway_alone, own):
    """The slim lock is enough to serve a space; what the audit page needs besides, the page says."""
    Path(own["cwd"], "policy.toml").write_text(POLICY, encoding="utf-8")
    tarry = gateway_alone / "tarry"
    listed = "from importlib.metadata import distributions; print(*(each.name for each in distributions()))"
    names = run(gateway_alone / "python", "-c", listed).split()
    assert "uvicorn" in names
    assert {"numba", "polars", "altair"}.isdisjoint(names)
    run(tarry, "space", "add", "talk", "--policy", "policy.toml", **own)
    run(tarry, "token", "add", "me", "--scope", "operate", **own)
    findings = json.loads(run(tarry, "doctor", "--json", **own))
    assert findings["is_well"]

    with subprocess.Popen(
        [tarry, "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True, **own
    ) as server:
        try:
            address = ""

            def has_begun():
                nonlocal address
                address = re.search(r"http://[\d.]+:\d+", server.stdout.readline())
                return address

            wait_for(has_begun, "an address")
            with urllib.request.urlopen(f"{address[0]}/workbench", timeout=60) as answer:  # noqa: S310
                assert "Workbench" in answer.read().decode()
        finally:
            server.terminate()


def test_a_command_without_its_extra_says_what_to_install(gateway_alone, own):
    done = subprocess.run(
        [gateway_alone / "tarry", "audit", "x.csv"], capture_output=True, text=True, check=False, **own
    )

    assert done.returncode == 2
    assert done.stderr.startswith("tarry audit: this command needs the study extra: pip install ")
