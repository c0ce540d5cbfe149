"""Writes docs/reproduction.md and its figures from a run of `tarry reproduce all --data DIR --out RUN`.

    python docs/generate_reproduction.py RUN

What the page says is what the scripts said in that run: every sentence is computed by its script, and
names the history it is about. Run it again when a script changes.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import json
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
FIGURES = HERE / "figures" / "reproduction"
#: The charts that are shown; `index.html` of a run has all of them.
SHOWN = {
    "posterior": ["published-rates", "measured-rates"],
    "delays": ["unbatched-delay", "batched-delay"],
    "frontier": ["frontier", "beyond-the-frontier"],
    "delay_tables": ["mean-delays"],
    "impossibility": ["released-within"],
    "wikipedia": [
        "made-up-month-as-coded-25",
        "made-up-month-corrected-25-50",
        "wiki_webdocs_a-corrected-50",
    ],
    "peer_review": ["posteriors"],
    "bitcoin": ["informed-attack", "delays-by-percentile"],
    "power": ["power"],
    "horizon": ["losses"],
    "queue": ["backlog"],
    "gallery": [],
}
HEAD = """\
# The paper, reproduced

Goldberg, Fanti and Shah's results as printed, as their code has them, and corrected. One command makes
every figure and table again, as one page with PNG, SVG and JSON of each:

```sh
tarry reproduce all --data DIR --out reproduced
```

`tarry reproduce --list` names the scripts; each section below names the command that gives it. What
follows is the run stamped {stamp}. Without `--data` the made-up histories remain, and closed forms need
none.

**The data.** The authors' data is not public any more. The Wikipedia, Bitcoin and peer review
experiments run on made-up histories with the paper's published statistics, where the printed curves
should be approached, and on real event tables. None of these is the authors', they are not part of this
project, and every number below says which history it is from:

- `wiki_webdocs_a`: the edit history of the WebPlatform Docs wiki, 2011 to 2013; `wiki_month_a`: 21 days
  of the most edited Wikipedia pages (Kumar, Zhang and Leskovec, KDD 2019); `wiki_ticker_am`: half a day
  of edits on all Wikipedias, thinned at its source, so that batches are cut short
- `code_review_a`: the discussion record of the Bitcoin Core project; `ports_commits_a` and `git_oslo`:
  commits to OpenBSD's ports (one commit may touch hundreds at one instant) and to six OpenStack
  libraries; `qa_forum`: a Stack Exchange site
- `dao_votes`: votes in a Decentraland DAO; `bitcoin_otc`: ratings on the Bitcoin OTC market (Kumar et
  al., ICDM 2016)

**What was tuned.** How long sessions last, how people pause in them, and how often addresses are paid
is not published. The made-up histories were tuned to what is: gaps and batching, and for Wikipedia with
the printed attack without delays in view, for Bitcoin with the printed results. That our "as coded"
curves lie near the printed ones supports the reading of the authors' code; it does not prove it.
"""


def main(run: Path) -> None:
    """Write the page from the files of a run."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    found = [json.loads((run / f"{name}.json").read_text(encoding="utf-8")) for name in SHOWN]
    stamp = f"tarry {found[0]['tarry']}, seed {found[0]['seed']}"
    parts = [HEAD.format(stamp=stamp)]
    for one in found:
        parts.append(f"## {one['title']}\n")
        data = (
            " --data DIR"
            if any(
                name in sentence for sentence in one["says"] for name in ("_a", "_votes", "_otc", "_forum")
            )
            else ""
        )
        parts.append(f"```sh\ntarry reproduce {one['name']}{data}\n```\n")
        for chart in SHOWN[one["name"]]:
            name = f"{one['name']}-{chart}.svg"
            (FIGURES / name).write_bytes((run / name).read_bytes())
            parts.append(f"![{chart.replace('-', ' ')}](figures/reproduction/{name})\n")
        for sentence in one["says"]:
            wrapped = textwrap.fill(
                sentence, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
            )
            parts.append(wrapped)
        parts.append("")
    (HERE / "reproduction.md").write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
