"""The command outlet: a program is run at the release, as its owner would have run it.

At most once: "started" is written down first, and a run that a crash cut off is parked, never repeated.
The program sees the words, the directory, the umask and the environment that were kept for it and nothing
else, so it cannot tell when it was handed in. What it prints goes to a private file named by its random id.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.keep.outlet import Delivery, Outlet
from tarry.keep.posts import Release

if TYPE_CHECKING:
    from tarry.keep.home import Home

__all__ = ["CommandOutlet", "command_options"]

#: Kept without being named: a program hardly runs without them, and they say nothing of the moment.
ALWAYS_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR")

_KEEPERS = -1  # the umask of the keeper, as `subprocess` calls it


def command_options(
    argv: list[str], directory: Path, environment: Mapping[str, str], named: list[str], *, umask: int
) -> dict[str, Any]:
    """What is kept of a command: its words, its directory, the named variables, and the umask.

    >>> around = {"PATH": "/bin", "EDITOR": "vi"}
    >>> command_options(["git", "push"], Path("/"), around, ["EDITOR"], umask=0o22)["environment"]
    {'PATH': '/bin', 'EDITOR': 'vi'}
    """
    missing = [name for name in named if name not in environment]
    if missing:
        raise BadInput(f"{missing[0]} is not set", f"set it, or leave out --env {missing[0]}")
    return {
        "argv": argv,
        "directory": str(directory),
        "environment": {name: environment[name] for name in (*ALWAYS_KEPT, *named) if name in environment},
        "umask": umask,
    }


class CommandOutlet(Outlet):
    """Runs programs; their output lands in a folder of the owner's.

    >>> from fractions import Fraction
    >>> from tempfile import mkdtemp
    >>> outlet = CommandOutlet(Path(mkdtemp()))
    >>> options = {"argv": ["/bin/cat"], "directory": "/", "environment": {}}
    >>> outlet.deliver(Release(id="ab12", target="x", content=b"hello", options=options, at=Fraction(0)))
    >>> (outlet.outputs / "ab12").read_text()
    'hello'
    """

    delivery: Delivery = "at most once"

    def __init__(self, outputs: Path) -> None:
        self.outputs = outputs

    @classmethod
    def for_home(cls, home: "Home") -> Self:
        """Outputs lie beside the store."""
        return cls(home.outputs)

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse what cannot be run, while somebody reads it."""
        argv = options.get("argv")
        if not isinstance(argv, list) or not argv or not all(map(_is_text, argv)):
            raise BadInput(f"a command must be a list of words without NUL, not {argv!r}")
        directory = Path(str(options.get("directory", "")))
        if not directory.is_absolute() or not directory.is_dir():
            raise BadInput(f"there is no directory {str(directory)!r}", "run it in one that exists")
        environment = options.get("environment")
        if not isinstance(environment, Mapping) or not all(map(_is_text, environment.values())):
            # Its values may be secrets.
            raise BadInput("the environment of a command must be a table of texts without NUL")
        umask = options.get("umask", _KEEPERS)
        if type(umask) is not int or not _KEEPERS <= umask <= 0o777:
            raise BadInput(f"the umask of a command must be 0 to 0o777, not {umask!r}")
        if _which(argv[0], directory, environment) is None:
            raise BadInput(f"{argv[0]!r} cannot be run", "check its name, and that it may be executed")

    def deliver(self, release: Release) -> None:
        """Run it, and wait for its end."""
        output = self.outputs / release.id
        try:
            self.check(release.options)
            self.outputs.mkdir(mode=0o700, parents=True, exist_ok=True)
            code = _run(release, output)
        except BadInput as error:
            raise Refused(f"the command could not be started: {error}") from error
        except OSError as error:
            raise Refused(f"the command could not be started: {error.strerror}") from error
        if code:
            how = f"was ended by {_signal(-code)}" if code < 0 else f"ended with {code}"
            raise Refused(f"the command {how}; what it printed is in {output}")


def _run(release: Release, output: Path) -> int:
    options = release.options
    private = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(private, "wb") as printed, _readable(release.content) as content:
        ended = subprocess.run(
            options["argv"],
            executable=_which(options["argv"][0], Path(options["directory"]), options["environment"]),
            cwd=options["directory"],
            env=dict(options["environment"]),
            umask=options.get("umask", _KEEPERS),  # what was handed in before umasks were kept has none
            stdin=content,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a signal meant for the keeper does not end it
            check=False,
        )
    return ended.returncode


def _readable(content: bytes) -> IO[bytes]:
    """The content as a file without a name, in memory where the system can.

    Not a pipe: a keeper that dies would cut short what the program reads, and a program that leaves some
    of it unread, or leaves the pipe to a daemon, would keep the keeper waiting.
    """
    nameless = getattr(os, "memfd_create", None)
    file = os.fdopen(nameless("content"), "w+b") if nameless else TemporaryFile()  # noqa: SIM115
    file.write(content)
    file.seek(0)
    return file


def _signal(number: int) -> str:
    return {known.value: known.name for known in signal.Signals}.get(number, f"signal {number}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def _which(program: str, directory: Path, environment: Mapping[str, str]) -> str | None:
    """The program as the shell would find it, in the kept directory and on the kept PATH."""
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(str(directory / folder) for folder in folders)
    return shutil.which(str(directory / program) if "/" in program else program, path=path)
