"""A whole page: one HTML file with everything in it, that loads and runs nothing."""

from importlib.resources import files

from tarry.study.charts.style import DARK, FONT, LIGHT
from tarry.study.report.markup import Html, el

__all__ = ["whole_page"]

# No script, no font, no picture from anywhere: what is not in the file does not exist.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


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
