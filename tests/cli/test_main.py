"""`tarry` itself: it finds the command, and answers anything wrong with one sentence and exit code 2."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tarry.cli.main import COMMANDS, main, parser_of

PLAN = ["plan", "--epsilon", "1", "--gap", "11m"]


def tarry(*words, **more):
    """The command in a process of its own, buffering as it would for a user."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "tarry", *words],
        check=False,
        text=True,
        env=environment,
        **{"capture_output": True, **more},
    )


def refusal(words, capsys):
    """The one line that a wrong command line gets."""
    code = main(words)
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    return err.strip()


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(words, capsys):
    """Without a command, or asked for help, tarry tells what there is."""
    code = main(words)
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    for name, command in COMMANDS.items():
        assert f"{name} " in out
        assert command.summary in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_its_options(name, capsys):
    """`--help` of a command exits with 0, and every command has --json."""
    code = main([name, "--help"])
    out, err = capsys.readouterr()

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: tarry {name}")
    for child in parser_of(name, COMMANDS[name].place).subcommands or [None]:
        main([name, *filter(None, [child]), "--help"])
        out, err = capsys.readouterr()

        assert " --json " in out


SUBCOMMANDS = [
    (name, child)
    for name, command in COMMANDS.items()
    for child in parser_of(name, command.place).subcommands
]


#: Options of some subcommands, and whose they are.
OWNERS = {
    "--accept-straddle": [("space", "policy")],
    "--webhook": [("space", "add"), ("space", "set")],
    "--scope": [("token", "add")],
    "--may-have-left": [("parked", "retry")],
    "--at-once": [("store", "forget")],
    "--until-empty": [("keeper", "run")],
}


@pytest.mark.parametrize(("name", "child"), SUBCOMMANDS)
def test_every_subcommand_shows_its_options_alone(name, child, capsys):
    """Its help has no option of another one."""
    assert main([name, child, "--help"]) == 0
    out = capsys.readouterr().out

    assert out.startswith(f"usage: tarry {name} {child}")
    for option, owners in OWNERS.items():
        assert (option in out) == ((name, child) in owners)


@pytest.mark.parametrize("name", sorted({name for name, _ in SUBCOMMANDS}))
def test_a_command_lists_its_subcommands(name, capsys):
    """Its own help has a line for each."""
    assert main([name, "--help"]) == 0
    out = capsys.readouterr().out

    for child in [child for parent, child in SUBCOMMANDS if parent == name]:
        assert f"\n    {child} " in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["space", "ad", "talk"], "tarry space: there is no subcommand 'ad': did you mean add?"),
        (["token", "--json", "revok"], "tarry token: there is no subcommand 'revok': did you mean revoke?"),
        (["parked", "x"], "tarry parked: there is no subcommand 'x': use list, retry, withdraw, export"),
        (["store"], "tarry store: no subcommand given: use encrypt, rekey, forget"),
        (["store", "--json"], "tarry store: no subcommand given: use encrypt, rekey, forget"),
        (["keeper", "stat"], "tarry keeper: there is no subcommand 'stat': did you mean status?"),
    ],
)
def test_a_mistyped_subcommand_names_the_nearest(words, sentence, capsys):
    assert refusal(words, capsys) == sentence


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag, capsys):
    """The version printed is the one installed."""
    assert main([flag]) == 0
    assert capsys.readouterr().out == f"tarry {version('tarry')}\n"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("verfy", "did you mean verify?"),
        ("plam", "did you mean plan?"),
        ("--epsilon", "tarry --help lists them"),
        ("", "tarry --help lists them"),
        ("plan\nplan", "did you mean plan?"),
        ("-x", "tarry --help lists them"),
    ],
)
def test_a_mistyped_command_names_the_nearest(word, hint, capsys):
    """An unknown command is repeated, with the one that was meant or with where they are listed."""
    assert refusal([word, "--gap", "11m"], capsys) == f"tarry: there is no command {word!r}: {hint}"


