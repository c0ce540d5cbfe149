"""Ending in good order when asked to."""

import signal

from tarry.gateway.running import Running

__all__ = ["end_on_signals"]


def end_on_signals(running: Running) -> None:
    """SIGTERM and Ctrl-C end the parts of a process; what they have begun is done first.

    >>> running, old = Running(), signal.getsignal(signal.SIGTERM)
    >>> end_on_signals(running)
    >>> signal.raise_signal(signal.SIGTERM)
    >>> running.is_ending, signal.signal(signal.SIGTERM, old) is None
    (True, False)
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.stop())
