"""A real browser for pages that people open: Chromium, with every request written down."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["Opened", "chromium", "opened"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Nothing of its own goes out; a container's root and a machine without graphics are no obstacle.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A running Chromium; a machine that has none skips the test, and says so."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("NO BROWSER HERE: scripts/test installs chromium, as root with apt-get")
    from playwright._impl._driver import compute_driver_executable
    from playwright.sync_api import sync_playwright

    driver, *_ = compute_driver_executable()
    if subprocess.run([driver, "--version"], check=False, capture_output=True).returncode:
        pytest.skip("THE BROWSER'S DRIVER DOES NOT RUN HERE: scripts/test installs libatomic1, as root")

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A page in a window, what it asked for, and what it complained about."""

    page: "Page"
    requests: list[str] = field(default_factory=list)  # every address, the file's own first
    complaints: list[str] = field(default_factory=list)  # of its console and its scripts


@contextmanager
def opened(
    browser: "Browser", path: Path, *, width: int = 1280, height: int = 900, dark: bool = False
) -> Iterator[Opened]:
    """A file as a person opens it, without a network: whatever it asks of one is refused and noted."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    found = Opened(page=context.new_page())
    own = path.resolve().as_uri()
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.route("**/*", lambda route: route.continue_() if route.request.url == own else route.abort())
    try:
        found.page.goto(own)
        yield found
    finally:
        context.close()
