"""Where a gateway's tables lie: what cannot be an address is refused, and a password is never told."""

from pathlib import Path

import pytest

from tarry.core.errors import BadInput
from tarry.gateway.config import Config
from tarry.gateway.migrations import applied
from tarry.gateway.opening import open_database
from tarry.gateway.stores import is_file, open_store
from tarry.keep.postgres import PostgresStore

PASSWORD = "hunter2"  # noqa: S105 - of nothing


@pytest.mark.parametrize(
    "where",
    [
        f"postgresql://postgres:{PASSWORD}@[bad/x",
        f"postgresql+psycopg://u:{PASSWORD}@h/x",
        f"mysql://u:{PASSWORD}@h/x",
        f"POSTGRESQL://u:{PASSWORD}@h/x",
    ],
)
@pytest.mark.parametrize(
    "attempt", [applied, open_store, lambda where: open_database(Config(database=where))]
)
def test_an_address_that_cannot_be_one_is_refused_without_its_password(where, attempt):
    with pytest.raises(BadInput, match=r"the address of (a|the) database") as caught:
        attempt(where)
    assert PASSWORD not in str(caught.value)


def test_a_broken_url_is_not_quoted_by_the_store_itself():
    with pytest.raises(BadInput) as caught:
        PostgresStore(f"postgresql://postgres:{PASSWORD}@[bad/x")
    assert PASSWORD not in str(caught.value)


def test_a_path_is_a_path_with_sqlite_before_it_or_without():
    assert is_file("sqlite:///srv/g.db") == is_file("/srv/g.db") == Path("/srv/g.db")
    assert is_file("a:b/c.db") == Path("a:b/c.db")
    assert is_file("postgres://db/x") is is_file("postgresql://db/x") is None


@pytest.mark.parametrize(
    ("rights", "is_fine"), [(0o600, True), (0o660, True), (0o644, False), (0o602, False)]
)
def test_a_database_that_others_may_read_or_write_is_refused(tmp_path, rights, is_fine):
    config = Config(database=str(tmp_path / "g.db"))
    open_database(config, make=True).close()
    (tmp_path / "g.db").chmod(rights)
    if is_fine:
        open_database(config).close()
        return
    with pytest.raises(
        BadInput, match=f"the database is closed to others, found rights {rights:o}: chmod o= '"
    ):
        open_database(config)
