"""The pages behind a real server on loopback, and a browser that visits them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe

from contracts.browser import Opened
from tarry.console.site import create_site
from tarry.core.policy import Policy
from tarry.gateway.config import Config
from tarry.gateway.gateway import Gateway
from tarry.gateway.server import Listener, bind
from tarry.gateway.testing import small_gateway
from tarry.keep.keeper import Keeper
from tarry.keep.store import SystemClock

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["QUICK", "Served", "check_access", "console_site", "visited"]

#: What is posted appears within a few seconds, and the form asks whether more will follow.
QUICK = Policy(epsilon="2", gap="1s", window="0.5s", tick="0.1s", labels="declared")
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


@dataclass(frozen=True)
class Served:
    """A site that answers."""

    url: str
    gateway: Gateway


@contextmanager
def console_site(
    policy: Policy = QUICK, config: Config | None = None, *, keep: bool = True, **others
) -> Iterator[Served]:
    """A site with its keeper, in this process."""
    gateway = small_gateway(policy, SystemClock(), **others)
    site = create_site(gateway, config=config or Config(boards="talk"))
    listener = bind("127.0.0.1", 0)
    door, keeper = Listener(site, listener), Keeper(gateway.vault, workers=1)
    threads = [threading.Thread(target=door.run)]
    if keep:
        threads.append(threading.Thread(target=keeper.run))
    for thread in threads:
        thread.start()
    try:
        yield Served(door.url, gateway)
    finally:
        door.should_exit = True
        keeper.stop()
        for thread in threads:
            thread.join()


@contextmanager
def visited(
    browser: "Browser", url: str, *, size: str = "desktop", dark: bool = False, scripts: bool = True
) -> Iterator[Opened]:
    """A page as a person visits it; whatever it asks of another host is refused and noted."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=scripts,
    )
    found = Opened(page=context.new_page())
    own = urlsplit(url).netloc
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.route(
        "**/*",
        lambda route: route.continue_() if urlsplit(route.request.url).netloc == own else route.abort(),
    )
    try:
        found.page.goto(url)
        yield found
        outside = [asked for asked in found.requests if urlsplit(asked).netloc not in {own, ""}]
        assert outside == []
        assert found.complaints == []
    finally:
        context.close()


def check_access(page: "Page") -> None:
    """Nothing that keeps people out of the page, as far as axe can tell."""
    # Only what is wrong: all that is right would be ten times as much to write down.
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [
        (each["id"], [node["target"] for node in each["nodes"]])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]
    assert serious == []
