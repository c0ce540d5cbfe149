"""The paper, reproduced: one script for each figure and table, read from top to bottom.

Goldberg, Fanti and Shah's results as printed, as their code has them, and corrected.
"""

from importlib import import_module
from types import ModuleType

from tarry.core.errors import require

__all__ = ["SCRIPTS", "script"]


#: The name of each script, and what it shows.
SCRIPTS: dict[str, str] = {
    "posterior": "how sure two acts together make an observer",
    "delays": "expected delay of four laws against epsilon",
    "frontier": "batched against unbatched delay: the frontier, its optimum, and beyond",
    "delay_tables": "the 24 delays of the tables: printed, as coded, corrected",
    "impossibility": "what two-sided privacy costs: the printed bound and the corrected one",
    "wikipedia": "linking revisions of a made-up month and of real wikis, as coded and corrected",
    "peer_review": "how often reviewers batch, and what that tells",
    "bitcoin": "payments to one address: gaps from its past, two attacks, and a safe rule",
    "power": "power and type-I error of a test: printed bound, corrected bound, simulated pairs",
    "horizon": "a history that ends: what a deadline may do to a delay",
    "queue": "the queue of the appendix: under its assumptions, and in traffic with quiet steps",
    "gallery": "counterexamples: what breaks the promise, and by how much",
}


def script(name: str) -> ModuleType:
    """The module of a script: its TITLE and `find(settings)`.

    >>> script("nonsense")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown script 'nonsense': use all, ...
    """
    require(name in SCRIPTS, f"unknown script {name!r}", f"use {', '.join(['all', *SCRIPTS])}")
    return import_module(f"tarry.paper.{name}")