class Elsewhere:
    """A module of another package, found by an entry point."""

    def __init__(self, folder, monkeypatch):
        (folder / "toots-1.dist-info").mkdir()
        (folder / "toots-1.dist-info" / "METADATA").write_text("Name: toots\nVersion: 1\n")
        points = "[tarry.commands]\ntoot = toots\nplan = toots\n"
        (folder / "toots-1.dist-info" / "entry_points.txt").write_text(points)
        self._module = folder / "toots.py"
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "toots", raising=False)

    def write(self, text):
        self._module.write_text(text)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    yield Elsewhere(tmp_path, monkeypatch)
    sys.modules.pop("toots", None)


def test_an_installed_package_brings_a_command(elsewhere, capsys):
    """It is listed with its package, and run as ours are; none takes the place of one of ours."""
    elsewhere.write(
        "def add_arguments(parser): parser.add_argument('--json', action='store_true')\n"
        "def run(arguments): print('toot', arguments.json); return 0\n"
    )
    assert main(["toot", "--json"]) == 0
    assert capsys.readouterr().out == "toot True\n"
    assert main(["--help"]) == 0
    assert "  toot        from the package toots\n" in capsys.readouterr().out
    assert main(PLAN) == 0
    assert "weighted mean" in capsys.readouterr().out


def test_a_command_that_cannot_be_loaded_says_whose_it_is(elsewhere, capsys):
    """And breaks no other command."""
    elsewhere.write("import no_such_module\n")

    assert refusal(["toot"], capsys) == (
        "tarry: the command 'toot' (toots) cannot be loaded: No module named 'no_such_module': "
        "repair or uninstall its package"
    )
    assert main(["--help"]) == 0


WRONG = [
    # numbers
    (["--epsilon", "0"], "epsilon must be between 0.000001 and 100, not 0"),
    (["--epsilon", "-1"], "epsilon must be between 0.000001 and 100, not -1"),
    (["--epsilon=-.5"], "epsilon must be between 0.000001 and 100, not -0.5"),
    (["--epsilon", "nan"], "epsilon must be a finite number of ordinary size, not 'nan'"),
    (["--epsilon", "inf"], "epsilon must be a finite number of ordinary size, not 'inf'"),
    (["--epsilon", "1e500"], "epsilon must be a finite number of ordinary size, not '1e500'"),
    (["--epsilon", "9" * 10**6], "epsilon must have at most 40 characters, not 1000000"),
    (["--epsilon", "one"], "epsilon must be a decimal number, not 'one'"),
    (["--epsilon", ""], "epsilon must be a decimal number, not ''"),
    (["--epsilon", "\u0661"], "epsilon must be a decimal number, not '\u0661'"),
    (["--epsilon", "1\n2"], "epsilon must be a decimal number, not '1\\n2'"),
    (["--weight", "2"], "weight must be between 0 and 1, not 2"),
    (["--weight", "-0.1"], "weight must be between 0 and 1, not -0.1"),
    # durations
    (["--gap", "-5m"], "gap must be 0s or longer, not '-5m'"),
    (["--gap", "5"], "gap must be numbers with units, not '5'"),
    (["--gap", "5y"], "gap has the unknown unit 'y' in '5y': use w, d, h, m, s, ms, us"),
    (["--gap", "nans"], "gap must be numbers with units, not 'nans'"),
    (["--gap", "1m1h"], "gap must name larger units first, each once, not '1m1h'"),
    (["--gap", "99999999w\n"], "gap must be at most 36525d (a century), not 99999999w"),
    (["--gap", "1" * 10**6], "gap must have at most 40 characters, not 1000000"),
    (["--gap", "36525d", "--tick", "1us"], "gap must stay below 2^40 ticks, not 36525d"),
    (["--tick", "0s"], "tick must be above 0s, not 0s"),
    (["--window", "11m"], "gap must be above the window (11m), not 11m"),
    # choices that do not exist, and choices that contradict each other
    (["--labels", "hold"], "unknown labels 'hold': use held, declared, follower, simultaneous, none"),
    (["--law", "laplace"], "unknown law 'laplace': use zero-inflated-uniform, uniform, exponential"),
    (["--cover", "both"], "unknown cover 'both': use pair, bridge"),
    (["--labels", "none"], "labels must not be 'none' with law 'zero-inflated-uniform'"),
    (
        ["--law", "label-free", "--labels", "held"],
        "labels must be 'none' with law 'label-free', not 'held'",
    ),
    (["--law", "label-free"], "delta must be above 0 and below 1 with labels 'none', not 0"),
    (["--delta", "0.1"], "delta must be 0 with labels 'held', not 0.1"),
    (
        ["--labels", "simultaneous", "--window", "5m"],
        "window must be 0s with labels 'simultaneous', not 5m",
    ),
    (
        ["--labels", "follower", "--cover", "bridge"],
        "cover must be 'pair' with labels 'follower', not 'bridge'",
    ),
    (
        ["--policy", "p.toml"],
        "--epsilon is given beside a policy file, which says everything: leave out one",
    ),
    (
        ["p.toml"],
        "--epsilon is given beside a policy file, which says everything: leave out one of the two",
    ),
    # words the parser cannot read
    (["--eps=2"], "unrecognized arguments: --eps=2 (see tarry {} --help)"),
    (["one", "more"], "unrecognized arguments: more (see tarry {} --help)"),
    (["--a\nb"], "unrecognized arguments: --a b (see tarry {} --help)"),
    (["--gap"], "argument --gap: expected one argument (see tarry {} --help)"),
]


