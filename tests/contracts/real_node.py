"""A real Bitcoin node of the tests' own, on a chain of its own (regtest).

It is Bitcoin Knots, a derivative of Bitcoin Core. Its own wallet signs what the tests send:

    prepared = prepare_node(folder)          # once: a chain with coins, not running
    with Node(prepared, another_folder) as node:
        raw = node.payment()                 # signed, not sent
"""

import base64
import http.client
import json
import shutil
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from contracts.real_server import RealServer, find_part, free_port

__all__ = ["Coin", "Node", "NodeError", "prepare_node"]

_PATIENCE_S = 30.0
_WALLET = "/wallet/test"
_COINS = 12
_MATURE = 100  # blocks until a mined coin can be spent
_FEE = Decimal("0.0001")
_FINAL, _REPLACEABLE = 0xFFFFFFFE, 0xFFFFFFFD


class NodeError(Exception):
    """The node answered with an error."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.code = told["code"]
        super().__init__(f"{told['code']}: {told['message']}")


@dataclass(frozen=True)
class Coin:
    """An output that the wallet can spend, on the chain or not yet sent."""

    txid: str
    vout: int
    amount: Decimal
    script: str

    @property
    def place(self) -> dict[str, Any]:
        """The output as an input names it."""
        return {"txid": self.txid, "vout": self.vout}


def prepare_node(folder: Path) -> Path:
    """Make a chain with coins that can be spent; the folder, to be copied."""
    folder.mkdir(parents=True)
    with Node(None, folder) as node:
        node.ask("createwallet", "test", False, False, "", False, True, True)  # the last: load it at starts
        node.mine(_MATURE + _COINS)
        node.stop()
    return folder


class Node(RealServer):
    """A node of one test. `stop` and `start` are an outage: same port, same mempool, another cookie."""

    def __init__(self, prepared: Path | None, folder: Path, *, txindex: bool = False) -> None:
        if prepared is not None:
            shutil.copytree(prepared, folder)
        self.folder, port = folder, free_port()
        self.cookie = folder / "regtest" / ".cookie"
        super().__init__(
            [
                *(find_part("bitcoin") / "bitcoind", "-regtest", f"-datadir={folder}", "-server=1"),
                *(
                    "-listen=0",
                    "-connect=0",
                    "-dnsseed=0",
                    "-rpcbind=127.0.0.1",
                    "-rpcallowip=127.0.0.1/32",
                ),
                *(f"-rpcport={port}", f"-txindex={int(txindex)}", "-printtoconsole=0"),
                *("-fallbackfee=0.0002", "-dbcache=8", "-par=1", "-rpcthreads=4"),
            ],
            port=port,
            log=folder / "log",
            answers=self._is_up,
        )

    @property
    def url(self) -> str:
        """Where programs speak with it."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, *parameters: object) -> Any:
        """One call of the node: its answer."""
        question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        secret = base64.b64encode(self.cookie.read_bytes()).decode()
        path = "/" if method == "createwallet" else _WALLET
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        try:
            connection.request(
                "POST", path, json.dumps(question, default=str), {"Authorization": f"Basic {secret}"}
            )
            told = json.loads(connection.getresponse().read(), parse_float=Decimal)
        finally:
            connection.close()
        if told.get("error"):
            raise NodeError(told["error"])
        return told["result"]

    def mine(self, blocks: int = 1, *, only: list[str] | None = None) -> str:
        """Mine what is in the mempool, or just these transactions: the newest block's hash."""
        address = self.ask("getnewaddress", "", "bech32")
        if only is not None:
            return self.ask("generateblock", address, only)["hash"]
        return self.ask("generatetoaddress", blocks, address)[-1]

    # --- transactions -----------------------------------------------------------------------------

    def coins(self) -> list[Coin]:
        """What can be spent; what the mempool spends is not among it."""
        found = self.ask("listunspent", 1)
        return [Coin(each["txid"], each["vout"], each["amount"], each["scriptPubKey"]) for each in found]

    def payment(
        self,
        coin: Coin | None = None,
        *,
        locktime: int = 0,
        replaceable: bool = False,
        fee: Decimal = _FEE,
        parts: int = 1,
    ) -> str:
        """A signed transaction that moves one coin within the wallet, in hexadecimal. It is not sent."""
        coin = coin or self.coins()[0]
        source = {**coin.place, "sequence": _REPLACEABLE if replaceable else _FINAL}
        share = ((coin.amount - fee) / parts).quantize(Decimal("1e-8"))
        targets = [{self.ask("getnewaddress", "", "bech32"): str(share)} for _ in range(parts)]
        raw = self.ask("createrawtransaction", [source], targets, locktime)
        known = {**coin.place, "scriptPubKey": coin.script, "amount": str(coin.amount)}
        signed = self.ask("signrawtransactionwithwallet", raw, [known])
        assert signed["complete"], signed
        return signed["hex"]

    def txid(self, raw: str) -> str:
        """The name of a transaction."""
        return self.ask("decoderawtransaction", raw)["txid"]

    def coin_of(self, raw: str, vout: int = 0) -> Coin:
        """What a transaction leaves behind, for one that depends on it; it need not have been sent."""
        told = self.ask("decoderawtransaction", raw)
        output = told["vout"][vout]
        return Coin(told["txid"], vout, output["value"], output["scriptPubKey"]["hex"])

    def mempool(self) -> dict[str, dict[str, Any]]:
        """What waits to be mined, by its name."""
        return self.ask("getrawmempool", True)

    def _is_up(self) -> bool:
        try:
            return self.ask("getblockchaininfo")["chain"] == "regtest"
        except (OSError, NodeError, http.client.HTTPException, ValueError):  # not yet, or warming up
            return False
