"""What the commands of one's own store share: first use, the policy, the key, and a keeper."""

import stat
from pathlib import Path

import pytest

from contracts.keeping import as_long_as
from contracts.shell import SLOW
from tarry.core.policy_file import read_policy, write_policy
from tarry.keep.home import default_policy

RUN = ["run", "--target", "x", "--", "true"]
CHANGES = "tarry run: the policy cannot change "


@pytest.fixture
def first(quiet):
    """A shell that was never used."""
    quiet.home.policy_path.unlink()
    return quiet


def test_first_use_makes_a_policy_and_says_what_it_costs_and_where_its_promise_is(first):
    """The default policy is written; four short lines on standard error say so, once."""
    _, _, told = first.say(*RUN)
    _, _, again = first.say(*RUN)

    assert told.startswith("From now on each act ")
    assert "waits 1h27m32s on average, 2h5s beside another one, 2h50m10s at most.\n" in told
    assert f"What that promises, and what not:  tarry explain {first.home.policy_path}\n" in told
    assert len([line for line in told.splitlines() if line]) <= 4
    assert again == ""
    assert first.home.policy_path.read_text() == write_policy(default_policy())


def test_programs_are_not_lectured(first):
    """With --json nothing is explained."""
    assert first.say("run", "--json", *RUN[1:])[2] == ""


def test_a_named_policy_is_ones_own_from_then_on(first, tmp_path):
    """Whoever names a policy file has chosen: the next act needs no name, and meets no other policy."""
    (tmp_path / "mine.toml").write_text(SLOW)
    code, _, err = first.say("run", "--policy", "mine.toml", *RUN[1:])

    assert (code, err) == (0, "")
    assert read_policy(first.home.policy_path.read_text()) == read_policy(SLOW)
    assert first.say(*RUN)[::2] == (0, "")


def test_key_and_store_are_private(quiet):
    """Nobody else can read the key or the store."""
    quiet.ask(*RUN)
    paths = [quiet.home.key_path, quiet.home.store_path, quiet.home.state]

    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o600, 0o700]


def test_a_changed_policy_is_refused_while_something_waits_and_taken_later(quiet):
    """Until the old acts have left, and the promise's reach after that, the old policy holds."""
    quiet.ask(*RUN)
    quiet.write_policy(SLOW.replace("epsilon = 1", "epsilon = 2"))
    waiting = quiet.refusal(*RUN)
    for _ in as_long_as(lambda: quiet.ask("queue")["posts"]):
        quiet.pass_ticks(1)
    left = quiet.refusal(*RUN)
    quiet.pass_ticks(10)
    again = quiet.ask(*RUN)["state"]

    back = (
        f"give that one (move {quiet.home.policy_path} away and leave out --policy: it is written there "
        "again), or "
    )
    assert waiting.startswith(
        f"{CHANGES}while posts wait under another one: {back}withdraw them, or wait for them: "
        "it changes after 2026-01-0"
    )
    assert left.startswith(
        f"{CHANGES}so soon after posts have left under another one: {back}try again after 2026-01-0"
    )
    assert (again, quiet.home.gate().policy.epsilon) == ("waiting", 2)


def test_the_policy_that_holds_may_be_given_meanwhile(quiet, tmp_path):
    """While a new policy is refused, the one of the waiting acts is still taken by its file."""
    (tmp_path / "old.toml").write_text(SLOW)
    quiet.ask(*RUN)
    quiet.write_policy(SLOW.replace("epsilon = 1", "epsilon = 2"))

    assert quiet.say("run", "--policy", "old.toml", *RUN[1:])[0] == 0


def test_the_policy_that_holds_comes_back_as_the_refusal_says(quiet):
    """Once the changed file is out of the way, the next act is taken, and the old policy stands there."""
    quiet.ask(*RUN)
    quiet.write_policy(SLOW.replace("epsilon = 1", "epsilon = 2"))
    quiet.refusal(*RUN)
    quiet.home.policy_path.rename(quiet.home.config / "later.toml")

    assert quiet.say(*RUN)[0] == 0
    assert read_policy(quiet.home.policy_path.read_text()) == read_policy(SLOW)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"epsilon = 0\ngap = '1h'\n", "epsilon"),
        (b"epsilon: 1\n", "TOML"),
        (b"\xff\xfe", "UTF-8"),
        (None, "Is a directory"),
    ],
    ids=["a wrong number", "no TOML", "no text", "a folder"],
)
def test_a_wrong_policy_file_is_named_in_one_sentence(quiet, content, problem):
    """The sentence says which file is meant: nobody has typed its name."""
    path = quiet.home.policy_path
    path.unlink()
    path.mkdir() if content is None else path.write_bytes(content)
    refusal = quiet.refusal(*RUN)

    assert refusal.startswith("tarry run: ")
    assert str(path) in refusal
    assert problem in refusal


@pytest.mark.parametrize("words", [RUN, ["queue"], ["withdraw", "abcd"], ["repeat", "abcd"]])
def test_a_store_whose_key_is_gone_says_so(quiet, words):
    """No command makes another key for a store that has one."""
    quiet.ask(*RUN)
    quiet.home.key_path.unlink()

    assert quiet.refusal(*words) == (
        f"tarry {words[0]}: the key of the store is gone: put {quiet.home.key_path} back in its place"
    )
    assert not quiet.home.key_path.exists()


@pytest.mark.parametrize("words", [RUN, ["queue"], ["keeper"]])
def test_a_place_that_cannot_be_used_is_named(shell, tmp_path, monkeypatch, words):
    """Where there can be no store, the sentence says where that is."""
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TARRY_HOME", str(tmp_path / "file" / "home"))

    assert shell.refusal(*words) == f"tarry: '{tmp_path}/file/home' cannot be used: Not a directory"


def test_without_a_home_the_store_has_no_place(shell, monkeypatch):
    """The sentence says what to set."""
    monkeypatch.delenv("TARRY_HOME")
    monkeypatch.delenv("HOME", raising=False)

    assert shell.refusal("queue") == "tarry queue: HOME is not set: set TARRY_HOME"


@pytest.mark.parametrize("words", [RUN, ["queue"], ["keeper", "install"]])
def test_a_relative_place_is_refused(shell, tmp_path, monkeypatch, words):
    """No command makes a store, or a service, for the directory one happens to stand in."""
    monkeypatch.setenv("TARRY_HOME", "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    assert shell.refusal(*words) == (
        f"tarry {words[0]}: TARRY_HOME must be an absolute path, not 'here': begin it with a /"
    )
    assert not (Path.cwd() / "here").exists()
    assert not (tmp_path / "config").exists()


def test_a_keeper_in_the_background_begins_at_the_root_with_a_private_log(shell, monkeypatch):
    """It holds no directory, and what it says is for its owner alone."""
    started = []
    monkeypatch.setattr(
        "tarry.cli.personal_store.subprocess.Popen", lambda words, **more: started.append((words, more))
    )
    shell.write_policy(SLOW)
    told = shell.ask(*RUN)
    ((words, more),) = started

    assert told["keeper_started"]
    assert words[1:] == ["-m", "tarry", "keeper", "--until-empty", "--lock", str(*more["pass_fds"])]
    assert more["cwd"] == "/"
    assert stat.S_IMODE(shell.home.log_path.stat().st_mode) == 0o600


def test_after_names_a_waiting_act_of_the_same_target(quiet):
    """Waiting for somebody else's page would tie the two together, so that is refused."""
    told = quiet.ask(*RUN)

    assert "on the same target" in quiet.refusal(
        "run", "--target", "y", "--after", told["id"], "--", "true"
    )
