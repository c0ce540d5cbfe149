"""`docs/generate_modes.py`: every mode on one chart, from a history to the page."""

import json
import re
from fractions import Fraction
from math import exp
from pathlib import Path
from runpy import run_path

import pytest

from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe

DOCS = Path(__file__).resolve().parents[1] / "docs"
SCRIPT = run_path(str(DOCS / "generate_modes.py"))
STORED = json.loads((DOCS / "figures" / "modes.json").read_text(encoding="utf-8"))
NAMES = [mode.practice.name for mode in SCRIPT["modes"]()]
MODES = dict(zip(NAMES, SCRIPT["modes"](), strict=True))


def texts(svg):
    return set(re.findall(r"<text[^>]*>([^<]+)</text>", svg))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A made-up history, and the folder in which the command has put what it made of it."""
    folder = tmp_path_factory.mktemp("modes")
    made = synthesize(Recipe(events=800, actors=30, bots=0), seed=1)
    path = folder / "made up.csv"
    rows = zip(made.actor.tolist(), made.target.tolist(), (made.time / 1e6).tolist(), strict=True)
    lines = ["user,page,time", *(f"u{actor},p{target},{time:.6f}" for actor, target, time in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    SCRIPT["main"]([str(path), "--out", str(folder / "out"), "--queries", "12"])
    return folder / "out"


def test_one_command_measures_every_mode_and_says_which_it_was(made):
    found = json.loads((made / "modes.json").read_text(encoding="utf-8"))
    (history,) = found["histories"]
    modes = dict(zip(NAMES, history["modes"], strict=True))

    assert found["command"] == "python docs/generate_modes.py 'made up.csv'"
    assert [mode["name"] for mode in found["modes"]] == NAMES
    assert (history["name"], history["events"]) == ("made up", 800)
    assert modes["nothing"]["mean_s"] == 0
    assert (
        modes["jitter:1d"]["pair"] < modes["zero-inflated, epsilon 0.5"]["pair"] < modes["nothing"]["pair"]
    )
    assert 0 < modes["jitter:1d"]["season"] <= modes["nothing"]["season"] <= 1


def test_it_draws_a_point_for_each_mode_in_each_panel(made):
    svg = (made / "modes.svg").read_text(encoding="utf-8")
    shown = texts(svg)

    assert {str(number) for number in range(1, len(NAMES) + 1)} <= shown
    assert {"promised for one pair", "promised for 20 pairs"} <= shown
    assert {"made up: claims that are right", "made up: other names found", *SCRIPT["LOOK"]} <= shown


def test_it_writes_a_row_for_each_mode(made):
    rows = (made / "modes.md").read_text(encoding="utf-8").splitlines()

    for number, name in enumerate(NAMES, start=1):
        assert sum(row.startswith(f"| {number} | {name} |") for row in rows) == 3
    assert any("generate_modes.py 'made up.csv'" in row for row in rows)


def test_the_page_shows_what_is_stored():
    """If not, run docs/generate_modes.py without a history."""
    page = (DOCS / "choosing.md").read_text(encoding="utf-8")

    assert SCRIPT["with_tables"](page, STORED) == page
    assert "](figures/modes.svg)" in page


def test_the_stored_figures_are_of_these_modes_and_of_real_histories():
    assert len(STORED["histories"]) >= 3
    assert STORED["command"].startswith("python docs/generate_modes.py ")
    for mode, stored in zip(SCRIPT["modes"](), STORED["modes"], strict=True):
        assert stored["name"] == mode.practice.name
        assert [stored["pair"], stored["season"]] == pytest.approx(
            [mode.told_apart(1), mode.told_apart(20)]
        )


def test_the_stored_picture_is_of_the_stored_figures():
    shown = texts((DOCS / "figures" / "modes.svg").read_text(encoding="utf-8"))

    for history in STORED["histories"]:
        assert f"{history['name']}: claims that are right" in shown


@pytest.mark.parametrize(
    ("name", "nats", "delta"),
    [
        ("zero-inflated, epsilon 1", 1, 0),
        ("bridge cover, epsilon 1", 2 / 3, 0),
        ("follower, epsilon 1", 1, 0),
        ("label-free, epsilon 1", 1, 0.01),
    ],
)
def test_what_is_promised_is_what_the_policy_says(name, nats, delta):
    """P <= e^nats Q + delta for one pair, so P - Q is at most 1 - (1 - delta) e^-nats."""
    one = 1 - (1 - delta) * exp(-nats)

    assert MODES[name].told_apart(1) == pytest.approx(one)
    assert MODES[name].told_apart(20) == pytest.approx(1 - (1 - one) ** 20)


def test_mixes_and_queues_promise_nothing_and_jitter_a_little():
    for name in ("nothing", "a queue, one each 1m", "mix:1h", "pool:1h"):
        assert MODES[name].told_apart(1) == 1
    assert MODES["jitter:1d"].told_apart(1) == pytest.approx(11 / 1440)


def test_a_season_is_told_apart_far_less_than_its_pairs_would_add_up_to():
    cosine = MODES["cosine, for 200 pairs"]

    assert cosine.told_apart(20) < 0.13 < 20 * cosine.told_apart(1)


def test_the_queue_lets_one_out_each_minute_in_the_order_of_arrival():
    history = History(actor=[1, 1, 2], target=[1, 2, 3], time=[90_000_000, 30_000_000, 31_000_000])
    release = MODES["a queue, one each 1m"].practice.show(history, Seeded(0)).release

    assert (release / 60e6).tolist() == [Fraction(3), Fraction(1), Fraction(2)]
