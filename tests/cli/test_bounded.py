"""Too little memory, in real processes: one sentence, no traceback, and the history is not blamed."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tarry.cli.bounded import CAN_SUPERVISE
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe

pytestmark = pytest.mark.skipif(not CAN_SUPERVISE, reason="only Linux ends children with their parents")
POLICY = "epsilon=1,gap=11m"
COMMANDS = {
    "audit": ["--no-advice"],
    "compare": ["--policy", POLICY],
    "simulate": ["--policy", POLICY, "-o", "released.csv"],
    "watch": [],
    "learn": ["-o", "policy.toml"],
    "adoption": ["--policy", POLICY],
}
GIB = 1 << 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = synthesize(Recipe(events=3_000, actors=60, bots=0), seed=1)
    rows = zip(made.actor.tolist(), made.target.tolist(), made.time.tolist(), strict=True)
    where = tmp_path_factory.mktemp("bounded")
    lines = ["actor,target,time", *(f"{actor},{target},{time}" for actor, target, time in rows)]
    (where / "month.csv").write_text("\n".join(lines) + "\n")
    return where


def limited(folder, *words, addresses=None, stack=None, environment=None, code=None):
    """A command in a process of its own, under limits."""

    def limit():
        if stack is not None:
            resource.setrlimit(resource.RLIMIT_STACK, (stack, resource.RLIM_INFINITY))
        if addresses is not None:
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    start = [sys.executable, "-m", "tarry"] if code is None else [sys.executable, "-c", code]
    return subprocess.run(
        [*start, *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=120,
        check=False,
    )


def is_one_sentence(done):
    assert (done.returncode, done.stdout) == (2, "")
    said = [line for line in done.stderr.splitlines(keepends=True) if not line.startswith("note: ")]
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_fit_is_refused_before_the_work(folder, command):
    """By each command, with what is needed, what there is, and what to do."""
    words = [command, "month.csv", *COMMANDS[command]]
    said = is_one_sentence(limited(folder, *words, addresses=GIB))

    assert said.startswith(f"tarry {command}: this needs about ")
    assert said.endswith("GB of addresses, and ulimit -v allows 1.07 GB: allow more memory\n")


@pytest.mark.parametrize("addresses", [150 << 20, 400 << 20, 1300 << 20])
def test_no_size_of_the_limit_brings_a_traceback(folder, addresses):
    """Wherever it would have ended: in the loader, in a library's threads, in compiled code."""
    is_one_sentence(limited(folder, "audit", "month.csv", addresses=addresses))


def test_threads_that_cannot_start_are_too_little_memory(folder):
    """Their stacks are so long that no second one fits; a library would wait for it for ever."""
    is_one_sentence(limited(folder, "audit", "month.csv", addresses=5 * GIB, stack=2 * GIB))


def test_help_needs_no_memory(folder):
    done = limited(folder, "audit", "--help", addresses=600 << 20)

    assert (done.returncode, done.stderr) == (0, "")


#: As `tarry audit`, but the estimate says nothing, so that memory runs out in the middle of the work.
UNCHECKED = """
import sys, tarry.study.memory, tarry.cli.main
tarry.study.memory._check = lambda *_, **__: None
sys.exit(tarry.cli.main.main())
"""


def test_where_memory_runs_out_all_the_same_it_is_one_sentence(folder):
    """Libraries end the process, each in its own way; nothing of it is shown."""
    # With some more a library now and then waits for ever for a thread that could not start: docs/study.md.
    done = limited(folder, "audit", "month.csv", "--no-advice", addresses=450 << 20, code=UNCHECKED)
    said = is_one_sentence(done)

    assert "there is too little memory for this: leave out busy actors" in said


def gives(folder, body):
    """A process in which the work of every command is this one."""
    code = f"import os, signal, sys\nimport tarry.cli.main as m\ndef work(words):\n    {body}\n"
    return limited(folder, "audit", code=code + "m._run = work\nsys.exit(m.main())")


@pytest.mark.parametrize("name", ["SIGABRT", "SIGKILL", "SIGSEGV"])
def test_whatever_ends_the_work_is_told(folder, name):
    """The system's own way to get memory back among it."""
    said = is_one_sentence(gives(folder, f"os.write(2, b'noise'); os.kill(os.getpid(), signal.{name})"))

    assert said.startswith(
        "tarry: a library or the system ended this, most likely because there is too little"
    )


@pytest.mark.parametrize("trouble", ["OSError(12, 'Cannot allocate memory')", "OSError('os error 12')"])
def test_a_file_that_cannot_be_mapped_for_want_of_memory_is_no_answer_that_cannot_be_written(
    folder, trouble
):
    """With the system's number, or without one where a limit has nearly been reached."""
    body = f"import tarry.readers.free_memory as r; r.is_short = lambda: True; raise {trouble}"

    assert is_one_sentence(gives(folder, body)).startswith("tarry: there is too little memory for this:")


def test_a_mistake_of_ours_stays_a_traceback(folder):
    """Nobody is told of memory where there is enough of it."""
    done = gives(folder, "raise KeyError('mistake')")

    assert done.returncode == 1
    assert "KeyError: 'mistake'" in done.stderr
    assert "memory" not in done.stderr


def test_what_libraries_write_is_shown_in_the_end(folder):
    """And the answer and its code are those of the work."""
    done = gives(folder, "print('answer'); os.write(2, b'a warning'); return 1")

    assert (done.returncode, done.stdout, done.stderr) == (1, "answer\n", "a warning")


def test_who_ends_the_command_ends_its_work(folder):
    """A signal is passed on; nothing is left running."""
    code = (
        "import os, signal, sys, time\nimport tarry.cli.main as m\n"
        "def work(words):\n    print(os.getpid(), flush=True)\n    signal.pause()\n"
        "m._run = work\nsys.exit(m.main())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "audit"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        child = int(process.stdout.readline())
        process.terminate()

        assert process.wait(timeout=30) == 128 + signal.SIGTERM
        assert not Path(f"/proc/{child}").exists()
