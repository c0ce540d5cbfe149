"""Writes docs/reproduction.md and its figures from a run of `tarry reproduce all --data DIR --out RUN`.

    python docs/generate_reproduction.py RUN

What the page says is what the scripts said in that run: every sentence is computed by its script, and
names the history it is about. Run it again when a script changes.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import json
import re
import sys
import textwrap
from pathlib import Path

from tarry.paper import script
from tarry.paper.crosswalk import AUTHORS_CODE, CROSSWALK, INFERRED, summary

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

Goldberg, Fanti and Shah's results as printed, as their code has them, and corrected. Their code is public:
<{code}>.

{summary}

One command makes every figure and table again, as one page with PNG, SVG and JSON of each:

```sh
tarry reproduce all --data DIR --out reproduced
```

`tarry reproduce --list` names the scripts; each section below names the command that gives it. What
follows is the run stamped {stamp}. Without `--data` the made-up histories remain, and closed forms need
none.

**The data.** We do not have the authors' data. Their repository has neither the conference's comments
nor the week of payments; it lists a packed table of revisions (`wiki_analysis/wiki_data_all.csv.zip`),
which nothing below was run on. The Wikipedia, Bitcoin and peer review experiments run on made-up
histories with the paper's published statistics, where the printed curves
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


VERDICTS = """\
*Stands*: it comes out, or its proof holds. *Corrected*: it holds with the correction that is named.
*False*: as printed there is a counterexample. *Cannot be checked*: it needs data that we do not have.
*(i)*: a part of it is inferred from the authors' code as it reads, not seen in a run of it; below the table
is how. Figure 1 is a drawing, and claims nothing. Statements go by what they are about. [Theorem
1''](theory.md#theorem-1) is ours, and the [errata](theory.md#errata-to-the-paper) name the tests.
"""


def crosswalk() -> str:
    """The paper item by item, with links to the sections of the page."""
    rows = ["| in the paper | about | here | verdict | why |", "| --- | --- | --- | --- | --- |"]
    for item in CROSSWALK:
        here = ", ".join(f"[{name}](#{_anchor(script(name).TITLE)})" for name in item.scripts)
        verdict = f"{item.verdict} (i)" if item.inferred else str(item.verdict)
        rows.append(f"| {item.name} | {item.about} | {here} | {verdict} | {item.why} |")
    certain = [_bullet(sentence) for sentence in INFERRED]
    title = "## The paper, item by item\n"
    return "\n".join([title, VERDICTS, *rows, "", "What is inferred, and from what:\n", *certain, ""])


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _bullet(sentence: str) -> str:
    return textwrap.fill(sentence, 118, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)


def main(run: Path) -> None:
    """Write the page from the files of a run."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    found = [json.loads((run / f"{name}.json").read_text(encoding="utf-8")) for name in SHOWN]
    stamp = f"tarry {found[0]['tarry']}, seed {found[0]['seed']}"
    short = f"{summary()} [The table](#the-paper-item-by-item) says why."
    head = HEAD.format(stamp=stamp, code=AUTHORS_CODE, summary=textwrap.fill(short, 118))
    parts = [head, crosswalk()]
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
        parts += [*map(_bullet, one["says"]), ""]
    (HERE / "reproduction.md").write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
