"""A command that may run out of memory works in a child, so that one sentence is said whatever happens.

Compiled code that gets no memory ends its process, each library in its own way. What such a library
writes on standard error is kept, and shown unless memory is to blame. Nothing is loaded here, for what
is loaded before the child begins would be there twice.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import IO

__all__ = ["CAN_SUPERVISE", "TOO_LITTLE", "supervised"]

CAN_SUPERVISE = sys.platform == "linux"
TOO_LITTLE = (
    "there is too little memory for this: leave out busy actors (--busy-limit), take a part of the "
    "history, allow more where a limit is set, or use a machine with more memory"
)
_WRONG, _STOPPED = 2, 130
#: How compiled code ends where memory runs out, and how the system ends whoever takes too much.
_GAVE_UP = {-signal.SIGABRT, -signal.SIGKILL, -signal.SIGBUS, -signal.SIGSEGV, -signal.SIGTRAP, 127}
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_DIE_WITH_PARENT = 1  # of prctl


def supervised(work: Callable[[], int]) -> int:
    """The exit code of work that a child does. In the child this returns too, with the same code.

    >>> CAN_SUPERVISE == (sys.platform == "linux")
    True
    """
    from tempfile import TemporaryFile  # noqa: PLC0415 - most calls of tarry do not need it

    with TemporaryFile() as noise:
        sys.stdout.flush()
        sys.stderr.flush()
        if not (child := os.fork()):
            _begin(noise)
            return work()
        return _outcome(*_wait(child), noise)


def _begin(noise: IO[bytes]) -> None:
    """In the child: our own words still go to standard error, those of libraries are kept."""
    import ctypes  # noqa: PLC0415 - the parent does not need it

    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    sys.stderr = os.fdopen(
        os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
    )
    os.dup2(noise.fileno(), 2)
    aside = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    warnings.showwarning = lambda message, kind, *_: print(f"{kind.__name__}: {message}", file=aside)
    sys.unraisablehook = lambda trouble: print(repr(trouble.exc_value), file=aside)


def _wait(child: int) -> tuple[int, bool]:
    """How the child ended (below 0: by which signal), and whether somebody stopped both of us."""
    for one in _PASSED_ON:
        signal.signal(one, lambda number, _: os.kill(child, number))
    stopped = False
    while True:
        try:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stopped
        except KeyboardInterrupt:  # the child has got it too
            stopped = True


def _outcome(code: int, stopped: bool, noise: IO[bytes]) -> int:  # noqa: FBT001 - as it was waited for
    # A library that gets no thread interrupts its own process.
    if code in _GAVE_UP or (code == _STOPPED and not stopped):
        print(
            f"tarry: a library or the system ended this, most likely because {TOO_LITTLE}", file=sys.stderr
        )
        return _WRONG
    if code != _WRONG:  # then something has been said already
        noise.seek(0)
        sys.stderr.write(noise.read().decode(errors="replace"))
    return code if code >= 0 else 128 - code
