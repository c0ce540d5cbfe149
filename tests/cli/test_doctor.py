"""`tarry doctor`: what is well and what is wrong with an installation, without touching anything."""

import json
import os

import pytest

from tarry.cli import doctor


def findings(shell, *words):
    """What it says, by subject: states and sentences."""
    code, out, err = shell.say("doctor", "--json", *words)
    answer = json.loads(out)
    assert err == ""
    assert code == (0 if answer["is_well"] else 1)
    return [(each["about"], each["state"], each["sentence"]) for each in answer["findings"]]


def of(shell, about, *words):
    """The lines about one subject."""
    return [(state, sentence) for topic, state, sentence in findings(shell, *words) if topic == about]


def files(folder):
    """Every file below a folder with its content and its rights."""
    return {path: (path.stat().st_mode, path.is_file() and path.read_bytes()) for path in folder.rglob("*")}


def test_before_first_use_it_says_so_and_makes_nothing(shell, tmp_path):
    """Looking makes no folder, no lock and no store."""
    assert of(shell, "own store") == [
        ("good", f"none yet in {shell.home.state}: the first tarry run makes one")
    ]
    assert files(tmp_path) == {}


def test_a_store_in_order_is_called_one(quiet):
    quiet.ask("run", "--target", "x", "--", "true")
    before = files(quiet.home.state)

    assert ("good", "1 acts wait, none is parked") in of(quiet, "own store")
    assert all(state == "good" for state, _ in of(quiet, "own store"))
    assert of(quiet, "keeper") == [("problem", "acts wait and no keeper runs: tarry keeper starts one")]
    assert files(quiet.home.state) == before


def test_files_that_others_may_read_are_named_with_what_to_do(quiet):
    quiet.ask("run", "--target", "x", "--", "true")
    quiet.home.key_path.chmod(0o644)

    path = quiet.home.key_path
    assert ("problem", f"{path} is open to others (mode 644): chmod go= {path}") in of(quiet, "own store")


def test_a_store_without_encryption_is_wrong(quiet, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr("tarry.keep.home.find_spec", lambda _: None)
        assert quiet.say("run", "--target", "x", "--", "true")[0] == 0

    (problem,) = [sentence for state, sentence in of(quiet, "own store") if state == "problem"]
    assert problem.endswith("pip install cryptography, then tarry store encrypt --own")


def test_a_store_that_cannot_be_read_is_one_sentence(quiet):
    quiet.ask("run", "--target", "x", "--", "true")
    quiet.home.store_path.write_bytes(b"no database at all" * 100)

    assert "problem" in dict(of(quiet, "own store"))


def test_missing_extras_are_named_with_how_to_install_them(shell, monkeypatch):
    monkeypatch.setattr(doctor, "EXTRAS", {"fast": ("json",), "odd": ("no_such_package", "no.such.part")})

    assert of(shell, "extras") == [
        ("good", "installed: fast"),
        ("note", "not installed: odd; pip install '.[odd]' in a checkout of tarry brings them"),
    ]


@pytest.mark.parametrize(("said", "state"), [("yes", "good"), ("no", "note"), ("", "note")])
def test_it_asks_the_system_whether_the_clock_is_set(shell, tmp_path, monkeypatch, said, state):
    """A time server's word is read from timedatectl, where there is one."""
    program = tmp_path / "bin" / "timedatectl"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {said}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    assert [each for each, _ in of(shell, "clock")] == [state]


def test_a_gateway_is_examined_where_there_is_one(operator):
    """Database and key can be read: nothing is wrong; a key in the same folder is noted."""
    operator.add_space()

    lines = of(operator, "gateway")

    assert ("good", "its database and key can be read, nothing is late or parked") in lines
    assert [state for state, sentence in lines if "database and key lie together in" in sentence] == [
        "note"
    ]


def test_a_key_that_is_gone_or_open_is_wrong(operator):
    operator.add_space()
    operator.key.chmod(0o644)
    assert "is open to others (mode 644)" in dict(of(operator, "gateway"))["problem"]

    operator.key.unlink()
    assert dict(of(operator, "gateway"))["problem"].startswith("there is no key file ")


def test_without_a_gateway_nothing_is_said_of_one(shell):
    assert of(shell, "gateway") == []


def test_settings_that_cannot_be_read_are_wrong(shell, tmp_path):
    """--config names a file: what is wrong with it is a line like all others."""
    assert "cannot be read" in dict(of(shell, "gateway", "--config", tmp_path / "none.toml"))["problem"]


def test_for_people_each_line_begins_with_its_subject(shell):
    code, out, _ = shell.say("doctor")

    assert code == 0
    assert out.startswith("tarry      ok     ")
