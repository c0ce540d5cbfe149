"""The contract of a store: whatever it is made of, posts wait, are labelled, leave and are erased alike.

A store joins in three lines, with a function that opens it, empty at first and the same one each time:

    class TestSqlite(StoreContract):
        @pytest.fixture
        def reopen(self, tmp_path):
            return lambda: SqliteStore(tmp_path / "store")
"""

import pytest

from contracts.closing_contract import ClosingContract
from contracts.doubt_contract import DoubtContract
from contracts.gate_contract import GateContract
from contracts.keeping import World
from contracts.kinship_contract import KinshipContract
from contracts.lockout_contract import LockoutContract
from contracts.recording_contract import RecordingContract
from contracts.releaser_contract import ReleaserContract
from contracts.repeats_contract import RepeatsContract
from contracts.requests_contract import RequestsContract
from contracts.rule_contract import RuleContract
from contracts.shared_contract import SharedContract
from contracts.standstill_contract import StandstillContract
from contracts.telling_contract import TellingContract

__all__ = ["StoreContract"]


class StoreContract(
    GateContract,
    RequestsContract,
    RepeatsContract,
    KinshipContract,
    ClosingContract,
    ReleaserContract,
    DoubtContract,
    LockoutContract,
    StandstillContract,
    RecordingContract,
    SharedContract,
    RuleContract,
    TellingContract,
):
    """What every store's test class inherits; `reopen` is all it adds."""

    @pytest.fixture
    def new_world(self, reopen):
        """Builds the world of a test, and closes it in the end."""
        worlds = []

        def build(*arguments, **settings) -> World:
            worlds.append(World(reopen, *arguments, **settings))
            return worlds[-1]

        yield build
        for world in worlds:
            world.leave()
