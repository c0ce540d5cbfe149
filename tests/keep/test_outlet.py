"""Outlets in general: how content is written, descriptors, and the outlets of one's own store."""

import base64
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tarry.core import plugins
from tarry.core.errors import BadInput
from tarry.core.plugins import Option
from tarry.keep.errors import Unreachable
from tarry.keep.home import Home
from tarry.keep.outlet import HomeOutlets, OutletKind, content_fields
from tarry.testing.outlets import release_of

KIND = OutletKind(
    name="loft",
    outlet="pigeon_package:Loft",
    delivery="at most once",
    words="its loft",
    option=Option(flag="loft", metavar="URL", help="the loft", rule="address", name="at"),
    options=(
        Option(flag="seed", metavar="FILE", help="what pigeons eat", rule="file", required=True),
        Option(flag="fast", help="only fast ones", rule="switch"),
    ),
    bound_to=("at",),
)
GOOD = {"kind": "loft", "at": "https://loft.example", "seed": "/corn"}


@given(some.binary())
def test_content_can_be_read_back(content):
    """Text as it is, anything else in base64, and never both."""
    ((name, text),) = content_fields(content).items()

    assert content == {"content": str.encode, "content_base64": base64.b64decode}[name](text)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "loft"}, "outlet loft has no at: give --loft URL"),
        ({**GOOD, "seed": None}, "seed must be a text, not None"),
        ({"kind": "loft", "at": "https://loft.example"}, "outlet loft has no seed: give --seed FILE"),
        ({**GOOD, "seed": "corn"}, "seed must be an absolute path, not 'corn'"),
        ({**GOOD, "seed": "/a\0"}, "seed must be an absolute path, not '/a\\x00'"),
        ({**GOOD, "fast": 1}, "fast must be true or false, not 1"),
        ({**GOOD, "far": 1}, "outlet loft has no setting 'far': use at, fast, seed"),
    ],
)
def test_settings_of_a_space_are_checked_by_the_descriptor(settings, sentence):
    """One sentence, before anything of the outlet is loaded."""
    with pytest.raises(BadInput) as refused:
        KIND.check_settings(settings)
    assert str(refused.value) == sentence
    KIND.check_settings(GOOD)


def test_posts_stay_with_the_place_they_were_meant_for():
    """Settings that the kind is bound to must stay; outlets that show posts take over from one another."""
    showing = OutletKind(
        name="wall", outlet="", delivery="exactly once", words="its wall", shows_posts=True
    )

    assert KIND.may_take_over(GOOD, KIND, {**GOOD, "seed": "/wheat"})
    assert not KIND.may_take_over(GOOD, KIND, {**GOOD, "at": "https://other.example"})
    assert not KIND.may_take_over(GOOD, showing, {})
    assert showing.may_take_over({}, showing, {"colour": "red"})


# --- one's own store ---------------------------------------------------------------------------------


@pytest.fixture
def outlets(tmp_path):
    """The outlets of one person's own store."""
    return HomeOutlets(Home.of({"TARRY_HOME": str(tmp_path)}))


@pytest.fixture
def install(monkeypatch):
    """Pretends that a package with this outlet is installed."""

    def installed(name, value):
        entry = EntryPoint(name=name, value=value, group="tarry.outlets")
        monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == entry.group else [])

    return installed


def test_ones_own_store_has_what_leaves_by_itself(outlets):
    """A space's feed, webhook and feed file belong to a gateway."""
    assert sorted(outlets) == ["bitcoin", "command", "git", "mail", "mediawiki", "openreview"]
    assert {name: outlets[name].delivery for name in outlets} == {
        name: plugins.load("outlet", name).delivery for name in outlets
    }
    with pytest.raises(KeyError):
        outlets["feed"]
    with pytest.raises(KeyError):
        outlets["pigeon"]


def test_an_outlet_is_made_once(outlets):
    """And the same one is used from then on."""
    assert outlets["git"] is outlets["git"]


def test_only_the_outlet_that_is_used_is_loaded(tmp_path):
    """`tarry run -- true` imports no other outlet, no client and no reader."""
    code = (
        "import sys; from tarry.cli.main import main\n"
        "code = main(['run', '--target', 'here', '--', 'true'])\n"
        "print(code, *(name for name in sys.modules if name.startswith('tarry.places.')))"
    )
    environment = {"TARRY_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    try:
        ran = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
        )
    finally:
        stop = [sys.executable, "-m", "tarry", "keeper", "--stop"]
        subprocess.run(stop, check=False, capture_output=True, env=environment)

    assert sorted(ran.stdout.splitlines()[-1].split()) == [
        "0",
        "tarry.places.command",
        "tarry.places.command.command",
        "tarry.places.command.outlet",
    ]


def test_a_package_that_cannot_be_loaded_is_nobody_elses_trouble(outlets, install):
    """What is handed in for it is refused with its name; what waits for it is tried again; others leave."""
    install("pigeon", "no_such_package:OUTLET")

    assert "pigeon" in list(outlets)
    assert outlets["command"].delivery == "at most once"
    with pytest.raises(BadInput, match=r"the outlet 'pigeon' \(no_such_package:OUTLET\) cannot be loaded"):
        outlets["pigeon"].check({})
    with pytest.raises(Unreachable, match="the outlet 'pigeon'"):
        outlets["pigeon"].deliver(release_of(_Nothing()))


class _Nothing:
    options, content = {}, b""
