"""The suites of `tarry.testing` need pytest, and nothing else of it does."""

import subprocess
import sys

import pytest

import tarry.testing

WITHOUT_PYTEST = """
import sys
sys.modules["pytest"] = None
import tarry.testing
print(tarry.testing.ManualClock().read().steady)
try:
    tarry.testing.OutletSuite
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_pytest_a_suite_is_one_sentence():
    """The clock, the store and the outlet work without it."""
    ran = subprocess.run([sys.executable, "-c", WITHOUT_PYTEST], check=True, capture_output=True, text=True)

    assert ran.stdout.splitlines() == ["0", "NotPossible OutletSuite needs pytest: pip install pytest"]


def test_every_name_resolves():
    """Also those that are loaded when they are first used."""
    assert all(getattr(tarry.testing, name) for name in tarry.testing.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tarry.testing.nothing  # noqa: B018 - asking is the point
