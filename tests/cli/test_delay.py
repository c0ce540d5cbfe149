"""`tarry delay`: from this very moment to a tick of the law, and to nothing between two ticks."""

import json
import time
from fractions import Fraction

import pytest

from tarry.cli.delay import micros_until
from tarry.cli.main import main
from tarry.core.exact import ticks_up
from tarry.core.policy import Policy

NOW = [
    1_800_000_000_000_000_000,
    1_800_000_000_000_000_001,
    1_800_000_003_999_999_999,
    1_800_000_001_234_567_891,
]
FLAGS = ["--epsilon", "3", "--gap", "20s", "--window", "5s", "--tick", "2s"]
POLICY = Policy(epsilon="3", gap="20s", window="5s", tick="2s")
MICROSECOND = Fraction(1, 10**6)


@pytest.fixture
def delay(monkeypatch, capsys):
    """Runs the command at a given moment and gives what it prints."""

    def run(now, *words):
        monkeypatch.setattr(time, "time_ns", lambda: now)
        code = main(["delay", *words])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


def ticks_waited(now, seconds, policy):
    """Ticks from the arrival to the release that a wait leads to, which must be a tick."""
    moment = Fraction(now, 10**9) + seconds
    release = moment // policy.tick
    assert 0 <= moment - release * policy.tick < MICROSECOND
    return release - ticks_up(Fraction(now, 10**9), policy.tick)


@pytest.mark.parametrize("now", NOW)
@pytest.mark.parametrize("batched", [True, False], ids=["batched", "unbatched"])
def test_the_wait_ends_on_a_tick_of_the_law(now, batched, delay):
    """Now plus the wait is a whole tick, after the hold and within the support of the label's law."""
    pair = POLICY.mechanism().pair
    law = pair.batched if batched else pair.unbatched
    waits = [Fraction(delay(now, *FLAGS, *["--batched"] * batched)) for _ in range(40)]
    ticks = [ticks_waited(now, seconds, POLICY) - POLICY.hold_ticks for seconds in waits]

    assert all(law.mass(tick) > 0 for tick in ticks)


@pytest.mark.parametrize(("how", "ticks"), [("shortest", 0), ("longest", 17)])
def test_the_wait_is_drawn(how, ticks, delay, force_draws):
    """It is what the secure source gives."""
    force_draws(how)

    assert ticks_waited(NOW[3], Fraction(delay(NOW[3], *FLAGS)), POLICY) - POLICY.hold_ticks == ticks


def test_two_acts_at_one_moment_share_no_fraction_of_a_tick(delay):
    """Acts within one tick leave on ticks, so that what they share of it is gone."""
    releases = {Fraction(now, 10**9) + Fraction(delay(now, *FLAGS)) for now in NOW[1:] for _ in range(20)}

    assert {release % 2 < MICROSECOND for release in releases} == {True}


@pytest.mark.parametrize(
    ("labels", "hold"), [("held", 3), ("declared", 0), ("follower", 0), ("simultaneous", 0)]
)
def test_only_held_labels_wait_for_the_window(labels, hold, delay, force_draws):
    """The shortest wait is the hold of the label rule."""
    flags = ["--epsilon", "9", "--gap", "20s", "--tick", "2s", "--labels", labels, "--weight", "0"]
    window = [] if labels == "simultaneous" else ["--window", "5s"]
    policy = Policy(epsilon="9", gap="20s", tick="2s", labels=labels, window=window[1] if window else "0s")
    force_draws("shortest")

    assert ticks_waited(NOW[3], Fraction(delay(NOW[3], *flags, *window)), policy) == hold


def test_the_json_tells_wait_and_release(delay):
    """Programs get the seconds to wait and the moment they lead to."""
    told = json.loads(delay(NOW[3], *FLAGS, "--json"))

    assert set(told) == {"delay_s", "release_at"}
    assert told["release_at"] % 2 == 0
    assert told["delay_s"] == pytest.approx(told["release_at"] - NOW[3] / 10**9, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "start"),
    [
        ([], 10),
        (["--target", "p1"], 100),
        (["--track", "slow"], 1000),
        (["--target", "p1", "--track", "slow"], 100),
    ],
)
def test_target_and_track_choose_the_gap(words, start, delay, tmp_path):
    """With a policy file the laws are those of the act's own gap."""
    path = tmp_path / "policy.toml"
    gaps = 'gaps.target.p1 = "100s"\ngaps.track.slow = "1000s"\n'
    path.write_text(f'epsilon = 6\ngap = "10s"\nlabels = "simultaneous"\n{gaps}', encoding="utf-8")
    waits = [float(delay(NOW[0], "--policy", str(path), "--batched", *words)) for _ in range(20)]

    assert all(start <= seconds < 2 * start for seconds in waits)


PERIOD = """
epsilon = 3
gap = "20s"
window = "5s"
tick = "2s"
from = 2027-01-15T07:59:59Z
until = 2027-01-15T08:00:30Z
deadline = 2027-01-15T08:00:31Z
"""
START = 1_800_000_000 * 10**9  # 2027-01-15T08:00:00Z


@pytest.mark.parametrize("after", [0, 10, 19])
def test_a_public_deadline_ends_the_wait(after, delay, tmp_path):
    """With a deadline the wait ends at its tick at the latest, and never after it."""
    path = tmp_path / "policy.toml"
    path.write_text(PERIOD, encoding="utf-8")
    now = START + after * 10**9 + 1
    releases = {
        Fraction(now, 10**9) + Fraction(delay(now, "--policy", str(path), "--batched")) for _ in range(20)
    }

    assert max(releases) - 1_800_000_030 < MICROSECOND
    assert all(release % 2 < MICROSECOND for release in releases)


@pytest.mark.parametrize("after", [-3, 31, 3600])
def test_outside_its_period_a_policy_draws_nothing(after, tmp_path, monkeypatch, capsys):
    """Before its start and after its end a policy protects nobody, so it is refused."""
    path = tmp_path / "policy.toml"
    path.write_text(PERIOD, encoding="utf-8")
    monkeypatch.setattr(time, "time_ns", lambda: START + after * 10**9)
    code = main(["delay", "--policy", str(path)])
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    early = "the policy holds from 2027-01-15T07:59:59Z on: wait until then"
    late = "the until of the policy, 2027-01-15T08:00:30Z, has passed: renew the policy"
    assert err == f"tarry delay: {early if after < 0 else late}\n"


@pytest.mark.parametrize(
    ("moment", "now", "micros"),
    [
        ("10", "9.5", 500_000),
        ("10", "9.4999999", 500_001),
        ("10", "10", 0),
        ("10", "9.9999999999", 1),
        ("33043396860511", "0.0000001", 33043396860511 * 10**6),
    ],
)
def test_a_wait_is_rounded_up_to_the_microsecond(moment, now, micros):
    """A wait never ends before its tick, however long it is."""
    assert micros_until(Fraction(moment), Fraction(now)) == micros


def test_a_policy_without_labels_knows_no_batched_acts(capsys):
    """--batched would be ignored, so it is refused."""
    flags = ["--epsilon", "1", "--gap", "11m", "--law", "label-free", "--delta", "0.01", "--batched"]

    assert main(["delay", *flags]) == 2
    assert capsys.readouterr().err.startswith(
        "tarry delay: --batched means nothing to a policy with labels none: leave it out"
    )


def test_a_wait_can_be_slept(delay):
    """What is printed is a plain number on one line, as `sleep` wants it."""
    out = delay(NOW[1], *FLAGS)

    assert out.count("\n") == 1
    assert out.strip().replace(".", "", 1).isdecimal()
