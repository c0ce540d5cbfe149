"""How many connections to PostgreSQL a process holds at most: the operating page says so."""

import re
import threading
from pathlib import Path

import psycopg

from gateway.test_server import FAST, POST, served
from tarry.gateway.database import open_store
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.store import SystemClock

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operating.md"
CLIENTS, REQUESTS, WORKERS = 16, 3, 2


def budget(program: str) -> int:
    """What the page says, before workers are counted."""
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    found = re.search(rf"`{program}` holds at most (\d+)(?: connections)?,? and one more for each", text)
    assert found, "the page does not say it"
    return int(found[1])


def test_a_busy_server_holds_no_more_connections_than_the_page_says(postgres_server):
    """Whatever is asked at once: posts, receipts, feeds and metrics wait for the threads there are."""
    where = postgres_server.new_database()
    gateway = small_gateway(FAST, SystemClock(), store=open_store(where))
    token, most = new_token(gateway, "submit", "operate"), []
    headers = {"Authorization": f"Bearer {token}"}

    def ask(runner, number):
        with runner.client(headers=headers) as client:
            for _ in range(REQUESTS):
                told = client.post("/v1/spaces/talk/posts", json={**POST, "actor": f"a{number}"}).json()
                mine = {"Tarry-Receipt": told["receipt"]}
                client.request("PUT", "/v1/receipt", json={"content": "better"}, headers=mine)
                client.get("/v1/receipt", headers=mine)
                client.get("/v1/spaces/talk/feed")
                client.get("/metrics")

    with (
        served(gateway, workers_in_server=WORKERS) as runner,
        psycopg.connect(where, autocommit=True) as onlooker,
    ):
        clients = [threading.Thread(target=ask, args=(runner, number)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            clients[0].join(0.01)
            most.append(count_connections(onlooker))
    gateway.store.close()

    assert 8 < max(most) <= budget("tarry serve") + WORKERS


def count_connections(onlooker) -> int:
    """Those to this database, but for the onlooker's own."""
    query = """SELECT count(*) FROM pg_stat_activity
               WHERE datname = current_database() AND backend_type = 'client backend'
               AND pid <> pg_backend_pid()"""
    return onlooker.execute(query).fetchone()[0]
