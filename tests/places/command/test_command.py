"""`tarry run`: a command is kept exactly as it was given, and run later, once, by a keeper alone."""

import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.scripted_entropy import Script
from contracts.shell import ALL_GONE, FAST, SLOW, wait_until

MOMENT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
WORDS = ["a b", "", "-x", "--gap", "-5", "--", "--json", "ünï ☃", "\udcff", "$HOME", "'\"", "line\nend"]
TELL = "import sys, os, json; print(json.dumps([sys.argv[1:], os.getcwd()]))"


def hand_in(shell, *words, target="x", **options):
    """Hand a command in; what `tarry run --json` answers."""
    flags = [f"--{name}={value}" for name, value in options.items()]
    return shell.ask("run", "--target", target, *flags, "--", *words)


def printed(told):
    """What a command has printed, as bytes; None if it has not run."""
    path = Path(told["output"])
    return path.read_bytes() if path.exists() else None


def test_it_returns_at_once_and_tells_when_where_and_how_to_take_back(quiet):
    """The answer is when it leaves, where its output will be, and the way to take it back."""
    code, out, err = quiet.say("run", "--target", "x", "--", "true")
    (post,) = quiet.ask("queue")["posts"]
    output = re.escape(str(quiet.home.outputs))

    assert (code, err) == (0, "")
    assert re.fullmatch(
        rf"leaves     {MOMENT}( or {MOMENT})? \S+\nprints to  {output}/[0-9a-f]{{32}}\n"
        rf"take back  tarry withdraw {post['id'][:8]}\n",
        out,
    )


@pytest.mark.parametrize(("draws", "moments"), [([8], [9]), ([2, 1], [3, 9])])
def test_a_long_draw_gives_one_moment_and_a_short_one_two(quiet, monkeypatch, draws, moments):
    """The release is told at once where the label cannot matter, else the two moments it lies between."""
    quiet.write_policy(SLOW + 'law = "uniform"\n')
    monkeypatch.setattr("tarry.keep.gate.Secure", lambda: Script(draws))
    told = hand_in(quiet, "true")
    ticks = [(told[name] - quiet.clock.wall / 10**6) / 600 for name in ("earliest_at", "latest_at")]

    assert ticks == [moments[0], moments[-1]]
    assert told["release_at"] == (told["latest_at"] if len(moments) == 1 else None)


def test_the_json_has_the_receipt_and_the_moments(quiet):
    """Programs get the receipt, the id, the moments, the place of the output, and of the keeper."""
    told = hand_in(quiet, "true")

    assert list(told) == [
        *("receipt", "id", "state", "release_at", "earliest_at", "latest_at", "output", "keeper_started"),
    ]
    assert (len(told["receipt"]), len(told["id"]), told["state"]) == (64, 16, "waiting")
    assert told["earliest_at"] <= told["latest_at"]


def test_words_and_directory_are_kept_exactly(quiet, tmp_path, monkeypatch):
    """Spaces, dashes, empty words, our options and bytes that are no text reach the program unchanged."""
    there = tmp_path / "a place ☃"
    there.mkdir()
    monkeypatch.chdir(there)
    told = hand_in(quiet, sys.executable, "-c", TELL, *WORDS)
    monkeypatch.chdir("/")
    quiet.pass_ticks(ALL_GONE)

    assert json.loads(printed(told)) == [WORDS, str(there)]


def test_a_command_may_follow_without_dashes_and_keeps_its_words(quiet):
    """Without `--` the command begins at the first word that is no option, and is not touched either."""
    told = quiet.ask("run", "--target", "x", "echo", "--gap", "-5", "--json", "--", "-1")
    quiet.pass_ticks(ALL_GONE)

    assert printed(told) == b"--gap -5 --json -- -1\n"


def test_nothing_but_the_kept_variables_reaches_the_program(quiet, monkeypatch):
    """The program sees PATH and its like, and what was named, as they were at the admission."""
    monkeypatch.setenv("NAMED", "one two=☃")
    monkeypatch.setenv("SECRET", "not for you")
    usual = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR")
    kept = {name: os.environ[name] for name in (*usual, "NAMED") if name in os.environ}
    told = hand_in(quiet, "env", "-0", env="NAMED")
    monkeypatch.setenv("NAMED", "changed since")
    quiet.pass_ticks(ALL_GONE)
    seen = [variable.decode().partition("=") for variable in printed(told).split(b"\0") if variable]

    assert {name: value for name, _, value in seen} == kept


