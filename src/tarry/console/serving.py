"""The pages as `tarry serve` serves them: what the gateway's settings say about them."""

from collections.abc import Callable

from starlette.applications import Starlette

from tarry.console.settings import ConsoleSettings
from tarry.console.site import create_site
from tarry.console.static_files import warm_up
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits

__all__ = ["console_settings", "with_pages"]


def console_settings(config: Config) -> ConsoleSettings:
    """What the settings say about the pages.

    >>> console_settings(Config(boards="talk, reviews")).boards
    ('talk', 'reviews')
    """
    names = [name.strip() for name in config.boards.split(",")]
    return ConsoleSettings(
        boards=tuple(name for name in names if name and name != "none"),
        is_https=config.https,
        hosts=config.own_hosts,
        audit_bytes=config.audit_bytes,
        audit_seconds=config.audit_seconds,
        audit_memory_bytes=config.audit_memory_bytes,
    )


def with_pages(config: Config) -> Callable[..., Starlette]:
    """Builds the app of a gateway with the pages beside its API.

    >>> from tarry.gateway.testing import small_gateway
    >>> with_pages(Config())(small_gateway()).state.service.close()
    """

    def make(
        gateway: Gateway, *, limits: Limits | None = None, tell: Callable[[str], None] | None = None
    ) -> Starlette:
        warm_up()
        return create_site(gateway, limits=limits, settings=console_settings(config), tell=tell)

    return make
