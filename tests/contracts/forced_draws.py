"""Secure draws that are not random: the shortest delays there are, the longest, or those of a seed.

A test that passes only for most draws fails once in a hundred runs, and nobody sees why. `pytest --draws
shortest`, `longest` and `seed:7` run it where it would fail; `scripts/test-draws` runs all three kinds.
Draws are forced in the process of the tests, not in those that it starts.
"""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tarry.core import entropy
from tarry.core.entropy import Secure
from tarry.core.lanes import SecureLanes
from tarry.core.law import Law
from tarry.core.sampler import Sampler

__all__ = ["ForcedDraws"]

#: A law without an end has no longest delay: one in a million is longer than this share.
_NEARLY_ALL = 1 - Fraction(1, 1_000_000)
_SOURCE = Random()


class ForcedDraws:
    """Replaces the secure source as `how` says, until `undo`. `drew`: whether this test has asked it."""

    def __init__(self, how: str) -> None:
        self._how, self._patch, self.drew = how, pytest.MonkeyPatch(), False
        if how.startswith("seed:") and how[5:].isdecimal():
            for source in (Secure, SecureLanes):
                self._patch.setattr(source.__init__, "__defaults__", (self._seeded_bytes,))
        elif how in {"shortest", "longest"}:
            self._replace_numbers()
            self._replace_delays()
        else:
            raise pytest.UsageError(f"--draws must be shortest, longest or seed:NUMBER, not {how!r}")

    def begin(self, test: str) -> None:
        """A test has the same draws alone and among others."""
        _SOURCE.seed(f"{self._how} {test}")
        self.drew = False
        for source in list(entropy._POOLS):
            source.forget()

    def undo(self) -> None:
        """Draw from the operating system again."""
        self._patch.undo()

    def _replace_numbers(self) -> None:
        careful, shortest = Secure.randbelow, self._how == "shortest"
        (usual,) = Secure.__init__.__defaults__

        def number(source: Secure, n: int, /) -> int:
            if n < 1 or source.read is not usual:
                return careful(source, n)
            self.drew = True
            return 0 if shortest else n - 1

        self._patch.setattr(Secure, "randbelow", number)

    def _replace_delays(self) -> None:
        draw, draw_many = Sampler.draw, Sampler.draw_many
        delay = _shortest if self._how == "shortest" else _longest

        def one(sampler, source):
            if not isinstance(source, Secure):
                return draw(sampler, source)
            self.drew = True
            return delay(sampler.law)

        def many(sampler, lanes, which=None):
            if not isinstance(lanes, SecureLanes):
                return draw_many(sampler, lanes, which)
            self.drew = True
            return np.full(len(lanes) if which is None else len(which), delay(sampler.law))

        self._patch.setattr(Sampler, "draw", one)
        self._patch.setattr(Sampler, "draw_many", many)

    def _seeded_bytes(self, size: int) -> bytes:
        self.drew = True
        return _SOURCE.randbytes(size)


def _shortest(law: Law) -> int:
    return law.minimum


def _longest(law: Law) -> int:
    return law.quantile(_NEARLY_ALL) if law.maximum is None else law.maximum
