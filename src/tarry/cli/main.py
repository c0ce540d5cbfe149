"""`tarry`: finds the command, and turns errors into one sentence and an exit code.

Exit codes: 0 done; 1 a promise is broken (`verify`), an act did not leave (`--wait`) or no keeper runs
(`keeper status`); 2 something on the command line is wrong or impossible.
A command's file is loaded only when that command runs, so `tarry --help` costs next to nothing.

A package adds a command by naming its module, which has `add_arguments` and `run`:

    [project.entry-points."tarry.commands"]
    mastodon = "tarry_mastodon.command"
"""

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from difflib import get_close_matches
from errno import ENOMEM
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tarry.cli.bounded import CAN_SUPERVISE, TOO_LITTLE, supervised

if TYPE_CHECKING:  # loaded where an installed package's command may be meant
    from importlib.metadata import EntryPoint

__all__ = [
    "COMMANDS",
    "EXTRAS",
    "Argument",
    "CommandEntry",
    "Parser",
    "UsageError",
    "add_all",
    "main",
    "need_study",
    "parser_of",
    "read_text",
    "what_to_install",
]


class CommandEntry(NamedTuple):
    """Where a command is, and what it does in one line.

    >>> COMMANDS["plan"].place
    'tarry.cli.plan'
    """

    place: str  # its module, or `module:Class` where several commands share a file
    summary: str


