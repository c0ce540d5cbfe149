"""Drag sliders of the workbench for two seconds on a slow computer, and count what is seen to move.

python tests/acceptance/drag.py

The browser's processor runs at a quarter of its speed. A slider has a new place in each frame; counted are
the frames after which the strip or the laws are drawn otherwise, and the requests that were made meanwhile.
On a busy machine frames come late whatever a page does: processor time says what an update costs.
"""
# ruff: noqa: T201 - a command that prints

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contracts.browser import chromium
from contracts.console_site import console_site, visited

DRAG = """async name => {
    const range = document.querySelector(`[data-for=${name}]`), most = Number(range.max);
    const shown = () => document.querySelector('[data-strip]').textContent
        + document.querySelector('svg[data-chart=laws] [data-mark=batched]').getAttribute('d');
    range.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));
    const until = performance.now() + 2000;
    let updates = 0, frame = 0, last = shown();
    while (performance.now() < until) {
        frame += 1;
        range.value = Math.round(most * 0.4) + Math.abs((frame % 12) - 6); // to and fro
        range.dispatchEvent(new Event('input', {bubbles: true}));
        await new Promise(requestAnimationFrame);
        updates += shown() !== last;
        last = shown();
    }
    return updates;
}"""


def busy_s(session):
    """Processor time of the page's own thread, seconds."""
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


if __name__ == "__main__":
    with chromium() as browser, console_site(keep=False) as site:
        for law, names in (("pair", ("epsilon", "gap")), ("season", ("pairs", "total", "gap"))):
            for name in names:
                with visited(browser, f"{site.url}/workbench?law={law}&gap=1h") as seen:
                    seen.page.wait_for_selector("html[data-live]")
                    session = seen.page.context.new_cdp_session(seen.page)
                    session.send("Performance.enable", {"timeDomain": "threadTicks"})
                    session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
                    before, began = len(seen.requests), busy_s(session)
                    updates = seen.page.evaluate(DRAG, name)
                    asked, each_ms = len(seen.requests) - before, 1000 * (busy_s(session) - began) / updates
                    print(
                        f"{law}, {name}: {updates} visible updates, {asked} requests, "
                        f"{each_ms:.1f} ms of processor time each"
                    )
