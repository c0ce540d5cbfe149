"""Audits under way: whose they are, who goes next, what they may use, and that nothing is left of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from contracts.at_audit import ANSWER, child_program, until
from tarry.console.audit.jobs import Audits, PrivateFolder, remove_abandoned
from tarry.console.audit.process import ChildLimits, Ending, run_child
from tarry.gateway.problems import BadRequest

LIMITS = ChildLimits(seconds=60, memory_bytes=2 << 30)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Builds audits whose processes wait for the file `go`, and closes them in the end."""
    made = []

    def build(*, more="", limits=None, **others):
        program, go = child_program(tmp_path, monkeypatch, more=more)
        made.append(Audits(limits or LIMITS, program=program, **others))
        return made[-1], go

    yield build
    for audits in made:
        audits.close()


def ready(audits, owner="me"):
    """An upload that was looked at."""
    job = audits.new(owner, "a token")
    path = job.upload_folder / "votes.csv"
    path.write_text("user,page,at\n", encoding="utf-8")
    audits.look(job, path)
    until(lambda: job.state == "ready")
    return job


# --- one after the other ------------------------------------------------------------------------------


def test_an_audit_goes_from_upload_to_answer_and_its_upload_goes_on_the_way(make):
    audits, go = make()
    job = ready(audits)
    assert job.folder.stat().st_mode & 0o777 == 0o700
    audits.run(job, {})
    until(lambda: job.progress.get("stage") == "advising")
    go.touch()
    until(lambda: job.state == "done")

    assert job.answer == ANSWER
    assert not list(job.upload_folder.iterdir())
    with pytest.raises(BadRequest, match="under way or over"):
        audits.run(job, {})


def test_two_run_at_a_time_and_the_others_know_their_place(make):
    audits, go = make()
    jobs = [ready(audits) for _ in range(4)]
    for job in jobs:
        audits.run(job, {})
    until(lambda: [bool(job.progress) for job in jobs] == [True, True, False, False])
    assert [audits.place(job) for job in jobs] == [0, 0, 1, 2]

    audits.forget(jobs[0])
    until(lambda: jobs[2].progress)
    assert [audits.place(job) for job in jobs] == [0, 0, 0, 1]
    go.touch()
    until(lambda: all(job.state == "done" for job in jobs[1:]))


def test_another_session_does_not_find_it(make):
    audits, _ = make()
    job = ready(audits)

    assert audits.find("me", job.id) is job
    for owner, number in (("you", job.id), ("me", job.id[:-1]), ("", job.id), ("me", "")):
        with pytest.raises(BadRequest) as refused:
            audits.find(owner, number)
        assert refused.value.status == 404
    assert audits.of("you") == []
    assert audits.of("me") == [job]


def test_there_is_a_most_of_audits(make):
    audits, _ = make(most=2)
    audits.new("me", "mine")
    second = audits.new("you", "yours")
    with pytest.raises(BadRequest) as refused:
        audits.new("me", "mine")
    audits.forget(second)

    assert refused.value.status == 429
    assert audits.new("me", "mine")


def test_one_token_cannot_take_all_places(make):
    audits, _ = make(most=10, share=2)
    for session in ("one", "another"):
        audits.new(session, "mine")
    with pytest.raises(BadRequest, match="your token has 2 audits here already") as refused:
        audits.new("a third", "mine")

    assert refused.value.status == 429
    assert [audits.new("you", "yours").state for _ in range(2)] == ["coming", "coming"]


def test_a_problem_with_columns_leads_back_to_the_choice(make):
    problem = 'print(json.dumps({"problem": "no such column"}), flush=True)\nsys.exit()'
    audits, go = make(more=problem)
    go.touch()
    job = ready(audits)
    audits.run(job, {})
    until(lambda: job.problem)

    assert (job.state, job.problem) == ("ready", "no such column")
    assert job.path.exists()


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        ("os.abort()", "memory"),
        ("os.kill(os.getpid(), 9)", "memory"),
        ("import signal; signal.alarm(1); time.sleep(60)", "longer"),
        ("sys.exit(1)", "broke off"),
        ("print('x' * 9_000_000); sys.exit()", "broke off"),
    ],
)
def test_a_process_that_ends_badly_is_one_sentence_and_its_upload_is_gone(make, happens, told):
    audits, go = make(more=happens)
    go.touch()
    job = ready(audits)
    audits.run(job, {})
    until(lambda: job.state == "failed")

    assert told in job.problem
    assert job.problem.count(". ") == 0
    assert not job.upload_folder.exists()


