"""Every store we have keeps the contract."""

import pytest

from contracts.store_contract import StoreContract
from tarry.keep.postgres import PostgresStore
from tarry.keep.sqlite import SqliteStore
from tarry.testing import memory_store


class TestMemory(StoreContract):
    """The store of tests."""

    @pytest.fixture
    def reopen(self):
        store = memory_store()
        return lambda: store


class TestSqlite(StoreContract):
    """A file."""

    @pytest.fixture
    def reopen(self, tmp_path):
        return lambda: SqliteStore(tmp_path / "store")


class TestPostgres(StoreContract):
    """A real server."""

    @pytest.fixture
    def reopen(self, postgres_server):
        dsn = postgres_server.new_schema()
        return lambda: PostgresStore(dsn)