def test_the_umask_is_kept(quiet):
    """A file that the command makes has the rights it would have had at once."""
    mine = os.umask(0o027)
    try:
        told = hand_in(quiet, "sh", "-c", "umask")
        kept = os.umask(0o077)
        quiet.pass_ticks(ALL_GONE)
    finally:
        os.umask(mine)

    assert kept == 0o027
    assert int(printed(told), 8) == 0o027


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_answer_that_cannot_be_written_does_not_hide_that_it_was_handed_in(quiet, flags):
    """Whoever goes by the exit code does not hand the act in twice, and the sentence names it."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    words = [sys.executable, "-m", "tarry", "run", *flags, "--target", "x", "--", "true"]
    with quiet.home.keeping(), Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    (post,) = quiet.ask("queue")["posts"]

    assert done.returncode == 0
    assert done.stderr == (
        f"tarry: it was handed in ({post['id'][:8]}), and tarry queue lists it; the answer cannot be "
        "written: No space left on device\n"
    )


def test_a_directory_that_is_gone_is_told(quiet, tmp_path, monkeypatch):
    """A command cannot be kept with a directory that is not there, and the sentence says that."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    sentence = quiet.refusal("run", "--target", "x", "--", "true")
    monkeypatch.chdir(tmp_path)

    assert sentence == "tarry: the working directory is gone: change to one that exists"
    assert quiet.ask("queue")["posts"] == []