@pytest.mark.parametrize("name", ["plan", "frontier", "delay"])
@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=[" ".join(words)[:30] for words, _ in WRONG])
def test_wrong_flags_get_one_sentence_and_exit_code_2(name, words, sentence, capsys):
    """Every command that takes a policy by flags refuses wrong ones in one line on standard error."""
    if name == "frontier" and words[0] == "--weight":
        sentence = "unrecognized arguments: --weight"  # it tries them all
    found = refusal([name, "--epsilon", "1", "--gap", "11m", *words], capsys)

    assert found.startswith(f"tarry {name}: {sentence.format(name)}")


@pytest.mark.parametrize("name", ["plan", "frontier", "delay", "verify", "explain"])
@pytest.mark.parametrize(
    ("words", "flag"), [([], "epsilon"), (["--epsilon", "1"], "gap"), (["--gap", "1h"], "epsilon")]
)
def test_a_policy_by_flags_needs_epsilon_and_gap(name, words, flag, capsys):
    """The sentence about a missing flag says what else would do."""
    sentence = f"tarry {name}: no {flag} given: use --{flag}, or a policy file"

    assert refusal([name, *words], capsys) == sentence


@pytest.fixture
def bad_file(tmp_path):
    """Writes a file that cannot be a policy, by name."""

    def write(kind):
        path = tmp_path / "policy.toml"
        if kind == "directory":
            path.mkdir()
        elif kind != "missing":
            path.write_bytes(
                {
                    "binary": b"\xff\xfe\x00",
                    "zeros": b"\x00\x00",
                    "too large": b"#" * ((1 << 20) + 1),
                    "not toml": b"epsilon: 1\n",
                    "nothing": b"",
                }[kind]
            )
        return str(path)

    return write


@pytest.mark.parametrize(
    "command",
    [["verify"], ["explain"], ["plan"], ["plan", "--policy"], ["frontier", "--policy"], ["delay"]],
)
@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("missing", "the policy file {!r} cannot be read (No such file or directory): check its name"),
        ("directory", "the policy file {!r} cannot be read (Is a directory): check its name"),
        ("binary", "the policy file {!r} must be UTF-8 text"),
        ("zeros", "the policy file is not valid TOML ("),
        ("too large", "the policy file must be at most 1 MiB, and this one is larger"),
        ("not toml", "the policy file is not valid TOML ("),
        ("nothing", "the policy file has no epsilon: add it, "),
    ],
)
def test_a_file_that_cannot_be_a_policy_is_refused(command, kind, rule, bad_file, capsys):
    """Whatever is wrong with a file, every command says it in one line."""
    path = bad_file(kind)
    sentence = refusal([*command, path], capsys)

    assert sentence.startswith(f"tarry {command[0]}: {rule.format(path)}")


