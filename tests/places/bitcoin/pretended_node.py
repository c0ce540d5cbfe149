"""A small Bitcoin node that knows the part of the RPC that is read, and is strict about every question."""

from base64 import b64encode
from dataclasses import dataclass, field

from net.loopback import Pretended, says

__all__ = ["LOGIN", "PretendedNode", "out", "payment", "script"]

LOGIN = ("tarry", "open-sesame")
_BEGAN = 1_714_521_600  # 2024-05-01


def script(name):
    """A script as a node tells it: of an address, or of a kind that has none (`:nulldata`)."""
    if name.startswith(":"):
        return {"asm": "", "hex": "00", "type": name[1:]}
    return {"asm": "", "hex": "00", "address": name, "type": "witness_v0_keyhash"}


def out(payer, place=0, name=None):
    """What an input spends: an output of another payment, with its script where that is known."""
    return {"txid": payer, "vout": place, **({"prevout": {"scriptPubKey": script(name)}} if name else {})}


def payment(txid, inputs, outputs):
    """A transaction as a node tells it."""
    outputs = [
        {"n": place, "value": 0.1, "scriptPubKey": script(name)} for place, name in enumerate(outputs)
    ]
    return {"txid": txid, "vin": inputs, "vout": outputs}


class _Refused(Exception):
    """The code is told."""


@dataclass
class PretendedNode(Pretended):
    """Blocks are lists of payments, ten minutes apart; the mempool has a time for each payment."""

    blocks: list = field(default_factory=list)
    mempool: dict = field(default_factory=dict)  # by txid: (seconds, payment)
    unspent: dict = field(default_factory=dict)  # by (txid, place): the name of a script
    forgets: set = field(default_factory=set)  # what leaves the mempool after it was listed
    modern: bool = True  # tells errors with status 200

    def tell(self, asked):
        """What it says to one request, or to many at once."""
        assert (asked.method, asked.path) == ("POST", "/")
        assert asked.headers["content-type"] == "application/json"
        if asked.headers.get("authorization") != f"Basic {b64encode(':'.join(LOGIN).encode()).decode()}":
            return says(body=b"", status=401)
        if isinstance(asked.value, list):
            assert 0 < len(asked.value) <= 100
            return says([self._one(each) for each in reversed(asked.value)])  # in any order: by their ids
        told = self._one(asked.value)
        return says(told, status=500 if told.get("error") and not self.modern else 200)

    def _one(self, request):
        assert request.keys() == {"jsonrpc", "id", "method", "params"}
        try:
            told = {"result": getattr(self, f"_{request['method']}")(*request["params"])}
        except _Refused as error:
            told = {"error": {"code": error.args[0], "message": "of Ann"}}
        return {"id": request["id"], **({"jsonrpc": "2.0"} if self.modern else {"error": None}), **told}

    def _getblockcount(self):
        return len(self.blocks) - 1

    def _getblockhash(self, height):
        assert 0 <= height < len(self.blocks)
        return f"hash {height}"

    def _getblock(self, name, verbosity):
        assert verbosity == 3
        height = int(name.removeprefix("hash "))
        if self.blocks[height] is None:
            raise _Refused(-1)
        made = {"txid": "new", "vin": [{"coinbase": "00"}], "vout": []}
        return {"height": height, "time": _BEGAN + 600 * height, "tx": [made, *self.blocks[height]]}

    def _getrawmempool(self):
        return list(self.mempool)

    def _getmempoolentry(self, txid):
        self._check_known(txid)
        return {"time": self.mempool[txid][0], "vsize": 140}

    def _getrawtransaction(self, txid, verbosity):
        assert verbosity == 1
        self._check_known(txid)
        return self.mempool[txid][1]

    def _check_known(self, txid):
        if txid not in self.mempool or txid in self.forgets:
            raise _Refused(-5)

    def _gettxout(self, txid, place, include_mempool):
        assert include_mempool is False
        name = self.unspent.get((txid, place))
        return name and {"value": 0.1, "confirmations": 3, "scriptPubKey": script(name)}
