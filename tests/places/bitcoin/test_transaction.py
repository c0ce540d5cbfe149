"""Raw transactions: two from the world's own history, and no bytes at all that break the reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.node_server import make_transaction, name_of
from tarry.core.errors import BadInput
from tarry.places.bitcoin.transaction import MOST_BYTES, read_transaction

#: The first payment ever, in block 170.
FIRST = (
    "0100000001c997a5e56e104102fa209c6a852dd90660a20b2d9c352423edce25857fcd3704000000004847304402204e45e16932b8"
    "af514961a1d3a1a25fdf3f4f7732e9d624c6c61548ab5fb8cd410220181522ec8eca07de4860a4acdd12909d831cc56cbbac462208"
    "2221a8768d1d0901ffffffff0200ca9a3b00000000434104ae1a62fe09c5f51b13905f07f06b99a2f7159b2225f374cd378d71302f"
    "a28414e7aab37397f554a7df5f142c21c1b7303b8a0626f1baded5c72a704f7e6cd84cac00286bee0000000043410411db93e1dcdb"
    "8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643"
    "f656b412a3ac00000000"
)
#: The example of BIP 143: one input signed in its script, one in a witness.
WITNESSED = (
    "01000000000102fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f00000000494830450221008b9d1d"
    "c26ba6a9cb62127b02742fa9d754cd3bebf337f7a55d114c8e5cdd30be022040529b194ba3f9281a99f2b1c0a19c0489bc22ede944"
    "ccf4ecbab4cc618ef3ed01eeffffffef51e1b804cc89d182d279655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ff"
    "ffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783a76ac7a6d5988ac9093510d000000001976a9143bde42"
    "dbee7e4dbe6a21b2d50ce2f0167faa815988ac000247304402203609e17b84f6a7d30c80bfa610b5b4542f32a8a0d5447a12fb1366"
    "d7f01cc44a0220573a954c4518331561406f90300e8f3358f51928d43c212a8caed02de67eebee0121025476c2e83188368da1ff3e"
    "292e7acafcdb3566bb0ad253f62fc70f07aeee635711000000"
)


def read(raw):
    return read_transaction(raw.encode())


def test_the_first_payment_is_read():
    """Its name is the one that everybody knows."""
    made = read(FIRST)

    assert made.txid == "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16"
    assert made.inputs[0].coin == ("0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9", 0)
    assert (made.version, made.outputs, made.locktime) == (1, (1_000_000_000, 4_000_000_000), 0)
    made.check_signed()


def test_one_with_witnesses_is_read():
    """The witness is no part of its name, and signs its input."""
    made = read(WITNESSED)

    assert made.txid == "e8151a2af31c368a35053ddd4bdb285a8595c769a3ad83e0fa02314a602d4609"
    assert [each.sequence for each in made.inputs] == [0xFFFFFFEE, 0xFFFFFFFF]
    assert [each.is_signed for each in made.inputs] == [True, True]
    assert (made.outputs, made.locktime, made.raw.hex()) == ((112_340_000, 223_450_000), 17, WITNESSED)


def test_white_space_and_capitals_change_nothing():
    """A file ends in a line end."""
    assert read(f" {FIRST.upper()}\r\n") == read(FIRST)


@pytest.mark.parametrize("raw", [FIRST, WITNESSED], ids=["legacy", "witnessed"])
def test_no_part_of_one_is_one(raw):
    """Cut off anywhere, or with anything behind its end, it is refused."""
    for end in range(len(raw) // 2):
        with pytest.raises(BadInput, match=r"a transaction|the inputs"):
            read(raw[: 2 * end]).check_signed()
    with pytest.raises(BadInput, match="has 1 bytes behind its end"):
        read(raw + "00")


@given(raw=some.binary(max_size=300) | some.binary(max_size=100).map(bytes.fromhex("0100000001").__add__))
def test_no_bytes_break_the_reader(raw):
    """Whatever they are, they are a transaction or a sentence; what is one is named by all its bytes."""
    try:
        made = read(raw.hex())
    except BadInput:
        return
    assert made.raw.hex() == raw.hex()


@given(at=some.integers(0, len(WITNESSED) // 2 - 1), other=some.integers(1, 255))
def test_every_byte_that_is_no_witness_counts(at, other):
    """One that differs in any byte has another name, another witness, or is none."""
    raw = bytearray.fromhex(WITNESSED)
    raw[at] ^= other
    try:
        made = read(raw.hex())
    except BadInput:
        return
    original = read(WITNESSED)
    in_witness = len(raw) - 4 - 108 <= at < len(raw) - 4
    assert in_witness or made.txid != original.txid or made.inputs != original.inputs


@given(
    coins=some.lists(some.integers(1, 2**200), min_size=1, max_size=5, unique=True),
    values=some.lists(some.integers(0, 10**14), min_size=1, max_size=5),
    locktime=some.integers(0, 2**32 - 1),
    version=some.integers(0, 2**32 - 1),
    sequence=some.integers(0, 2**32 - 1),
)
def test_what_was_written_is_read(coins, values, locktime, version, sequence):
    """Any numbers come back as they went in."""
    raw = make_transaction(
        *coins, values=values, sequences=[sequence], locktime=locktime, version=version
    )  # fmt: skip
    made = read(raw)

    assert (made.txid, made.outputs) == (name_of(raw), tuple(values))
    assert (made.locktime, made.version) == (locktime, version)
    assert [each.sequence for each in made.inputs] == [sequence] * len(coins)


def test_a_witness_signs_and_is_not_in_the_name():
    """The same payment with a witness in place of the script's has the name without."""
    bare = make_transaction(1, 2, script="")
    signed = make_transaction(1, 2, script="", witnesses=[["aa", "bb"], ["cc"]])
    half = make_transaction(1, 2, script="", witnesses=[["aa", "bb"], []])

    assert read(signed).txid == read(half).txid == name_of(bare)
    read(signed).check_signed()
    for raw, found in ((bare, "2 of 2"), (half, "1 of 2")):
        with pytest.raises(BadInput, match=f"{found} inputs of a transaction are not signed"):
            read(raw).check_signed()


