"""Terms of the glossary, one touch away: on each page the first mention of a term leads to its meaning.

A mouse shows the meaning where it rests; a key or a finger goes to the line of the glossary.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

__all__ = ["link_terms", "meanings"]

#: What newcomers ask about. Everyday words have lines in the glossary too, and no links.
TERMS = (
    *("batched", "bridge", "circle", "coupled", "cutoff", "delta", "epsilon", "eta", "excess", "frontier"),
    *("gap", "held", "declared", "in doubt", "keeper", "label", "ledger", "lift", "nat", "observer"),
    *("outlet", "parked", "poller", "notified", "season", "tick", "window", "null gap", "margin"),
    "witness",
)
#: Pages that are lists of names, or the glossary itself.
_WITHOUT = {f"{name}.html" for name in ("glossary", "cli", "api", "http", "search", "index", "changelog")}
_ROW = re.compile(r"^\| (?P<term>[^|]+?) \| (?P<meaning>.+?) \|$", re.MULTILINE)
_TAG = re.compile(r"(<[^>]+>)")
_CLOSED = {"a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "nav", "th", "script", "strong"}


def meanings(glossary: str) -> dict[str, str]:
    """What the glossary says of each term that is linked, without its marks."""
    rows = {row["term"]: row["meaning"] for row in _ROW.finditer(glossary)}
    return {term: re.sub(r"[`*]|\]\([^)]*\)|\[", "", rows[term]) for term in TERMS}


def link_terms(site: Path, glossary: str) -> None:
    """Give each term of the glossary's page an anchor, and link the first mention on every other page."""
    known = meanings(glossary)
    page = site / "glossary.html"
    page.write_text(_anchored(page.read_text(encoding="utf-8"), known), encoding="utf-8")
    for page in site.rglob("*.html"):
        name = page.relative_to(site)
        if name.as_posix() not in _WITHOUT and name.parts[0] != "source":
            text = page.read_text(encoding="utf-8")
            before, main, after = re.split(r"(?s)(<main.*?</main>)", text, maxsplit=1)
            linked = "".join(_linked(main, known, "../" * (len(name.parts) - 1)))
            page.write_text(before + linked + after, encoding="utf-8")


def _anchored(text: str, known: dict[str, str]) -> str:
    for term in known:
        text = re.sub(rf"<tr([^>]*)>(?=\s*<td><p>{term}</p>)", rf'<tr\1 id="{_anchor(term)}">', text)
    return text


def _anchor(term: str) -> str:
    return f"term-{term.replace(' ', '-')}"


def _linked(main: str, known: dict[str, str], up: str) -> Iterator[str]:
    """The text with links, where no link, code or heading is open."""
    todo, closed = dict(known), 0
    for part in _TAG.split(main):
        if part.startswith("<"):
            name = part.strip("</>").split()[0].lower()
            closed += (name in _CLOSED) * (-1 if part.startswith("</") else 1)
            yield part
        elif closed or not todo:
            yield part
        else:
            yield _with_links(part, todo, up)


def _with_links(text: str, todo: dict[str, str], up: str) -> str:
    choice = "|".join(sorted(todo, key=len, reverse=True))

    def link(match: re.Match[str]) -> str:
        meaning = todo.pop(match[0], None)
        if meaning is None:
            return match[0]
        where = f"{up}glossary.html#{_anchor(match[0])}"
        return f'<a class="term" href="{where}" title="{escape(meaning)}">{match[0]}</a>'

    return re.sub(rf"\b(?:{choice})\b", link, text)
