"""The report in a real browser: no network, every chart drawn, on a phone and on a desk, day and night."""

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from contracts.browser import chromium, opened

TARRY = [sys.executable, "-m", "tarry"]
# Of every picture: its size on the page, and whether something is drawn with a line or a face.
PICTURES = """() => [...document.querySelectorAll('svg')].map(svg => {
    const box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll('path')].filter(path => {
        const style = getComputedStyle(path), size = path.getBBox();
        return (style.stroke !== 'none' || style.fill !== 'none') && size.width + size.height > 0;
    });
    return {
        label: svg.getAttribute('aria-label'), width: box.width, height: box.height,
        drawn: drawn.length, right: box.right,
    };
})"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Contrast of the words in a picture against the card they stand on.
COLOURS = """() => {
    const text = document.querySelector('svg text'), card = document.querySelector('section');
    return [getComputedStyle(text).fill, getComputedStyle(card).backgroundColor];
}"""


def tarry(*arguments):
    run = subprocess.run([*TARRY, *map(str, arguments)], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A made-up forum, its report, its charts and its figures."""
    folder = tmp_path_factory.mktemp("report")
    history, page, charts = folder / "forum.parquet", folder / "report.html", folder / "charts"
    page.write_text("an older report, which is replaced", encoding="utf-8")
    tarry("synth", "forum", "-o", history)
    told = tarry("audit", history, "--html", page, "--charts", charts, "--json", "--draws", "2")
    return page, charts, json.loads(told)


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_report_opens_without_network_and_every_chart_is_drawn(browser, made, width, dark):
    path, _, _ = made
    with opened(browser, path, width=width, dark=dark) as found:
        pictures = found.page.evaluate(PICTURES)

        assert found.requests == [path.resolve().as_uri()]
        assert found.complaints == []
        assert len(pictures) >= 8
        for picture in pictures:
            assert picture["label"]
            assert picture["drawn"] >= 2, picture["label"]
            assert 200 < picture["width"] <= 460
            assert picture["height"] > 150
            assert picture["right"] <= width
        assert all(one.is_visible() for one in found.page.locator("svg").all())


@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_is_as_wide_as_its_window(browser, made, width):
    """Wide tables scroll in their own boxes; the page itself never does."""
    path, _, _ = made
    with opened(browser, path, width=width) as found:
        assert found.page.evaluate(OVERFLOW) == 0
        assert found.page.locator("h1").bounding_box()["width"] <= width


def test_words_in_pictures_can_be_read_by_day_and_by_night(browser, made):
    path, _, _ = made
    for dark in (False, True):
        with opened(browser, path, dark=dark) as found:
            words, card = found.page.evaluate(COLOURS)

            assert contrast(words, card) > 7


def test_a_page_shows_what_the_command_tells(browser, made):
    path, _, told = made
    with opened(browser, path) as found:
        text = found.page.locator("body").inner_text()

        assert f"{told['events']:,} events by {told['actors']:,} people" in text
        assert f"{told['linked_pairs']:,}" in text
        assert told["advice"]["sentence"] in text.replace("\N{NO-BREAK SPACE}", " ")


def test_every_chart_is_a_picture_too(made):
    _, charts, _ = made
    names = {path.stem for path in charts.iterdir()}

    assert names >= {
        "gaps",
        "rates",
        "posterior",
        "precision-notified-cutoff",
        "roc-notified-cutoff",
        "advice",
    }
    for name in names:
        assert (charts / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (charts / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", ["audit", "compare"])
@pytest.mark.parametrize(
    ("option", "place", "told"),
    [
        ("--html", "missing/report.html", "of --html does not exist: make it first"),
        ("--html", "taken/report.html", "of --html does not exist: make it first"),
        ("--html", ".", "--html must name a file"),
        ("--charts", "taken/pictures", "--charts must name a folder"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_said_before_the_work(tmp_path, command, option, place, told):
    """Not even the history is looked for."""
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    words = [*TARRY, command, "no-history.parquet", option, str(tmp_path / place)]
    run = subprocess.run(words, check=False, capture_output=True, text=True)

    assert run.returncode != 0
    assert run.stderr.startswith(f"tarry {command}: ")
    assert told in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1


def test_a_command_says_where_the_report_is_and_the_report_how_it_was_made(made, tmp_path):
    history, page = made[0].parent / "forum.parquet", tmp_path / "compared.html"
    words = [*TARRY, "compare", str(history), "--baseline", "mix:1h", "--seed", "7", "--html", str(page)]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    told = page.read_text(encoding="utf-8")

    assert f"report: {page}" in run.stderr.splitlines()
    for what, figure in (
        ("tarry", version("tarry")),
        ("seed", "7"),
        ("practices", "nothing; mix:1h"),
        ("observers", "notified; archive"),
        ("window", "5m"),
    ):
        assert f"<dt>{what}</dt><dd>{figure}</dd>" in told
    assert str(tmp_path) not in told
    assert "forum.parquet" not in told


def contrast(one, other):
    """The ratio of two colours' brightness, as accessibility guidelines measure it."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour):
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