def test_a_file_name_with_a_line_end_stays_on_one_line(capsys):
    """A name is quoted, so that it cannot pass for a message of ours."""
    assert "the policy file 'a\\nb' cannot be read" in refusal(["explain", "a\nb"], capsys)


def test_a_process_answers_as_the_function_does(capsys):
    """`python -m tarry` prints what the function prints and exits with its code."""
    main(PLAN)
    expected = capsys.readouterr().out
    right, wrong = tarry(*PLAN), tarry("plan", "--epsilon", "-1", "--gap", "11m")

    assert (right.returncode, right.stdout, right.stderr) == (0, expected, "")
    assert (wrong.returncode, wrong.stdout, len(wrong.stderr.splitlines())) == (2, "", 1)


LOADED = """
import sys
from tarry.cli.main import main
main({words!r})
print(*sys.modules, file=sys.stderr)
"""


def modules_after(words):
    """What is loaded once a command has answered."""
    code = LOADED.format(words=words)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(ran.stderr.split())


@pytest.mark.parametrize("words", [["--help"], [], ["--version"]])
def test_help_loads_neither_numpy_nor_the_core(words):
    """Asking what there is costs next to nothing."""
    loaded = modules_after(words)

    assert "tarry.cli.main" in loaded
    assert not any(name == "numpy" or name.startswith("tarry.core") for name in loaded)


def test_a_command_that_is_not_there_does_not_load_numpy():
    """Installed packages are asked for it, and nothing else."""
    assert "numpy" not in modules_after(["nothing"])


@pytest.mark.parametrize("name", ["plan", "delay", "frontier"])
def test_commands_that_draw_nothing_in_bulk_do_not_load_numpy(name):
    """A person at a shell does not wait for numpy."""
    loaded = modules_after([name, "--epsilon", "3", "--gap", "11m"])

    assert "tarry.core.policy" in loaded
    assert "numpy" not in loaded


@pytest.mark.parametrize(
    "words", [["frontier", *PLAN[1:]], ["--help"], ["plan", "--help"], [*PLAN, "--json"]]
)
def test_a_reader_who_has_left_is_no_error(words):
    """Printing into a closed pipe is quiet: no traceback, no complaint from the interpreter."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = tarry(*words, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_first_line_can_be_taken():
    """`tarry frontier ... | head -1` prints one line and nothing else."""
    command = f"{sys.executable} -m tarry frontier --epsilon 3 --gap 11m | head -1"
    ran = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)

    assert ran.stdout.split()[:2] == ["weight", "eta"]
    assert (len(ran.stdout.splitlines()), ran.stderr) == (1, "")


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    """An interrupted command prints nothing and has the exit code that shells expect."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tarry.cli.plan.plan", interrupted)

    assert main(["plan", "--epsilon", "1", "--gap", "11m"]) == 130
    assert capsys.readouterr().err == ""


def test_an_answer_that_cannot_be_written_is_no_verdict():
    """A full disk gives one sentence and exit code 2, not the code of a broken promise."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    words = [sys.executable, "-m", "tarry", "plan", "--epsilon", "1", "--gap", "11m"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("tarry: the answer cannot be written")


@pytest.mark.parametrize("words", [["help"], ["help", "plan"]])
def test_help_is_a_word_too(words, capsys):
    """`tarry help` does what one expects."""
    assert main(words) == 0
    assert "usage: tarry" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["verify", "explain"])
def test_a_policy_may_be_told_by_flags(name, capsys):
    """Where a file is read, the flags of `plan` do as well."""
    events = ["--events", "1"] if name == "verify" else []

    assert main([name, "--epsilon", "1", "--gap", "11m", *events]) == 0
    assert capsys.readouterr().out


def test_too_little_memory_is_one_sentence(monkeypatch, capsys):
    """Whatever part of the work it is that does not fit."""

    def full(words):
        raise MemoryError("Unable to allocate 91.6 MiB for an array")

    monkeypatch.setattr("tarry.cli.main._run", full)

    assert main(["plan"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "tarry: there is too little memory for this: leave out busy actors (--busy-limit)"
    )
    assert said.count("\n") == 1
