"""Reproduce the paper's figures and tables: as printed, as coded, corrected.

Writes index.html, and for each script a JSON file of its tables and an SVG and a PNG of each chart. The
same version, seed and data give the same numbers again. With --data the experiments run on real event
tables too (a folder of them, or one).

  tarry reproduce all --out reproduced
  tarry reproduce delay_tables posterior
  tarry reproduce wikipedia --data histories/ --seed 7
"""

import argparse
import json
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.show import print_answer, print_json, print_sentences, progress_on_terminal
from tarry.core.errors import BadInput

if TYPE_CHECKING:  # needs the paper extra, and is loaded when the command runs
    from tarry.paper.finding import Finding

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry reproduce`."""
    add_all(
        parser,
        Argument("names", metavar="NAME", nargs="*", default=["all"], help="scripts, or all (default)"),
        Argument("--list", action="store_true", help="print the names of the scripts, and stop"),
        Argument("--out", metavar="DIR", default="reproduced", help="where to write (default reproduced)"),
        Argument("--data", metavar="PATH", help="a folder of real event tables, or one of them"),
        Argument(
            "--seed", metavar="N", type=int, default=0, help="of everything drawn at random (default 0)"
        ),
        Argument(
            "--tiny", action="store_true", help="a quick run that proves it works; its figures mean nothing"
        ),
    )


def run(arguments: argparse.Namespace) -> None:
    """Run the scripts, write what they find, and print it."""
    need_study("polars", "numba", "scipy", extra="paper")
    from tarry.paper import SCRIPTS, script  # noqa: PLC0415 - likewise
    from tarry.paper.finding import RunSettings, findings_page  # noqa: PLC0415 - where the extra is installed

    if arguments.list:
        width = max(map(len, SCRIPTS))
        lines = [f"{name:<{width}}  {shows}" for name, shows in SCRIPTS.items()]
        print_answer(arguments, "\n".join(lines), scripts=SCRIPTS)
        return
    names = list(SCRIPTS) if "all" in arguments.names else list(dict.fromkeys(arguments.names))
    modules = [script(name) for name in names]
    data = _data(arguments.data)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    stamp = _stamp(arguments, data)
    findings = []
    for place, (name, module) in enumerate(zip(names, modules, strict=True), start=1):
        with progress_on_terminal(f"steps of {name} ({place} of {len(names)})") as progress:
            if progress is not None:  # some scripts take a while before their first step is done
                progress(0, 1)
            settings = RunSettings(seed=arguments.seed, data=data, tiny=arguments.tiny, progress=progress)
            findings.append(module.find(settings))
        _write(findings[-1], out, stamp)
    (out / "index.html").write_text(findings_page(findings, stamp), encoding="utf-8")
    if arguments.json:
        print_json({**stamp, "findings": [finding.as_json() for finding in findings]})
        return
    for finding in findings:
        print_sentences(f"{finding.name}: {finding.title}", list(finding.says))
        print()
    print(f"written to {out / 'index.html'}")


def _data(path: str | None) -> Path | None:
    if path is None:
        return None
    if not Path(path).exists():
        raise BadInput(f"there is no {path!r}", "give --data a folder of event tables, or one of them")
    return Path(path)


def _stamp(arguments: argparse.Namespace, data: Path | None) -> dict[str, Any]:
    """What gives the same numbers again: version, seed, names and digests of files, but no folder."""
    files = (
        []
        if data is None
        else [data]
        if data.is_file()
        else sorted(p for p in data.iterdir() if p.is_file())
    )
    stamp: dict[str, Any] = {"tarry": version("tarry"), "seed": arguments.seed}
    if files:
        stamp["data"] = ", ".join(f"{file.name} {_digest(file)}" for file in files)
    return {**stamp, "tiny": True} if arguments.tiny else stamp


def _digest(file: Path) -> str:
    """The beginning of a file's SHA-256: whoever has the same file can tell."""
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()[:12]


def _write(finding: "Finding", out: Path, stamp: dict[str, Any]) -> None:
    from tarry.study.charts.style import write_charts  # noqa: PLC0415 - only where the extra is installed

    text = json.dumps({**stamp, **finding.as_json()}, indent=2) + "\n"
    (out / f"{finding.name}.json").write_text(text, encoding="utf-8")
    write_charts({f"{finding.name}-{name}": chart for name, chart in finding.charts.items()}, out)
