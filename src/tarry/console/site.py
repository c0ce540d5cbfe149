"""The site: the gateway's API and the pages, as one app."""

from collections.abc import Callable

from starlette.applications import Starlette

from tarry.console import audit, board, desk, receipt, sign_in, workbench
from tarry.console.desk_figures import Ledger
from tarry.console.pages import guarded
from tarry.console.sessions import Sessions
from tarry.console.settings import ConsoleSettings
from tarry.console.static_files import STATIC
from tarry.gateway.app import create_app
from tarry.gateway.gateway import Gateway
from tarry.gateway.limits import Limits

__all__ = ["create_site"]


def create_site(
    gateway: Gateway,
    *,
    limits: Limits | None = None,
    settings: ConsoleSettings | None = None,
    tell: Callable[[str], None] | None = None,
) -> Starlette:
    """The gateway's app with the pages beside its API.

    >>> from tarry.gateway.testing import small_gateway
    >>> site = create_site(small_gateway())
    >>> site.state.service.close()
    """
    app = create_app(gateway, limits=limits, tell=tell)
    app.state.settings, app.state.tell = settings or ConsoleSettings(), tell
    app.state.sessions, app.state.ledger = Sessions(), Ledger()
    audit.add_audits(app)
    app.router.routes.append(STATIC)
    pages = (board, receipt, workbench, desk, sign_in, audit)
    app.router.routes.extend(guarded(route) for each in pages for route in each.ROUTES)
    return app
