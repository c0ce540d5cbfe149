"""Open a page of your own in a browser: what waits, what is parked, and forms to hand something in.

It shows the store of tarry run, tarry git, tarry mail, tarry wiki and tarry openreview, on this machine
alone, behind a link that works once: the browser that opens it may come in, and no other program.
Looking releases nothing. Passwords stay where the commands have them: in the accounts file, in a password
file, in TARRY_SMTP. The browser is opened where there is a desktop, by way of a private file, so that the
link is in no list of processes. Ctrl-C ends the page; what waits goes on.

  tarry page
  tarry page --no-open --port 8421
"""

import argparse
import json
import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path

from tarry.cli.main import Argument, add_all
from tarry.cli.options import whole_number
from tarry.cli.personal_store import see_to_keeper
from tarry.cli.serve import end_on_signals
from tarry.keep.home import Home

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry page`."""
    add_all(
        parser,
        Argument("--port", metavar="N", default="0", help="listen at this port (default: a free one)"),
        Argument(
            "--open",
            action=argparse.BooleanOptionalAction,
            help="open the link in your browser (default: where there is a desktop, and no --json)",
        ),
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from tarry.console.own.door import OwnDoor  # noqa: PLC0415 - `--help` does not need it
    from tarry.console.own.page import create_own_page  # noqa: PLC0415 - likewise
    from tarry.console.own.store import OwnStore  # noqa: PLC0415 - likewise
    from tarry.gateway.server import Listener, ThreadGroup, bind  # noqa: PLC0415 - likewise

    home, group = Home.of(os.environ), ThreadGroup()
    socket = bind("127.0.0.1", whole_number(arguments.port, "--port", 0, 65535))
    door = OwnDoor(f"http://127.0.0.1:{socket.getsockname()[1]}")
    opener = _LinkFile(door.link)
    store = OwnStore(home, wake=lambda: see_to_keeper(home))
    listener = Listener(create_own_page(store, door, opened=opener.remove, tell=_tell), socket)
    end_on_signals(group)
    group.begin("page", listener.run)
    group.wait(lambda: listener.started)
    try:
        if not group.is_ending:
            _announce(arguments, door.address, door.link)
            if _wants_browser(arguments):
                opener.open()
        group.wait()
    finally:
        listener.should_exit = True
        group.join("page")
        opener.remove()
    group.join()


def _announce(arguments: argparse.Namespace, address: str, link: str) -> None:
    if arguments.json:
        print(json.dumps({"listening": address, "link": link}))
    else:
        print(f"your page is at {link}\nthe link works once; Ctrl-C ends the page, and what waits goes on")
    sys.stdout.flush()


def _tell(sentence: str) -> None:
    print(f"tarry page: {sentence}", file=sys.stderr, flush=True)


def _wants_browser(arguments: argparse.Namespace) -> bool:
    if arguments.open is not None:
        return bool(arguments.open)
    has_desktop = sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return bool(has_desktop) and not arguments.json


class _LinkFile:
    """A file that only its owner reads and that leads to the link: arguments can be seen."""

    def __init__(self, link: str, start: Callable[[str], bool] = webbrowser.open) -> None:
        self._link, self._start, self._folder = link, start, ""

    def open(self) -> None:
        """Start the browser."""
        self._folder = tempfile.mkdtemp(prefix="tarry-page-")  # private by itself
        path = Path(self._folder, "open.html")
        refresh = f'<meta http-equiv="refresh" content="0; url={escape(self._link)}">'
        quiet = '<meta name="referrer" content="no-referrer">'
        path.write_text(f"<!doctype html><title>tarry</title>{quiet}{refresh}", encoding="utf-8")
        if not self._start(path.as_uri()):
            _tell("no browser could be started: open the link yourself")

    def remove(self) -> None:
        """Once the link was used, or the page has ended."""
        if self._folder:
            with suppress(OSError):
                Path(self._folder, "open.html").unlink()
                Path(self._folder).rmdir()
