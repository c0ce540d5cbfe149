"""Run the `$ ` lines of all console blocks in README.md and docs/, and write what they print below them.

python docs/generate_console.py

The blocks of a page run in order, in one folder, so a later command can read what an earlier one wrote.
Nothing lies there at first but the files of examples/ that the page links to. `tests/test_docs.py` fails
when a page shows something else.
"""
# ruff: noqa: INP001 - a script beside its pages, not a package

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"\]\(\.\./examples/([\w-]+\.py)\)")
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """The pages that have console blocks."""
    found = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    return [page for page in found if BLOCK.search(page.read_text(encoding="utf-8"))]


def rerun(text: str, folder: Path) -> str:
    """A page with the output of its commands as it is now."""
    for example in EXAMPLE.findall(text):
        copy(ROOT / "examples" / example, folder)
    return BLOCK.sub(lambda block: _block(block.group(), folder), text)


def _block(block: str, folder: Path) -> str:
    commands = re.findall(r"^\$ (.*)$", block, flags=re.MULTILINE)
    return "".join(f"$ {command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: Path) -> str:
    """What a command prints; `tarry` is that of this interpreter."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1; {command}"],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "96"},
        stdout=subprocess.PIPE,
        check=False,
        encoding="utf-8",
    )
    text = done.stdout.strip("\n")
    return f"{text}\n" if text else ""


if __name__ == "__main__":
    for page in pages():
        with TemporaryDirectory() as folder:
            told = rerun(page.read_text(encoding="utf-8"), Path(folder))
        page.write_text(told, encoding="utf-8", newline="\n")
