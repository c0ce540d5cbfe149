"""Release what is due, now and from now on: the one process that lets acts out.

In the foreground until stopped, or as a user service of systemd (--install). Where none runs, handing an
act in starts one in the background, which ends when nothing is left to do (--until-empty). While none
runs nothing leaves, and what waits moves later by as long: letting it all out together would show whose
it is.
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress

from tarry.cli.options import add_json
from tarry.cli.own import introduction
from tarry.cli.service import install_service, remove_service
from tarry.keep.home import Home
from tarry.keep.keeper import Keeper

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry keeper`."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--until-empty", action="store_true", help="end when nothing waits any more")
    how.add_argument("--install", action="store_true", help="run as a user service of systemd from now on")
    how.add_argument("--remove", action="store_true", help="remove that service")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Keep."""
    if arguments.install or arguments.remove:
        return (install_service if arguments.install else remove_service)(as_json=arguments.json)

    def tell(sentence: str) -> None:
        # A log on a full disk, or a terminal that is gone, is no reason to end: then nobody reads it.
        with suppress(OSError, ValueError):
            print(json.dumps({"said": sentence}) if arguments.json else sentence, flush=True)

    home, stopping = Home.of(os.environ), threading.Event()
    if not home.is_founded():
        policy, made = home.first_policy()
        home.gate(policy)
        if made and not arguments.json:
            print(introduction(policy, home), file=sys.stderr)
    while _keep(home, tell, stopping, until_empty=arguments.until_empty):
        if stopping.is_set() or not arguments.until_empty:
            return 0
        # Whoever handed something in while this one was ending has seen it run, and started none.
        if not any(status.state == "waiting" for _, status in home.gate().posts()):
            return 0
    if not arguments.until_empty:  # a person asked for one, and not another act for any
        tell("a keeper runs already")
    return 0


def _keep(home: Home, tell: Callable[[str], None], stopping: threading.Event, *, until_empty: bool) -> bool:
    """Be the keeper until it ends; False if there is one already."""
    with ExitStack() as after, home.keeping() as mine:
        if not mine:
            return False
        keeper = _keeper(home, tell, stopping)
        # Whoever hands something in while this one waits for acts to end finds none, and starts one.
        after.callback(keeper.finish)
        keeper.keep(until_empty=until_empty)
    return True


def _keeper(home: Home, tell: Callable[[str], None], stopping: threading.Event) -> Keeper:
    """One that stops at a signal."""
    keeper = Keeper(home.gate().vault, tell=tell)

    def stop(*_: object) -> None:
        stopping.set()
        keeper.stop()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    return keeper
