"""Where a space releases to: `tarry space add` and `set` for places with logins, and who checks them."""

import sys
from importlib.metadata import EntryPoint

import pytest

from contracts.operating import SLOW
from tarry.core import plugins

API = "https://wiki.example/w/api.php"
NOTES = "https://api2.openreview.net"
NODE = "http://127.0.0.1:8332"
NYM = '[nym]\nlogin = "Nym@tarry"\npassword = "secret"\n'


def listed(operator, name="talk"):
    """A space, as it is told."""
    return {space["name"]: space for space in operator.ask("space", "list")["spaces"]}[name]


def private(operator, name, text):
    """A file that only its owner reads: its name in the current folder."""
    path = operator.folder / name
    path.touch(mode=0o600)
    path.write_text(text)
    return name


@pytest.mark.parametrize(
    ("words", "outlet", "told"),
    [
        (
            ("--mediawiki", API, "--accounts", "nyms.toml"),
            {"kind": "mediawiki", "api": API, "accounts": "{folder}/nyms.toml"},
            "its wiki",
        ),
        (
            ("--feed-file", "feed.jsonl"),
            {"kind": "feed-file", "path": "{folder}/feed.jsonl"},
            "its feed file",
        ),
        (
            ("--openreview", NOTES, "--accounts", "nyms.toml"),
            {"kind": "openreview", "api": NOTES, "accounts": "{folder}/nyms.toml"},
            "OpenReview",
        ),
        (
            ("--bitcoin", NODE, "--cookie", ".cookie", "--strict"),
            {"kind": "bitcoin", "node": NODE, "cookie": "{folder}/.cookie", "strict": True},
            "its Bitcoin node",
        ),
        (
            ("--bitcoin", NODE, "--login", "login"),
            {"kind": "bitcoin", "node": NODE, "login": "{folder}/login"},
            "its Bitcoin node",
        ),
    ],
)  # fmt: skip
def test_a_space_may_release_to_a_place_with_logins(operator, words, outlet, told):
    """At its beginning or later; files are kept by their whole paths, for servers in other folders."""
    private(operator, "nyms.toml", NYM)
    private(operator, "login", "me:secret\n")
    operator.add_space("new", SLOW, *words)
    operator.add_space()
    expected = {
        name: value.format(folder=operator.folder) if isinstance(value, str) else value
        for name, value in outlet.items()
    }

    assert operator.tell("space", "set", "talk", *words).endswith(f"releases to {told}\n")
    assert listed(operator, "new")["outlet"] == listed(operator)["outlet"] == expected
    assert operator.tell("space", "list").splitlines()[1].split()[:3] == ["new", "all", outlet["kind"]]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--mediawiki", API), "--mediawiki needs --accounts: give --accounts FILE"),
        (("--mediawiki", API, "--accounts", "none"), "the accounts file '"),
        (("--mediawiki", API, "--accounts", "open"), "the accounts file '"),
        (("--mediawiki", API, "--accounts", "p.toml"), "the accounts file must be closed to"),
        (("--mediawiki", API[:-4], "--accounts", "good"), "the address of a wiki must end in /api.php"),
        (("--openreview", "http://x.example", "--accounts", "good"), "the address of OpenReview"),
        (("--mediawiki", API, "--openreview", NOTES, "--accounts", "good"), "a space must release to one"),
        (("--accounts", "good"), "--accounts stands alone: give it with --mediawiki or --openreview"),
        (("--webhook", "https://x/", "--strict"), "--strict stands alone: give it with --bitcoin"),
        (("--bitcoin", NODE), "the node has neither a cookie nor a login"),
        (("--bitcoin", NODE, "--login", "open"), "the login file must be closed to everybody"),
        (("--bitcoin", NODE, "--cookie", "no/where"), "there is no folder "),
    ],
)  # fmt: skip
def test_a_place_that_cannot_work_makes_and_changes_nothing(operator, words, sentence):
    """One sentence, and neither a database nor a key."""
    private(operator, "good", NYM)
    (operator.folder / private(operator, "open", "me:secret")).chmod(0o644)
    policy = operator.file("p.toml", SLOW)
    refusal = operator.refusal("space", "add", "new", "--policy", policy, *words)
    made = sorted(path.name for path in operator.folder.iterdir())
    operator.add_space()

    assert refusal.startswith(f"tarry space: {sentence}")
    assert made == ["good", "open", "p.toml"]
    assert operator.refusal("space", "set", "talk", *words) == refusal
    assert listed(operator)["outlet"] == {"kind": "feed"}


