"""Properties are searched the same way on every run: a red test is red again tomorrow."""

import pytest
from hypothesis import settings

settings.register_profile("house", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("house")


@pytest.fixture(scope="session")
def postgres_server():
    """A running PostgreSQL, one for each process of tests; a test that stops it starts it again."""
    from contracts.postgres_server import PostgresServer

    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()
