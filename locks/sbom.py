"""Write locks/sbom.cdx.json: what a gateway's lock holds, as CycloneDX 1.5.

python locks/sbom.py

Programs that check such lists read it. It is made of locks/gateway.txt and pyproject.toml alone, so
that it is the same everywhere; scripts/lock makes it again, and `tests/test_release.py` fails when it is
out of date.
"""
# ruff: noqa: INP001 - a script beside the locks, not a package

import json
import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE / "gateway.txt"
SBOM = HERE / "sbom.cdx.json"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components() -> list[dict[str, object]]:
    """One for each package of the lock: its name, version, address and the hashes that pip accepts."""
    text = LOCK.read_text(encoding="utf-8")
    pins = list(PINNED.finditer(text))
    ends = [*(pin.start() for pin in pins[1:]), len(text)]
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{pin[1].lower()}@{pin[2]}",
            "name": pin[1],
            "version": pin[2],
            "purl": f"pkg:pypi/{pin[1].lower()}@{pin[2]}",
            "hashes": [
                {"alg": "SHA-256", "content": found}
                for found in sorted(HASH.findall(text[pin.start() : end]))
            ],
        }
        for pin, end in zip(pins, ends, strict=True)
    ]


def sbom() -> str:
    """The whole list, as text."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = {"type": "application", "bom-ref": "tarry", "name": "tarry", "version": project["version"]}
    parts = components()
    named = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**about, "licenses": [{"license": {"id": project["license"]}}]}},
        "components": parts,
        "dependencies": [{"ref": "tarry", "dependsOn": [part["bom-ref"] for part in parts]}],
    }
    return json.dumps(named, indent=1) + "\n"


if __name__ == "__main__":
    SBOM.write_text(sbom(), encoding="utf-8")
