"""`manage.py tarry_keeper`: calls the held views at their releases, until it is told to stop."""

import signal
from typing import Any

from django.core.management.base import BaseCommand

from tarry.gateway.middleware.django import app_hold

__all__ = ["Command", "KeeperCommand"]


class KeeperCommand(BaseCommand):  # type: ignore[misc] # Django has no types
    """The keeper of a site, in a process of its own. Several may run at once.

    >>> KeeperCommand.help
    'Calls the held views at their releases, until it is told to stop.'
    """

    help = "Calls the held views at their releases, until it is told to stop."

    def add_arguments(self, parser: Any) -> None:
        """Add the one option."""
        parser.add_argument("--until-empty", action="store_true", help="end when nothing waits any more")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the keeper. After a signal it ends when the views that are being called have finished."""
        keeper = app_hold().keeper(tell=self.stdout.write)
        before = {
            number: signal.signal(number, lambda *_: keeper.stop())
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            keeper.run(until_empty=options["until_empty"])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


#: The name that Django looks for.
Command = KeeperCommand
