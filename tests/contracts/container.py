"""A container file, read line by line: its steps, their faults, and the first stage run as a script.

No image is built: there may be no container engine here, and no base image to be had.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

__all__ = ["faults_of", "read_steps", "run_build"]

_KNOWN = {"ARG", "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL"}
_LAST = {"ENTRYPOINT", "CMD"}
_FAULTS = (
    ("FROM", r":latest|^[a-z/]+( |$)", "may be another image tomorrow"),
    ("RUN", r"pip install(?!.*--no-cache-dir)", "pip leaves its cache in the image"),
    ("RUN", r"\bsudo\b|\bcurl\b|\bwget\b|apt-get install(?!.*-y)", "not in an image"),
    ("ENTRYPOINT CMD", r"^[^\[]", "runs a shell, which takes no signals"),
    ("WORKDIR", r"^[^/]", "depends on the step before"),
    ("COPY", r"^[.*] ", "copies everything, secrets of the checkout too"),
)


def read_steps(path):
    """Its steps, as instruction and words; a line that ends in a backslash goes on."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE))
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]


def faults_of(steps):
    """What a linter of container files says: moving tags, unknown steps, root, caches, needless shells."""
    names = [name for name, _ in steps]
    stage = max(place for place, name in enumerate(names) if name == "FROM")
    for name, words in steps:
        if name not in _KNOWN | _LAST:
            yield f"{name} is unknown, or better not used"
        for meant, fault, what in _FAULTS:
            if name in meant.split() and re.search(fault, words):
                yield f"{name} {words}: {what}"
    if "USER" not in names[stage:] or "root" in [words for name, words in steps if name == "USER"]:
        yield "it runs as root"
    if not {"ENTRYPOINT", "CMD"} & set(names[stage:]):
        yield "it runs nothing"


def run_build(steps, checkout, folder):
    """Run the first stage: what it copies lies in `folder`/checkout, and /opt/tarry is `folder`/tarry."""
    here, program = folder / "checkout", folder / "tarry"
    begin, end = (place for place, step in enumerate(steps) if step[0] == "FROM")
    clean = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "TARRY_"))}
    here.mkdir(parents=True)
    for name, words in steps[begin + 1 : end]:
        if name == "COPY":
            *sources, target = words.split()
            for source in sources:
                _copy(checkout / source, here / target)
        elif name == "RUN":
            line = words.replace("/opt/tarry", str(program))
            done = subprocess.run(
                ["sh", "-ec", line], cwd=here, env=clean, capture_output=True, text=True, check=False
            )
            if done.returncode:
                return f"{line}: {done.stdout}{done.stderr}"
        else:
            assert (name, words) == ("WORKDIR", "/checkout")
    return ""


def _copy(source: Path, target: Path):
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
