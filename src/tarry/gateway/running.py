"""The parts of one process: threads that end together, when told to or when one of them breaks."""

import threading
import time
from collections.abc import Callable

from tarry.core.errors import NotPossible, TarryError
from tarry.gateway.logs import place_of

__all__ = ["Running"]

_LOOK_S = 0.05


class Running:
    """Runs parts in threads of their own.

    >>> running = Running()
    >>> running.begin("greeter", running.stop)
    >>> running.wait()
    >>> running.join()
    """

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._stopping, self._broken = False, ""

    @property
    def is_ending(self) -> bool:
        """Whether somebody has told it to stop, or a part has broken."""
        return self._stopping or bool(self._broken)

    def begin(self, name: str, work: Callable[[], None]) -> None:
        """Start a part. One that breaks takes the process along: half a gateway would look like a whole."""

        def guarded() -> None:
            try:
                work()
            except TarryError as error:
                self._broken = f"the {name} ended: {error}"
            except BaseException as error:  # noqa: BLE001 - told by `join`; its text may hold what was sent
                self._broken = f"the {name} broke: {type(error).__name__}{place_of(error.__traceback__)}"

        self._threads[name] = threading.Thread(target=guarded, name=name)
        self._threads[name].start()

    def stop(self) -> None:
        """Begin to end. A plain assignment, and so safe in a signal handler."""
        self._stopping = True

    def wait(self, until: Callable[[], bool] = lambda: False) -> None:
        """Until it is told to stop, a part breaks, or something has happened."""
        while not (self.is_ending or until()):
            time.sleep(_LOOK_S)

    def join(self, *names: str) -> None:
        """Wait for these parts to end; without names for all of them, and say what broke."""
        for name in names or tuple(self._threads):
            if thread := self._threads.get(name):
                thread.join()
        if not names and self._broken:
            raise NotPossible(self._broken)