COMMANDS = {
    "plan": CommandEntry("tarry.cli.plan", "what a policy costs: how long acts wait"),
    "frontier": CommandEntry(
        "tarry.cli.plan:Frontier", "the trade-off between batched and unbatched delay"
    ),
    "season": CommandEntry("tarry.cli.season", "what many pairs together are worth to an observer"),
    "verify": CommandEntry(
        "tarry.cli.verify", "check a policy's promise exactly: it holds, or a counterexample"
    ),
    "attest": CommandEntry(
        "tarry.cli.attest", "hold any mechanism to a promise, by its releases alone: a bound, or a breach"
    ),
    "worth": CommandEntry(
        "tarry.cli.worth", "what a habit is worth: epsilon and delta, delays, and what is cheaper"
    ),
    "explain": CommandEntry(
        "tarry.cli.plan:Explain", "what a policy promises and what it does not, in words"
    ),
    "delay": CommandEntry("tarry.cli.delay", "draw one delay now, in seconds, from the secure source"),
    "run": CommandEntry("tarry.places.command.command", "run a command after a random delay"),
    "git": CommandEntry("tarry.places.git.command", "push commits after a random delay"),
    "mail": CommandEntry("tarry.places.mail.command", "send a mail after a random delay"),
    "wiki": CommandEntry("tarry.places.mediawiki.command", "edit a wiki after a random delay"),
    "openreview": CommandEntry(
        "tarry.places.openreview.command", "post on OpenReview after a random delay"
    ),
    "wallet": CommandEntry(
        "tarry.places.bitcoin.command", "send Bitcoin transactions after a random delay"
    ),
    "queue": CommandEntry("tarry.cli.queue", "what waits in your own store, and when it leaves"),
    "withdraw": CommandEntry("tarry.cli.queue:Withdraw", "take a waiting act back"),
    "repeat": CommandEntry("tarry.cli.queue:Repeat", "hand a parked act in again"),
    "page": CommandEntry("tarry.cli.page", "a page of your own: what waits, what is parked, and forms"),
    "keeper": CommandEntry("tarry.cli.keeper", "release what is due, now and from now on"),
    "serve": CommandEntry("tarry.cli.serve", "run a gateway: posts come in over HTTP, wait, and leave"),
    "worker": CommandEntry(
        "tarry.cli.serve:Worker", "release what is due at a gateway, beside its servers"
    ),
    "doctor": CommandEntry("tarry.cli.doctor", "look over this installation, and say what is wrong"),
    "completion": CommandEntry(
        "tarry.cli.completion", "a script with which bash, zsh or fish completes commands and options"
    ),
    "space": CommandEntry("tarry.cli.space", "make and change the spaces of a gateway"),
    "token": CommandEntry("tarry.cli.token", "who may use a gateway, and for what"),
    "parked": CommandEntry("tarry.cli.parked", "posts of a gateway that could not be delivered"),
    "prune": CommandEntry("tarry.cli.prune", "delete old rows of a gateway"),
    "status": CommandEntry("tarry.cli.status", "how a gateway is doing"),
    "store": CommandEntry("tarry.cli.store", "encrypt a store, change its key, forget an account"),
    "migrate": CommandEntry("tarry.cli.backup:Migrate", "bring a gateway's database up to date"),
    "backup": CommandEntry("tarry.cli.backup", "write all of a gateway's tables to one file"),
    "restore": CommandEntry("tarry.cli.backup:Restore", "bring a backup back, paused"),
    "resume": CommandEntry("tarry.cli.backup:Resume", "let a restored gateway work again"),
    "read": CommandEntry("tarry.cli.read", "somebody's export as a file of events"),
    "audit": CommandEntry(
        "tarry.cli.audit", "how linkable a history's people are, and what a delay would change"
    ),
    "simulate": CommandEntry(
        "tarry.cli.simulate", "replay a history under a policy, and write the releases"
    ),
    "compare": CommandEntry("tarry.cli.audit:Compare", "policies and other systems' habits side by side"),
    "watch": CommandEntry("tarry.cli.watch", "how often a long watch finds a person's other name"),
    "adoption": CommandEntry("tarry.cli.adoption", "what a policy is worth if only some people take part"),
    "learn": CommandEntry("tarry.cli.learn", "learn a policy from a history"),
    "synth": CommandEntry("tarry.cli.synth", "make up a history with known truth"),
    "reproduce": CommandEntry(
        "tarry.cli.reproduce", "the paper's figures: as printed, as coded, corrected"
    ),
}
#: What holds a whole history in memory.
STUDIES = ("audit", "simulate", "compare", "watch", "adoption", "learn")
WRONG = 2
STOPPED = 130  # as the shell calls it
_LARGEST_FILE = 1 << 20
#: The extras of `pyproject.toml`, and the packages by which each is known.
EXTRAS = {
    "fast": ("cryptography",),
    "postgres": ("psycopg",),
    "study": ("polars", "numba", "altair", "vl_convert", "backports.zstd"),
    "stream": ("duckdb",),
    "spark": ("pyspark", "pyarrow", "pandas"),
    "paper": ("scipy",),
    "gateway": ("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "httpx2", "jinja2"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    >>> main(["plan", "--epsilon", "1"])
    2
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if sys.stdin is None or sys.stdout is None:
        return WRONG  # closed by the caller: there is nothing to read from, or nowhere to answer
    if argv is None and CAN_SUPERVISE and words[:1] and words[0] in STUDIES:
        return supervised(lambda: _main(words))
    return _main(words)


def _main(words: list[str]) -> int:
    code = 0
    try:
        code = _run(words)
        sys.stdout.flush()  # here: at the interpreter's end nobody would catch that the reader has gone
    except BrokenPipeError:  # nothing left to say, and nobody to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        from tarry.readers.free_memory import is_short  # noqa: PLC0415 - hardly ever needed

        if error.errno == ENOMEM or (error.errno is None and is_short()):  # libraries give no number
            print(f"tarry: {TOO_LITTLE}", file=sys.stderr)
        elif error.filename:
            print(f"tarry: {error.filename!r} cannot be used: {error.strerror}", file=sys.stderr)
        elif isinstance(error, FileNotFoundError):  # no answer ends like that
            print("tarry: the working directory is gone: change to one that exists", file=sys.stderr)
        else:
            print(f"tarry: the answer cannot be written: {error.strerror or error}", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return WRONG
    except KeyboardInterrupt:
        return STOPPED
    except BaseException as error:  # a panic of a library is not even an Exception
        from tarry.readers.free_memory import is_short  # noqa: PLC0415 - hardly ever needed

        if not (isinstance(error, MemoryError) or is_short()):
            raise
        print(f"tarry: {TOO_LITTLE}", file=sys.stderr)
        return WRONG
    return code


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version  # noqa: PLC0415 - only here

        print(f"tarry {version('tarry')}")
        return 0
    name = words[0]
    if name in COMMANDS:
        return _run_command(name, COMMANDS[name].place, words[1:])
    if (entry := _installed().get(name)) is not None:
        return _run_installed(entry, words[1:])
    hint = _did_you_mean(name, COMMANDS) or "tarry --help lists them"
    print(f"tarry: there is no command {name!r}: {hint}", file=sys.stderr)
    return WRONG


def _run_command(name: str, place: str, words: list[str]) -> int:
    parser = parser_of(name, place)
    from tarry.core.errors import TarryError  # noqa: PLC0415 - `tarry --help` does not need it

    try:
        chosen = parser.read(words)
        if name in STUDIES:
            from tarry.study.memory import check_base  # noqa: PLC0415 - only where a history is held

            check_base()
        return int(_command(place).run(chosen) or 0)
    except (TarryError, UsageError) as error:
        print(f"tarry {name}: {' '.join(str(error).splitlines())}", file=sys.stderr)
        return WRONG
    except ModuleNotFoundError as error:
        if (sentence := what_to_install(error)) is None:
            raise
        print(f"tarry {name}: {sentence}", file=sys.stderr)
        return WRONG
    except SystemExit:  # --help has been answered
        return 0


def _run_installed(entry: "EntryPoint", words: list[str]) -> int:
    try:
        import_module(entry.module)
    except Exception as error:  # noqa: BLE001 - somebody else's code: the sentence says whose it is
        problem = f"the command {entry.name!r} ({entry.value}) cannot be loaded: {error}"
        print(f"tarry: {problem}: repair or uninstall its package", file=sys.stderr)
        return WRONG
    return _run_command(entry.name, entry.module, words)


def parser_of(name: str, place: str) -> "Parser":
    """What reads the options of a command; it loads no package of an extra, so --help works without.

    >>> parser_of("plan", "tarry.cli.plan").prog
    'tarry plan'
    """
    command = _command(place)
    # The docstring of a class is indented.
    about = re.sub(r"^    ", "", command.__doc__, flags=re.MULTILINE) if ":" in place else command.__doc__
    parser = Parser(prog=f"tarry {name}", description=about)
    command.add_arguments(parser)
    for each in parser.subcommands.values() or [parser]:
        with suppress(argparse.ArgumentError):  # another package's command may have added it
            each.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _command(place: str) -> Any:
    """What has the docstring, `add_arguments` and `run` of a command."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def _installed() -> dict[str, "EntryPoint"]:
    """The commands of other packages, by name; none takes the place of one of ours."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - most calls of tarry do not need it

    return {
        entry.name: entry for entry in entry_points(group="tarry.commands") if entry.name not in COMMANDS
    }


def _help() -> str:
    summaries = {name: command.summary for name, command in COMMANDS.items()}
    summaries |= {
        name: f"from the package {entry.dist.name}" for name, entry in _installed().items() if entry.dist
    }
    width = max(map(len, summaries))
    lines = [
        "usage: tarry COMMAND [OPTIONS]",
        "",
        "Delays that keep pseudonyms from being linked by when they act.",
        "",
        *(f"  {name:<{width}}  {summary}" for name, summary in summaries.items()),
        "",
        "tarry COMMAND --help shows the options of a command; every command has --json.",
    ]
    return "\n".join(lines)


# --- what a plain installation does not bring -------------------------------------------------


def need_study(*packages: str, extra: str = "study") -> None:
    """Refuse a command whose packages are missing. Call it before importing from `tarry.study`.

    >>> need_study("no_such_package")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.cli.main.UsageError: this command needs the study extra: ...
    """
    if any(find_spec(package) is None for package in packages or ("polars", "numba")):
        raise UsageError(_needs(extra))


def what_to_install(error: ModuleNotFoundError) -> str | None:
    """The sentence for a package that is not installed; None if it belongs to no extra.

    >>> what_to_install(ModuleNotFoundError(name="starlette.routing"))
    "this command needs the gateway extra: pip install '.[gateway]' in a checkout of tarry"
    """
    package = (error.name or "").partition(".")[0]
    extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
    return None if extra is None else _needs(extra)


def _needs(extra: str) -> str:
    return f"this command needs the {extra} extra: pip install '.[{extra}]' in a checkout of tarry"


# --- reading the words of a command line ------------------------------------------------------------


class UsageError(Exception):
    """The command line, or a file that it names, cannot be used; the text is the one sentence to print.

    >>> raise UsageError("there is no command 'verfy': did you mean verify?")
    Traceback (most recent call last):
    tarry.cli.main.UsageError: there is no command 'verfy': did you mean verify?
    """


class Argument:
    """An argument or option of a command, as `argparse` takes it; several commands may share one.

    >>> Argument("--seed", metavar="N", type=int, default=0, help="of the delays (default 0)").names
    ('--seed',)
    """

    def __init__(self, *names: str, **settings: Any) -> None:
        self.names, self.settings = names, settings


def add_all(parser: argparse.ArgumentParser, *arguments: Argument) -> None:
    """The arguments of a command, in the order of its help.

    >>> parser = argparse.ArgumentParser()
    >>> add_all(parser, Argument("file"), Argument("--force", action="store_true"))
    >>> parser.parse_args(["month.csv", "--force"])
    Namespace(file='month.csv', force=True)
    """
    for each in arguments:
        parser.add_argument(*each.names, **each.settings)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without the usage block before it; may have subcommands.

    >>> parser = Parser(prog="tarry space")
    >>> space = parser.add_subcommand("add", "make a space", Argument("name"))
    >>> parser.read(["add", "talk"]).name
    'talk'
    >>> parser.read(["ad", "talk"])
    Traceback (most recent call last):
    tarry.cli.main.UsageError: there is no subcommand 'ad': did you mean add?
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self.subcommands: dict[str, Parser] = {}
        self._default: Parser | None = None
        self._menu: argparse._SubParsersAction[Parser] | None = None

    def add_subcommand(
        self, name: str, summary: str, *arguments: Argument, is_default: bool = False
    ) -> "Parser":
        """The parser of a subcommand, with its arguments; the default one needs not be named."""
        if self._menu is None:
            self._menu = self.add_subparsers(title="subcommands", metavar="SUBCOMMAND")
        about = summary[0].upper() + summary[1:] + "."
        child = self._menu.add_parser(name, help=summary, description=about)
        child.set_defaults(subcommand=name)
        add_all(child, *arguments)
        self.subcommands[name] = child
        if is_default:
            self._default = child
        return child

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments that the words of a command line give."""
        if self.subcommands and not {"-h", "--help"}.intersection(words[:1]):
            child, rest = self._choose(list(words))
            return child.read(rest)
        if any(action.nargs in {argparse.REMAINDER, argparse.PARSER} for action in self._actions):
            return self.parse_args(words)  # they belong to another program, and are left as they are
        return self.parse_intermixed_args(_join_negatives(words))

    def _choose(self, words: list[str]) -> tuple["Parser", list[str]]:
        """The subcommand that is meant, and the other words; options may stand before it."""
        for index, word in enumerate(words):
            if word in self.subcommands:
                return self.subcommands[word], words[:index] + words[index + 1 :]
            if not word.startswith("-") and (index == 0 or words[index - 1] != "--config"):
                break
        if self._default is not None and (not words or words[0].startswith("-")):
            return self._default, words
        typed = next((word for word in words if not word.startswith("-")), None)
        if typed is None:
            raise UsageError(f"no subcommand given: use {', '.join(self.subcommands)}")
        hint = _did_you_mean(typed, self.subcommands) or f"use {', '.join(self.subcommands)}"
        raise UsageError(f"there is no subcommand {typed!r}: {hint}")

    def error(self, message: str) -> NoReturn:
        """Raise the sentence instead of leaving the process."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def _did_you_mean(typed: str, known: Iterable[str]) -> str:
    """The nearest word that is known, as a question; empty if none is near."""
    near = get_close_matches(typed, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _join_negatives(words: Sequence[str]) -> list[str]:
    """`--gap -5m` as `--gap=-5m`, so that the rule about negative gaps answers and not the parser."""
    joined: list[str] = []
    for word in words:
        if joined and re.match(r"-[\d.]", word) and re.fullmatch(r"--[a-z-]+", joined[-1]):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def read_text(path: str, what: str) -> str:
    """The text of a file that the command line names, or of standard input for `-`; `what` says which.

    >>> read_text("no such file", "the policy file")
    Traceback (most recent call last):
    tarry.cli.main.UsageError: the policy file 'no such file' cannot be read (No such file or directory): \
check its name and its rights
    """
    try:
        with nullcontext(sys.stdin) if path == "-" else Path(path).open(encoding="utf-8") as file:
            text = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        problem = f"{what} {path!r} cannot be read ({error.strerror})"
        raise UsageError(f"{problem}: check its name and its rights") from None
    except UnicodeDecodeError:
        raise UsageError(f"{what} {path!r} must be UTF-8 text") from None
    if len(text) > _LARGEST_FILE:
        raise UsageError(f"{what} must be at most 1 MiB, and this one is larger")
    return text
