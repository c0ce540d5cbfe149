"""`tarry git push`: the commit of now is pushed later, after earlier pushes of its branch."""

import subprocess

import pytest

from contracts.git_places import Repository, new_bare
from contracts.shell import ALL_GONE

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def repository(quiet, tmp_path, monkeypatch):
    """The current directory is a repository with one commit and a bare remote."""
    monkeypatch.setenv("HOME", str(tmp_path))
    repository = Repository(tmp_path / "work", new_bare(tmp_path / "bare"))
    repository.commit("one")
    monkeypatch.chdir(repository.path)
    return repository


def pushed(tmp_path, shown="%s"):
    """The history of the remote's branch, newest first."""
    ask = ["git", "-C", str(tmp_path / "bare"), "log", f"--format={shown}", "main"]
    return subprocess.run(ask, check=True, capture_output=True, text=True).stdout.splitlines()


def test_the_commit_of_now_is_pushed_at_its_release(quiet, repository, tmp_path):
    """What is committed afterwards stays here; the target is the address of the remote."""
    told = quiet.ask("git", "push", "origin", "main")
    (post,) = quiet.ask("queue")["posts"]
    repository.commit("two")
    quiet.pass_ticks(ALL_GONE)

    assert (told["output"], post["outlet"], post["target"]) == (None, "git", f"file://{tmp_path}/bare")
    assert pushed(tmp_path) == ["Say one"]


@pytest.mark.parametrize(
    "words",
    [
        ["push", "--redate", "origin", "main"],
        ["--redate", "push", "origin"],
        ["push", "origin", "--redate"],
    ],
)
def test_options_stand_anywhere(quiet, repository, tmp_path, words):
    """Before, between or after the words, --redate dates the commits to the release."""
    quiet.ask("git", *words)
    quiet.pass_ticks(ALL_GONE)
    (date,) = pushed(tmp_path, "%ct")

    assert int(date) > 1_767_225_600
    assert int(date) % 600 == 0


@pytest.mark.parametrize(("words", "noted"), [([], True), (["--redate"], False)])
def test_dates_that_will_be_shown_are_told(quiet, repository, words, noted):
    """Without --redate one line says what the commits will show, and names it."""
    code, _, err = quiet.say("git", "push", *words)
    repository.commit("two")
    told = quiet.ask("git", "push", *words)

    assert code == 0
    assert len(err.splitlines()) == noted
    assert err.startswith("tarry git: the commits keep their dates and time zone") == noted
    assert told.get("note", "") == err.strip()
    assert ("--redate" in err) == noted


def test_what_ones_own_hook_refuses_is_parked_and_can_be_taken_back(quiet, repository):
    """Nothing was sent, so nothing is in doubt."""
    hook = repository.path / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    told = quiet.ask("git", "push")
    quiet.pass_ticks(ALL_GONE)
    (post,) = quiet.ask("queue")["posts"]

    refused = "the pre-push hook of your repository refused it: it said nothing"
    assert (post["state"], post["problem"]) == ("parked", refused)
    assert quiet.ask("withdraw", told["id"])["state"] == "withdrawn"


def test_a_push_waits_for_earlier_pushes_of_its_branch(quiet, repository, tmp_path):
    """A later push of the same branch carries the earlier one's commits, so it leaves no earlier."""
    first = quiet.ask("git", "push")
    repository.commit("two")
    second = quiet.ask("git", "push")
    repository.commit("three")
    third = quiet.ask("git", "push")
    gate = quiet.home.gate()
    parents = {row["id"]: row["parent"] for row, _ in gate.posts()}
    quiet.pass_ticks(ALL_GONE)

    ids = [int(told["id"], 16) for told in (first, second, third)]
    assert [parents[each] for each in ids] == [None, *ids[:2]]
    assert third["earliest_at"] >= second["earliest_at"] >= first["earliest_at"]
    assert pushed(tmp_path) == ["Say three", "Say two", "Say one"]


def test_pushes_of_one_branch_have_one_target(quiet, repository):
    """Another target for a push that carries waiting commits along would split one act in two."""
    quiet.ask("git", "push", "--target", "mine")
    repository.commit("two")

    assert quiet.refusal("git", "push").startswith(
        "tarry git: a push must have the target of those of its branch that wait, not"
    )
    assert quiet.say("git", "push", "--target", "mine")[0] == 0


@pytest.mark.parametrize("branch", ["main", "side"])
def test_commits_that_wait_to_be_redated_are_not_pushed_plainly(quiet, repository, tmp_path, branch):
    """On the same branch the remote would reject it later; on another one their own dates would show."""
    told = quiet.ask("git", "push", "--redate")
    repository("checkout", "--quiet", "-B", branch)
    repository.commit("two")
    id_ = told["id"][:8]

    assert quiet.refusal("git", "push") == (
        f"tarry git: the waiting push {id_} gives commits of this one new dates and names: "
        f"give --redate here too, or withdraw {id_}"
    )
    assert len(quiet.ask("queue")["posts"]) == 1
    assert quiet.say("git", "push", "--redate")[0] == 0


def test_a_plain_push_of_other_commits_is_taken_beside_one_to_redate(quiet, repository):
    quiet.ask("git", "push", "--redate")
    repository("checkout", "--quiet", "--orphan", "alone")
    repository.commit("alone")

    assert quiet.say("git", "push", "origin", "alone")[0] == 0


@pytest.mark.parametrize("again", [["push"], ["push", "--redate"], ["push", "--after", "{}"]])
def test_the_same_commit_waits_once(quiet, repository, again):
    told = quiet.ask("git", "push")
    words = [word.format(told["id"]) for word in again]

    assert quiet.refusal("git", *words) == (
        f"tarry git: this commit waits already, as push {told['id'][:8]}: "
        "withdraw that one to push it in another way"
    )
    assert len(quiet.ask("queue")["posts"]) == 1
    quiet.ask("withdraw", told["id"])
    assert quiet.say("git", "push", "--redate")[0] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["pull"], "argument push: invalid choice: 'pull'"),
        ([], "the following arguments are required: push (see tarry git --help)"),
        (["push", "nowhere"], "there is no remote 'nowhere': use origin"),
        (["push", "origin", "nothing"], "there is no branch 'nothing' in the repository"),
        (["push", "origin", "main", "extra"], "unrecognized arguments: extra (see tarry git --help)"),
    ],
)
def test_what_cannot_be_pushed_is_refused(quiet, repository, words, sentence):
    """A push that could never happen is refused while somebody reads it."""
    assert quiet.refusal("git", *words).startswith(f"tarry git: {sentence}")
    assert quiet.ask("queue")["posts"] == []


def test_a_push_begins_in_a_repository(quiet, tmp_path):
    """Anywhere else there is nothing to push."""
    assert quiet.refusal("git", "push") == f"tarry git: {tmp_path} is not in a git repository: go to one"
