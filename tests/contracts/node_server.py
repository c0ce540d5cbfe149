"""A small Bitcoin node for tests: it answers over JSON-RPC as Bitcoin Core 29 does, and keeps every byte.

It knows a mempool and a chain by the names of transactions, and believes every signature. It works out the
name of a transaction by itself, so its transactions are written without witnesses.
"""

import base64
import hashlib
import json
from decimal import Decimal

from contracts.http_receiver import HttpReceiver, says

__all__ = ["NodeServer", "coin_of", "make_transaction", "name_of"]

UNKNOWN = (-5, "No such mempool or blockchain transaction. Use gettransaction for wallet transactions.")
SPENT = (-25, "bad-txns-inputs-missingorspent")


def coin_of(raw, index=0):
    """The coin that an output of a transaction is, as an input writes it."""
    return bytes.fromhex(name_of(raw))[::-1].hex() + index.to_bytes(4, "little").hex()


def name_of(raw):
    """The txid of a transaction without witnesses."""
    once = hashlib.sha256(bytes.fromhex(raw)).digest()
    return hashlib.sha256(once).digest()[::-1].hex()


def make_transaction(
    *coins, values=(1000,), sequences=(0xFFFFFFFF,), locktime=0, version=2, script="51", witnesses=()
):
    """A raw transaction in hex. A coin is a number, if nobody has made it, or what `coin_of` says."""
    coins = coins or (1,)
    sequences = sequences if len(sequences) == len(coins) else sequences * len(coins)
    spent = [
        f"{f'{coin:064x}00000000' if isinstance(coin, int) else coin}{_sized(script)}"
        + sequence.to_bytes(4, "little").hex()
        for coin, sequence in zip(coins, sequences, strict=True)
    ]
    paid = [f"{value.to_bytes(8, 'little').hex()}{_sized('51')}" for value in values]
    told = "".join(f"{len(items):02x}" + "".join(map(_sized, items)) for items in witnesses)
    return "".join(
        [
            version.to_bytes(4, "little").hex(),
            "0001" if witnesses else "",
            f"{len(spent):02x}",
            *spent,
            f"{len(paid):02x}",
            *paid,
            told,
            locktime.to_bytes(4, "little").hex(),
        ]
    )


def _sized(script):
    return f"{len(script) // 2:02x}{script}"


class NodeServer(HttpReceiver):
    """It says `refusal`, a code and a reason, to a new transaction, and `verdict` to one to come."""

    def __init__(self, folder):
        super().__init__()
        self.mempool, self.mined, self.unspent = [], set(), set()
        self.refusal, self.verdict, self.has_index, self.tip = None, {}, False, 850_000
        self.estimates = {}  # blocks: fee rate in coins a thousand virtual bytes, as text
        self.cookie, self.login = folder / ".cookie", folder / "login"
        self.login.write_text("ann:pass:word\n")
        self.login.chmod(0o600)
        self.start("__cookie__:first")
        self.answer = self._say
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self, secret):
        """Write a new cookie, as at each start."""
        self.cookie.write_text(secret)
        self._keys = {secret, "ann:pass:word"}

    def mine(self, raw, *, spent=False):
        """Put a transaction into a block, its outputs unspent or spent since."""
        name = name_of(raw)
        self.mempool = [each for each in self.mempool if each != name]
        self.mined.add(name)
        if not spent:
            self.unspent.add(name)

    @property
    def asked(self):
        """The method and parameters of every question."""
        told = [json.loads(each.body) for each in self.received]
        return [(each["method"], each["params"]) for each in told]

    def _say(self, file, _):
        asked = self.received[-1]
        given = (asked.headers["Authorization"] or "").removeprefix("Basic ")
        if base64.b64decode(given).decode() not in self._keys:
            file.write(says(401, "Unauthorized", 'WWW-Authenticate: Basic realm="jsonrpc"'))
            return
        question = json.loads(asked.body)
        answer = getattr(self, f"_{question['method']}")(*question["params"])
        error = None
        if isinstance(answer, tuple):
            error, answer = {"code": answer[0], "message": answer[1]}, None
        # Below version 2 of the protocol the id comes last and an error is a 500.
        told = {"result": answer, "error": error, "id": question["id"]}
        body = json.dumps(told, default=str).replace('"~', "").replace('~"', "").encode() + b"\n"
        status = (500, "Internal Server Error") if error else (200, "OK")
        file.write(says(*status, "Content-Type: application/json", "Connection: close", body=body))

    def _sendrawtransaction(self, raw):
        name = name_of(raw)
        if name in self.unspent:
            return (-27, "Transaction outputs already in utxo set")
        if name not in self.mempool:
            if name in self.mined:
                return SPENT
            if self.refusal:
                return self.refusal
            self.mempool.append(name)
        return name

    def _getmempoolentry(self, name):
        return {"vsize": 100} if name in self.mempool else (-5, "Transaction not in mempool")

    def _getrawtransaction(self, name):
        known = name in self.mempool or (self.has_index and name in self.mined)
        return "00" if known else UNKNOWN

    def _gettxout(self, name, _):
        return {"confirmations": 1} if name in self.unspent or name in self.mempool else None

    def _getblockcount(self):
        return self.tip

    def _testmempoolaccept(self, raws):
        return [{"txid": name_of(raw), "wtxid": name_of(raw), **self.verdict} for raw in raws]

    def _estimatesmartfee(self, blocks, _):
        if blocks not in self.estimates:
            return {"errors": ["Insufficient data or no feerate found"], "blocks": blocks}
        return {"feerate": f"~{Decimal(self.estimates[blocks])}~", "blocks": blocks}
