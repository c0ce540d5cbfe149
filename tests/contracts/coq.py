"""The machine-checked proofs, compiled by Coq in a folder of the test's own.

proofs = Proofs(tmp_path)                # a copy, not compiled
proofs.compile_all()                     # what Coq printed, file by file
proofs.compute("1 + 1")                  # [[2]]
"""

import re
import shutil
import subprocess
from pathlib import Path

from contracts.real_server import find_part

__all__ = ["PROOFS", "Proofs", "files_in_order", "statements"]

#: The folder of the proofs.
PROOFS = Path(__file__).resolve().parents[2] / "proofs"
_PATIENCE_S = 300
_STATEMENT = re.compile(r"^(Theorem|Corollary|Lemma) (\w+)", re.MULTILINE)


def files_in_order() -> list[str]:
    """The files, each after those that it builds on."""
    return [line for line in (PROOFS / "_CoqProject").read_text().splitlines() if line.endswith(".v")]


def statements(name: str, *kinds: str) -> list[str]:
    """The names of what a file proves, as `Theorem`, `Corollary` or `Lemma`."""
    found = _STATEMENT.findall((PROOFS / name).read_text(encoding="utf-8"))
    return [each for kind, each in found if kind in (kinds or ("Theorem", "Corollary", "Lemma"))]


class Proofs:
    """A copy of the proofs that may be changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._coqc = shutil.which("coqc") or str(find_part("coq") / "coqc")
        for name in files_in_order():
            shutil.copy(PROOFS / name, folder)

    def compile(self, name: str) -> subprocess.CompletedProcess[str]:
        """What Coq says about one file; those that it builds on must be compiled."""
        return subprocess.run(
            [self._coqc, "-q", "-Q", ".", "Tarry", name],
            cwd=self.folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
        )

    def compile_all(self) -> dict[str, str]:
        """What Coq printed about each file; a file that it does not accept is an error."""
        printed = {}
        for name in files_in_order():
            ran = self.compile(name)
            assert ran.returncode == 0, f"{name}: {ran.stderr}"
            printed[name] = ran.stdout
        return printed

    def compute(self, *terms: str) -> list[list[int]]:
        """The integers in the value of each term, in the order in which Coq prints them."""
        modules = " ".join(name.removesuffix(".v") for name in files_in_order() if name != "Assumptions.v")
        lines = [
            "From Coq Require Import ZArith QArith List.",
            "Import ListNotations.",
            f"From Tarry Require {modules}.",
            "Open Scope Z_scope.",
            *(f"Compute {term}." for term in terms),
        ]
        (self.folder / "Table.v").write_text("\n".join(lines))
        ran = self.compile("Table.v")
        assert ran.returncode == 0, ran.stderr
        values = re.findall(r"^     = (.*?)\n     : ", ran.stdout, re.MULTILINE | re.DOTALL)
        assert len(values) == len(terms)
        return [[int(number) for number in re.findall(r"-?\d+", value)] for value in values]