@pytest.mark.parametrize(("flags", "seen"), [(["--stdin"], b"\x00\xff text\n"), ([], b"")])
def test_standard_input_is_kept_when_asked_for(quiet, monkeypatch, flags, seen):
    """With --stdin the command reads what tarry read; without it, nothing, and tarry reads nothing."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\x00\xff text\n")))
    told = quiet.ask("run", "--target", "x", *flags, "--", "cat")
    quiet.pass_ticks(ALL_GONE)

    assert printed(told) == seen
    assert sys.stdin.buffer.read() == (b"" if flags else b"\x00\xff text\n")


def test_the_output_is_private(quiet):
    """What a command prints, errors included, is for its owner alone."""
    told = hand_in(quiet, "sh", "-c", "echo out; echo err >&2")
    quiet.pass_ticks(ALL_GONE)
    modes = [stat.S_IMODE(Path(path).stat().st_mode) for path in (told["output"], quiet.home.outputs)]

    assert printed(told) == b"out\nerr\n"
    assert modes == [0o600, 0o700]


@pytest.mark.parametrize(("targets", "batched"), [(["x", "y"], 2), (["x", "x"], 0)])
def test_batches_are_recognised_across_invocations(quiet, targets, batched):
    """Two commands within the window count as batched when their targets differ, and not otherwise."""
    for target in targets:
        hand_in(quiet, "true", target=target)
        quiet.clock.sleep(60)
    before = quiet.ask("queue")["batched_acts"]
    quiet.pass_ticks(5)
    told = quiet.ask("queue")

    assert before == 0  # nothing is counted before it is erased
    assert (told["batched_acts"], told["nats"]) == (batched, batched / 2)


def test_a_later_act_of_the_same_target_may_wait_for_an_earlier_one(quiet):
    """With --after a command does not leave before the other one."""
    first = hand_in(quiet, "true")
    second = hand_in(quiet, "true", after=first["id"][:8])

    assert second["earliest_at"] >= first["earliest_at"]
    assert second["latest_at"] >= first["latest_at"]


def test_a_keeper_is_started_when_none_runs(quiet):
    """Handing in sees to it that somebody lets the act out."""
    told = hand_in(quiet, "true")

    assert (told["keeper_started"], quiet.started) == (True, [quiet.home])


def test_no_second_keeper_is_started(quiet):
    """Where a keeper runs it is left alone."""
    with quiet.home.keeping() as mine:
        told = hand_in(quiet, "true")

    assert mine
    assert (told["keeper_started"], quiet.started) == (False, [])


def test_an_act_is_told_even_when_no_keeper_can_be_started(quiet, monkeypatch):
    """What was accepted has its receipt, and a sentence says what is missing."""

    def fail(home):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("tarry.cli.personal_store._start_keeper", fail)
    code, out, err = quiet.say("run", "--target", "x", "--", "true")

    assert (code, out.startswith("leaves ")) == (0, True)
    assert err.startswith("tarry: no keeper could be started (Cannot allocate memory), and nothing leaves")
    assert len(quiet.ask("queue")["posts"]) == 1


def test_no_command_releases_anything(quiet):
    """With acts that are due and no keeper, whatever one types lets nothing out."""
    told = [hand_in(quiet, "echo", target, target=target) for target in ("x", "y", "z")]
    quiet.pass_ticks(ALL_GONE, release=False)
    quiet.ask("queue")
    quiet.ask("withdraw", told[2]["id"])
    hand_in(quiet, "echo", "new")
    quiet.say("repeat", told[0]["id"])
    states = {post["id"]: post["state"] for post in quiet.ask("queue")["posts"]}

    assert [states[each["id"]] for each in told[:2]] == ["waiting", "waiting"]
    assert not quiet.home.outputs.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target", "x"], "no command given: write it after --, as in tarry run --target X -- COMMAND"),
        (
            ["--target", "x", "--"],
            "no command given: write it after --, as in tarry run --target X -- COMMAND",
        ),
        (["--", "true"], "the following arguments are required: --target (see tarry run --help)"),
        (
            ["--target", "x", "--nonsense"],
            "unrecognized arguments: --nonsense (see tarry run --help)",
        ),
        (["--target", "x", "--", "no-such-program"], "'no-such-program' cannot be run: check its name"),
        (["--target", "x", "--", "/"], "'/' cannot be run: check its name"),
        (["--target", "x", "--", ""], "'' cannot be run: check its name"),
        (
            ["--target", "x", "--env", "NOPE", "--", "true"],
            "NOPE is not set: set it, or leave out --env NOPE",
        ),
        (["--target", "", "--", "true"], "target must have 1 to 4096 characters, not 0"),
        (["--target", "\udcff", "--", "true"], "target must be Unicode text"),
        (
            ["--target", "x", "--after", "abcd", "--", "true"],
            "no waiting or parked post has the name 'abcd'",
        ),
        (
            ["--target", "x", "--policy", "nowhere", "--", "true"],
            "the policy file 'nowhere' cannot be read (No such file or directory)",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_sentence(quiet, words, sentence):
    """A command that could never run is refused while somebody reads it, and nothing waits."""
    assert quiet.refusal("run", *words).startswith(f"tarry run: {sentence}")
    assert quiet.ask("queue")["posts"] == []
    assert quiet.started == []


LOADED = """
import sys
from tarry.cli import personal_store
from tarry.cli.main import main
personal_store._start_keeper = lambda home: None
assert main(["run", "--target", "x", "--", "true"]) == 0
print(*sys.modules, file=sys.stderr)
"""


def test_handing_in_does_not_load_numpy(shell):
    """A person at a shell does not wait for numpy."""
    ran = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    loaded = ran.stderr.split()

    assert "tarry.keep.gate" in loaded
    assert "numpy" not in loaded


def test_waiting_for_a_command_ends_with_its_release_and_the_keeper_ends_too(shell):
    """Alone at a shell: --wait returns 0 once the command has run, and nothing is left running."""
    shell.write_policy(FAST)
    code, out, err = shell.finish("run", "--wait", "--json", "--target", "x", "--", "echo", "hello")
    told, place = json.JSONDecoder().raw_decode(out)
    wait_until(lambda: not shell.keepers())

    assert (code, err, told["keeper_started"]) == (0, "", True)
    assert json.loads(out[place:]) == {"id": told["id"], "state": "released", "problem": None}
    assert printed(told) == b"hello\n"
    assert shell.ask("queue") == {
        "posts": [],
        "keeper": False,
        "encrypted": True,
        "batched_acts": 0,
        "nats": 0,
        "beyond_promise": False,
    }


def test_waiting_for_a_command_that_fails_tells_why(shell):
    """--wait returns 1 for an act that was parked, and says what is the matter and where to look."""
    shell.write_policy(FAST)
    code, out, err = shell.finish("run", "--wait", "--target", "x", "--", "sh", "-c", "echo oh; exit 3")
    (post,) = shell.ask("queue")["posts"]

    assert (code, out.startswith("leaves ")) == (1, True)
    assert err == f"tarry: it is parked: {post['problem']}\n"
    assert post["problem"].startswith(
        f"the command ended with 3; what it printed is in {shell.home.outputs}/"
    )
