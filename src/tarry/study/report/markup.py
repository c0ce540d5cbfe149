"""HTML that cannot be broken by what is in it, and whole pages of it that load and run nothing.

Text is escaped unless it says that it is markup.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from tarry.study.charts.style import DARK, FONT, LIGHT

__all__ = ["Html", "el", "figure", "inline_svg", "items", "join", "table", "whole_page"]

_MANY_ROWS = 16  # more than these scroll in their box
# No script, no font, no picture from anywhere: what is not in the file does not exist.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


class Html(str):
    """Text that is markup already.

    >>> el("p", "1 < 2, ", Html("<b>sure</b>"))
    '<p>1 &lt; 2, <b>sure</b></p>'
    """

    __slots__ = ()


def join(parts: Iterable[str]) -> Html:
    """One after the other; what is not markup is escaped.

    >>> join(["&", Html("<br>")])
    '&amp;<br>'
    """
    kept = (" %", "\N{NO-BREAK SPACE}%")  # a percent sign stays on the line of its number
    return Html("".join(part if isinstance(part, Html) else escape(part).replace(*kept) for part in parts))


def el(tag: str, *children: str, **attributes: str | int) -> Html:
    """An element; `class_` and `aria_label` are written as in HTML.

    >>> el("th", "a & b", scope="row", class_="wide")
    '<th scope="row" class="wide">a &amp; b</th>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
    )
    return Html(f"<{tag}{named}>{join(children)}</{tag}>")


def items(tag: str, texts: Iterable[str]) -> Html:
    """A list, or nothing where there is nothing to list.

    >>> items("ul", ["one", "two"]), items("ul", [])
    ('<ul><li>one</li><li>two</li></ul>', '')
    """
    listed = [el("li", text) for text in texts]
    return el(tag, *listed) if listed else Html()


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], marked: int = -1) -> Html:
    """A table in a box that scrolls by itself; the first cell of a row is its heading.

    >>> "<caption>Cutoffs</caption>" in table("Cutoffs", ["cutoff", "right"], [["5m", "3"]])
    True
    """
    head = el("tr", *(el("th", cell, scope="col") for cell in header))
    body = [
        el(
            "tr",
            el("th", row[0], scope="row"),
            *(el("td", cell) for cell in row[1:]),
            **({"class_": "marked"} if place == marked else {}),
        )
        for place, row in enumerate(rows)
    ]
    long = len(rows) > _MANY_ROWS
    more = el("span", f" ({len(rows)} rows: scroll for more)", class_="more") if long else ""
    inside = el("table", el("caption", caption, more), el("thead", head), el("tbody", *body))
    kind = "scroll long" if long else "scroll"
    return el("div", inside, class_=kind, role="region", tabindex=0, aria_label=caption)


def figure(picture: Html, caption: str) -> Html:
    """A picture and what it shows.

    >>> figure(Html("<svg></svg>"), "Gaps")
    '<figure><svg></svg><figcaption>Gaps</figcaption></figure>'
    """
    return el("figure", picture, el("figcaption", caption))


def inline_svg(svg: str, name: str, label: str) -> Html:
    """A drawn chart as a part of a page: it takes the room there is, and shares no id with another.

    >>> inline_svg(
    ...     '<svg xmlns="n" width="9" height="4" viewBox="0 0 9 4"><g id="c"/></svg>', "gaps", "Gaps"
    ... )
    '<svg viewBox="0 0 9 4" role="img" aria-label="Gaps"><g id="gaps-c"/></svg>'
    """
    _, opening, rest = re.split(r"(<svg\b[^>]*>)", svg, maxsplit=1)
    box = re.search(r'viewBox="[^"]*"', opening)
    start = f'<svg {box[0] if box else ""} role="img" aria-label="{escape(label)}">'
    rest = re.sub(r' (?:role|aria-[a-z]+|class|pointer-events)="[^"]*"', "", rest)
    rest = re.sub(r' id="([^"]+)"', rf' id="{name}-\1"', rest)
    rest = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", rest)
    return Html(start + rest)


def whole_page(title: str, *children: str) -> str:
    """A page of these parts, in the style of the report.

    >>> whole_page("Us", el("p", "..."))[:15]
    '<!doctype html>'
    """
    footer = el("footer", el("p", "Made with tarry. Everything shown is in this file; nothing is loaded."))
    body = el("body", el("main", *children), footer)
    return f"<!doctype html>\n{el('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Html:
    css = files("tarry.study.report").joinpath("report.css").read_text(encoding="utf-8")
    return el(
        "head",
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        el("title", title),
        el("style", Html(f"{_colours()}{css}")),
    )


def _colours() -> str:
    """The palette as variables, light and dark, and the charts' fixed colours bound to them."""
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in palette.items()) for palette in (LIGHT, DARK)
    )
    bound = "".join(
        f'svg [{kind}="{colour}"]{{{kind}:var(--{name})}}\n'
        for name, colour in LIGHT.items()
        for kind in ("fill", "stroke")
    )
    return (
        f":root{{{light}--font:{FONT}}}\n"
        f"@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{bound}"
    )
