"""Build the documentation as a searchable static site, and check what came out.

    scripts/docs              where the gateway shows it at /docs, and a wheel takes it from
    scripts/docs FOLDER       elsewhere

The pages are the Markdown files of this project as they stand. They are gathered into one folder first,
with links that lead from page to page there, so that proofs and the change log are pages as well.
Sphinx makes HTML of them with the theme beside this file, which runs under the gateway's own content
policy: no inline script or style, and nothing from another host. The order is that of `docs/index.md`.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from runpy import run_path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
#: What may scroll must be reached by keys, too.
_REACHED = re.compile(r"<(pre|table)\b")
LANGUAGES = {".py": "python", ".toml": "toml", ".v": "coq", ".service": "ini", ".conf": "ini"}


def pages() -> dict[Path, str]:
    """Every file that becomes a page, with the page's name."""
    found = {page: page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")}
    found |= {page: page.stem for page in DOCS.glob("*.ipynb")}
    found |= {page: f"proofs/{page.stem}" for page in ROOT.glob("src/tarry/core/proofs/*.md")}
    found[ROOT / "proofs" / "README.md"] = "proofs/machine-checked"
    for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY", "THIRD-PARTY", "README"):
        found[ROOT / f"{name}.md"] = name.lower()
    return dict(sorted(found.items()))


def stage(folder: Path) -> None:
    """Gather all pages in a folder, with links between them, and the files that they link to."""
    names = pages()
    linked: set[Path] = set()
    for page, name in names.items():
        text = _notebook(page) if page.suffix == ".ipynb" else page.read_text(encoding="utf-8")
        staged = folder / f"{name}.md"
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_text(_relinked(text, page, names, linked), encoding="utf-8")
    for file in linked - set(names):
        _stage_file(file, folder)
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.writelines(_contents(names))


def _relinked(text: str, page: Path, names: dict[Path, str], linked: set[Path]) -> str:
    """A page's text with its links as they must be where it is staged."""

    def relink(match: re.Match[str]) -> str:
        opening, link, closing = match.groups()
        path, hash_, anchor = link.partition("#")
        if "://" in link or link.startswith(("mailto:", "data:")) or not path:
            return match[0]
        file = (page.parent / path).resolve()
        linked.add(file)
        home = PurePosixPath(names[page]).parent
        return f"{opening}{_from_to(home, _staged_name(file, names))}{hash_}{anchor}{closing}"

    return "".join(part if part.startswith("```") else LINK.sub(relink, part) for part in FENCE.split(text))


def _staged_name(file: Path, names: dict[Path, str]) -> PurePosixPath:
    """Where a file that a page links to is staged."""
    if file in names:
        return PurePosixPath(f"{names[file]}.md")
    if not file.is_file():
        raise SystemExit(f"no page can link to '{file.relative_to(ROOT)}': link to a file of the project")
    if _is_picture(file):
        return PurePosixPath("pictures") / file.name
    return PurePosixPath("source") / f"{file.relative_to(ROOT).as_posix()}.md"


def _is_picture(file: Path) -> bool:
    return file.suffix in {".svg", ".png"}


def _stage_file(file: Path, folder: Path) -> None:
    """A picture is copied; any other file becomes a page that shows it."""
    staged = folder / _staged_name(file, {})
    staged.parent.mkdir(parents=True, exist_ok=True)
    if _is_picture(file):
        shutil.copyfile(file, staged)
        return
    name = file.relative_to(ROOT).as_posix()
    language = LANGUAGES.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8")
    staged.write_text(
        f"---\norphan: true\n---\n\n# {name}\n\n````{language}\n{text}\n````\n", encoding="utf-8"
    )


def _from_to(home: PurePosixPath, target: PurePosixPath) -> str:
    """A relative link from a page's folder to a staged file."""
    return PurePosixPath(*[".."] * len(home.parts), target).as_posix()


def _notebook(file: Path) -> str:
    """A notebook as Markdown: its texts, its code, and what its cells had printed."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "text/plain" in data:
            yield f"```text\n{''.join(data['text/plain'])}\n```"


def _contents(names: dict[Path, str]) -> Iterator[str]:
    """The order of the pages, for Sphinx: that of the index, section by section."""
    seen = {"index"}
    for section, listed in sections():
        fresh = [name for name in listed if name not in seen]
        seen.update(fresh)
        yield f"\n\n```{{toctree}}\n:hidden:\n:caption: {section}\n\n" + "\n".join(fresh) + "\n```\n"
    rest = sorted(set(names.values()) - seen)
    yield "\n\n```{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(rest) + "\n```\n"


def sections() -> Iterator[tuple[str, list[str]]]:
    """The sections of the index, each with the names of its pages in order."""
    names = pages()
    for part in (DOCS / "index.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        files = ((DOCS / match[2].partition("#")[0]).resolve() for match in LINK.finditer(text))
        yield title, [names[file] for file in files if file in names]


def build(out: Path) -> None:
    """Build the site in a folder; a warning is an error."""
    shutil.rmtree(out, ignore_errors=True)
    with TemporaryDirectory() as folder:
        staged, made = Path(folder) / "pages", Path(folder) / "site"
        staged.mkdir()
        stage(staged)
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-c",
            HERE,
            staged,
            made,
        ]
        subprocess.run(command, check=True)
        for left in (".doctrees", ".buildinfo", "objects.inv", "_sources"):
            path = made / left
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for page in made.rglob("*.html"):
            text = _REACHED.sub(r'<\1 tabindex="0"', page.read_text(encoding="utf-8"))
            page.write_text(text, encoding="utf-8")
        run_path(str(HERE / "terms.py"))["link_terms"](made, (DOCS / "glossary.md").read_text("utf-8"))
        shutil.copytree(made, out)


# --- what came out ------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """What a page refers to, the anchors it has, and what the content policy would refuse."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.refused: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        self.refused += [f"{tag} {name}" for name in values if name == "style" or name.startswith("on")]
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in {"link", "script", "img"} and values.get("rel") not in {"next", "prev"}:
            self.loaded += filter(None, (values.get("href"), values.get("src")))
        if tag == "style" or (tag == "script" and "src" not in values):
            self.refused.append(f"inline {tag}")


def faults(site: Path) -> list[str]:
    """Dead links, what would be loaded from elsewhere, and what the content policy would refuse."""
    parsed = {page: _Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    return [
        f"{page.relative_to(site)}: {fault}"
        for page, content in parsed.items()
        for fault in [*content.refused, *_loads(page, content), *_dead_links(page, content, parsed)]
    ]


def _loads(page: Path, content: _Page) -> Iterator[str]:
    for address in content.loaded:
        if "://" in address:
            yield f"loads {address}"
        elif not (page.parent / unquote(address.partition("?")[0].partition("#")[0])).is_file():
            yield f"lacks {address}"


def _dead_links(page: Path, content: _Page, parsed: dict[Path, _Page]) -> Iterator[str]:
    for link in content.links:
        path, _, anchor = unquote(link).partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        if target not in parsed and not target.is_file():
            yield f"links to {link}, which is no page"
        elif anchor and target in parsed and anchor not in parsed[target].anchors:
            yield f"links to {link}, which has no such heading"


def size(site: Path) -> int:
    """Bytes of the whole site."""
    return sum(file.stat().st_size for file in site.rglob("*") if file.is_file())


def main(arguments: list[str]) -> int:
    """Build, check, and say how large it is."""
    out = Path(arguments[0] if arguments else ROOT / "src" / "tarry" / "console" / "manual").resolve()
    build(out)
    found = faults(out)
    print(
        "\n".join(found)
        or f"{len(list(out.rglob('*.html')))} pages, {size(out) / 1e6:.1f} MB: {out / 'index.html'}"
    )
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
