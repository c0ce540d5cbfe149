"""Ending in good order when asked to."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:  # only the commands of a gateway have one
    from tarry.gateway.server import ThreadGroup

__all__ = ["end_on_signals", "stopping_like_ctrl_c"]


def end_on_signals(running: "ThreadGroup") -> None:
    """SIGTERM and Ctrl-C end the parts of a process; what they have begun is done first.

    >>> from tarry.gateway.server import ThreadGroup
    >>> running, old = ThreadGroup(), signal.getsignal(signal.SIGTERM)
    >>> end_on_signals(running)
    >>> signal.raise_signal(signal.SIGTERM)
    >>> running.is_ending, signal.signal(signal.SIGTERM, old) is None
    (True, False)
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop())


@contextmanager
def stopping_like_ctrl_c() -> Iterator[None]:
    """Inside, SIGTERM and a closed terminal do what Ctrl-C does: what was begun is cleared away.

    Ctrl-C too, where a library has taken it for itself.

    >>> try:
    ...     with stopping_like_ctrl_c():
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # What somebody has turned off, as nohup does, stays so.
    old = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if old[number] is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, _interrupt)
        yield
    finally:
        for number in heard:
            signal.signal(number, old[number])


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