LEGACY = make_transaction(1)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ("", "is empty: give it in hex"),
        ("abc", "must have an even number of hex digits"),
        ("0x00", "must be written in hex"),
        ("zz ", "must be written in hex"),
        ("cHNidP8BAHUCAAAAASaBcTce3/KF6Tet7qSze3gADAVmy7OtZGQXE8pCFxv2AAAAAAD+", "not a PSBT in base64"),
        (" 70736274FF0100", "not a PSBT in hex"),
        ("psbt\xff\x01\x00", "not a PSBT in binary"),
        (make_transaction(0), "must spend coins, not be a miner's reward, which only a block can hold"),
        (make_transaction(1, 1), "spends the same coin twice"),
        (make_transaction(values=[21 * 10**14, 1]), "pays more than there will ever be"),
        (make_transaction(values=[]), "must have inputs and outputs"),
        (LEGACY.replace("0200000001", "020000000002"), "has no inputs"),
        (LEGACY.replace("0200000001", "02000000fd0100"), "must write its counts in the shortest way"),
        (LEGACY.replace("0200000001", "02000000feffff0000"), "must write its counts in the shortest way"),
        (
            LEGACY.replace("0200000001", "02000000ffffffffff00000000"),
            "must write its counts in the shortest way",
        ),
        (LEGACY.replace("0200000001", "02000000ffffffffffffffffff"), "the end of a transaction is missing"),
        (make_transaction(1, witnesses=[[]]), "is marked as having witnesses, and has none"),
        ("00" * (MOST_BYTES + 1), "must have at most 400000 bytes, not 400001"),
    ],
)
def test_what_is_no_transaction_is_refused(raw, sentence):
    """In one sentence that shows nothing of it."""
    with pytest.raises(BadInput) as told:
        read_transaction(raw.encode("latin-1"))

    assert sentence in str(told.value)
    assert len(raw) < 20 or raw[:20] not in str(told.value)


def test_the_longest_is_read():
    """400,000 bytes, to the byte."""
    inputs = 1 + (MOST_BYTES - 400) // 41
    coins = "".join(f"{number:064x}000000000000000000" for number in range(1, inputs))
    most = f"02000000fd{(inputs - 1).to_bytes(2, 'little').hex()}{coins}01" + "00" * 8
    script = MOST_BYTES - len(most) // 2 - 4 - 3
    raw = f"{most}fd{script.to_bytes(2, 'little').hex()}{'51' * script}00000000"
    assert len(raw) == 2 * MOST_BYTES

    assert len(read(raw).inputs) == inputs - 1