def test_a_title_is_set_although_a_file_is_bad(operator):
    """What is wrong with the outlet has nothing to do with it."""
    private(operator, "nyms.toml", NYM)
    operator.add_space("wiki", SLOW, "--mediawiki", API, "--accounts", "nyms.toml")
    (operator.folder / "nyms.toml").unlink()

    assert operator.ask("space", "set", "wiki", "--title", "Wiki!")["title"] == "Wiki!"


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_neither_server_nor_worker_starts_with_a_bad_file(operator, command):
    """One sentence that names the space; nothing is listening, nothing leaves."""
    private(operator, "nyms.toml", NYM)
    operator.add_space("wiki", SLOW, "--mediawiki", API, "--accounts", "nyms.toml")
    path = operator.folder / "nyms.toml"
    path.chmod(0o604)

    told = f"tarry {command}: space 'wiki': the accounts file must be closed to everybody else"
    assert operator.refusal(command) == f"{told}, not have rights 604: chmod go= {str(path)!r}"

    path.unlink()

    told = f"tarry {command}: space 'wiki': the accounts file {str(path)!r} does not exist"
    assert operator.refusal(command) == f"{told}: write it, or give another one"


# --- an installed package ----------------------------------------------------------------------------

PACKAGE = """
from pathlib import Path
from tarry.core.plugins import Option
from tarry.keep.outlet import Outlet, OutletKind

class Pigeon(Outlet):
    delivery = "at least once"
    def __init__(self, loft): self.loft = loft
    def deliver(self, release): Path(self.loft, release.id).write_bytes(release.content)

OUTLET = OutletKind(
    name="pigeon",
    outlet="pigeon_package:Pigeon",
    delivery="at least once",
    words="its loft",
    option=Option(flag="pigeon", metavar="FOLDER", help="send releases by pigeon", name="loft"),
    options=(Option(flag="title", metavar="T", help="a flag that tarry space has itself"),),
)
"""


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Pretends that a package with an outlet is installed."""
    (tmp_path / "pigeon_package.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)

    def installed(value):
        entry = EntryPoint(name="pigeon", value=value, group="tarry.outlets")
        monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == entry.group else [])

    yield installed
    sys.modules.pop("pigeon_package", None)


def test_the_outlet_of_an_installed_package_joins(operator, install):
    """With its option, its settings and its words; and it is gone with its package."""
    install("pigeon_package:OUTLET")
    operator.add_space("birds", SLOW, "--pigeon", "/loft")

    assert listed(operator, "birds")["outlet"] == {"kind": "pigeon", "loft": "/loft"}
    assert operator.tell("space", "set", "birds", "--pigeon", "/other").endswith("releases to its loft\n")
    assert "--pigeon FOLDER" in operator.say("space", "add", "--help")[1]

    install("pigeon_package:NOTHING")

    assert listed(operator, "birds")["outlet"]["kind"] == "pigeon"
    refused = "space 'birds': the outlet 'pigeon' (pigeon_package:NOTHING) cannot be loaded"
    assert refused in operator.refusal("worker")


def test_a_package_that_cannot_be_loaded_keeps_nobody_from_anything(operator, install):
    """Spaces are made, changed and listed as ever."""
    install("no_such_package:OUTLET")
    operator.add_space()

    assert listed(operator)["outlet"] == {"kind": "feed"}
    assert operator.tell("space", "set", "talk", "--webhook", "https://x.example/")