# --- nothing is left ----------------------------------------------------------------------------------


def test_forgetting_ends_the_process_and_deletes_everything(make):
    audits, _ = make()
    job = ready(audits)
    audits.run(job, {})
    process = until(lambda: job.progress and job.process)
    audits.forget(job)
    until(lambda: process.poll() is not None)

    assert not job.folder.exists()
    assert audits.of("me") == []


def test_results_are_deleted_by_themselves(make):
    audits, go = make()
    job = ready(audits)
    audits.run(job, {})
    audits._kept_s = 0.1
    go.touch()
    until(lambda: not job.folder.exists())

    assert audits.of("me") == []


def test_an_upload_that_nobody_goes_on_with_is_deleted_by_itself(make):
    audits, _ = make(untouched_s=0.2)
    job = ready(audits)
    until(lambda: not job.folder.exists())


def test_closing_deletes_everything(make):
    audits, _ = make()
    job = ready(audits)
    place = job.folder.parent
    audits.run(job, {})
    audits.close()

    assert not place.exists()


def test_what_a_crash_has_left_is_deleted_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "from tarry.console.audit.jobs import PrivateFolder\n"
        "import os, signal\n"
        "folder = PrivateFolder()\n"
        "(folder.path / 'votes.csv').write_text('ann')\n"
        "print(folder.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    crashed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    left, living = Path(crashed.stdout.strip()), PrivateFolder()
    assert crashed.returncode == -signal.SIGKILL
    assert (left / "votes.csv").exists()

    Audits(LIMITS)

    assert not left.exists()
    assert living.path.exists()
    living.remove()


def test_a_link_and_a_file_that_look_abandoned_are_let_be(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / "tarry-audit-link").symlink_to(tmp_path / "mine")
    (tmp_path / "tarry-audit-file").write_text("mine", encoding="utf-8")

    assert remove_abandoned() == 0
    assert (tmp_path / "mine").is_dir()


# --- the real process ---------------------------------------------------------------------------------


def test_a_process_is_told_nothing_of_the_gateways_settings(tmp_path, monkeypatch):
    monkeypatch.setenv("TARRY_DATABASE", "postgresql://me:secret@db/tarry")
    program, go = child_program(tmp_path, monkeypatch, more="told = dict(os.environ)")
    go.touch()
    (tmp_path / "x").touch()
    found = run_child(
        tmp_path, {"do": "audit", "path": "x"}, LIMITS, on_progress=lambda _: None, program=program
    )

    assert found.answer["TMPDIR"] == str(tmp_path)
    assert not [name for name in found.answer if name.startswith("TARRY")]


def test_a_process_leaves_when_nobody_waits_for_it(tmp_path):
    """It reads a pipe that never says anything, and notices all the same that its server has died."""
    os.mkfifo(tmp_path / "never.csv")
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "tarry.console.audit.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    path = str(tmp_path / "never.csv").encode()
    child.stdin.write(b'{"do": "look", "path": "%s", "seconds": 60, "memory_bytes": 4000000000}\n' % path)
    child.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.stdin.close()

    assert child.wait(30) == 1


def test_a_process_that_takes_too_long_is_ended(tmp_path):
    os.mkfifo(tmp_path / "never.csv")
    task = {"do": "look", "path": str(tmp_path / "never.csv")}

    assert run_child(
        tmp_path, task, ChildLimits(seconds=1, memory_bytes=2 << 30), on_progress=print
    ) == Ending(why="time")


def test_a_small_file_that_holds_a_giant_runs_into_the_limit_of_memory(tmp_path):
    path = tmp_path / "bomb.parquet"
    zeros = pl.LazyFrame({"x": [0]}).select(actor=pl.repeat(0, 60_000_000, dtype=pl.Int64))
    zeros.with_columns(target=pl.lit(1), time=pl.lit(2)).sink_parquet(path)
    limits = ChildLimits(seconds=60, memory_bytes=600 << 20)
    found = run_child(tmp_path, {"do": "look", "path": str(path)}, limits, on_progress=print)

    assert path.stat().st_size < 1 << 20
    assert found == Ending(why="memory")


def test_a_problem_of_a_file_comes_back_as_its_sentence(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user,page,at\n", encoding="utf-8")
    found = run_child(tmp_path, {"do": "look", "path": str(path)}, LIMITS, on_progress=print)

    assert found == Ending(problem="the history votes.csv has no rows: choose a file with rows in it")
