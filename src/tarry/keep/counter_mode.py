"""Secure bytes faster than the operating system gives them, for whoever draws in bulk.

The core draws from any source of bytes that it is handed; this one needs the package `cryptography`, which
the core does not know.
"""

import os
from collections.abc import Callable
from threading import Lock

from tarry.core.entropy import forks
from tarry.core.errors import BadInput

__all__ = ["ctr_reader"]


def ctr_reader() -> Callable[[int], bytes]:
    """Bytes of AES-256 in counter mode under a key from the operating system: faster in bulk.

    Needs `cryptography` (`pip install tarry[fast]`) and says so when it is missing. A process that
    forked takes a new key before its first byte.

    >>> len(ctr_reader()(16))
    16
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 - an extra
    except ImportError:
        raise BadInput(
            "bulk drawing by counter mode",
            "needs the package cryptography",
            found="none",
            fix="run pip install 'tarry[fast]', or read from os.urandom",
        ) from None

    def start() -> tuple[int, Lock, Callable[[bytes], bytes]]:
        cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16)))
        return forks(), Lock(), cipher.encryptor().update

    state = start()

    def read(size: int) -> bytes:
        nonlocal state
        if state[0] != forks():
            state = start()
        _, lock, update = state
        with lock:
            return update(bytes(size))

    return read
