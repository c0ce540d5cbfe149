"""The documentation cannot drift: pages are generated, commands are run, links are followed.

The `>>>` examples are run by pytest itself (`--doctest-glob=*.md`).
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

import tarry
from tarry.cli.main import COMMANDS, parser_of
from tarry.core.policy_file import KEYS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("proofs/*.md")])
CONSOLE = run_path(str(DOCS / "generate_console.py"))
BENCHED = run_path(str(DOCS / "generate_benchmarks.py"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(page):
    return str(page.relative_to(ROOT))


def prose(page):
    """A page without its code blocks: brackets there are not links."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(page):
    """Links of a page to files of the project, as (path, anchor)."""
    found = [link for link in LINK.findall(prose(page)) if "://" not in link]
    parts = [link.partition("#") for link in found]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


def anchors(page):
    """The anchors that the headings of a page give, as common Markdown renderers spell them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", CONSOLE["pages"](), ids=named)
def test_commands_print_what_the_page_shows(page, tmp_path):
    """Console blocks show what their commands print; if not, run docs/generate_console.py."""
    text = page.read_text(encoding="utf-8")

    assert text == CONSOLE["rerun"](text, tmp_path)


def commands_on(page):
    """The commands of a page's blocks that are shown and not run, each as words."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    for line in "\n".join(blocks).splitlines():
        if line.startswith("tarry "):
            words = shlex.split(line, comments=True)
            ends = (place for place, word in enumerate(words) if word in {"|", ">", "<", "&", "&&"})
            yield words[1 : next(ends, None)]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_that_are_shown_can_be_typed(page):
    """What a block for a shell says is read by the command that it names: no option is missing or gone."""
    for name, *words in commands_on(page):
        if not name.startswith("-"):
            assert parser_of(name, COMMANDS[name].place).read(words)


def test_the_picture_is_the_one_its_script_draws(tmp_path):
    """Running docs/figures/evening.py gives the committed picture, byte for byte."""
    drawn = tmp_path / "evening.svg"

    subprocess.run([sys.executable, DOCS / "figures" / "evening.py", drawn], check=True)

    assert drawn.read_bytes() == (DOCS / "figures" / "evening.svg").read_bytes()


def test_the_command_page_is_up_to_date():
    """docs/cli.md is what docs/generate_cli.py writes; if not, run it."""
    page = run_path(str(DOCS / "generate_cli.py"))["page"]()

    assert page == (DOCS / "cli.md").read_text(encoding="utf-8")


def test_the_page_of_the_http_api_is_up_to_date():
    """docs/http.md is what docs/generate_http.py writes; if not, run it."""
    page = run_path(str(DOCS / "generate_http.py"))["page"]()

    assert page == (DOCS / "http.md").read_text(encoding="utf-8")


def test_the_page_of_benchmarks_shows_the_stored_results():
    """docs/benchmarks.md and its charts are drawn from docs/benchmarks/*.json; if not, run its script."""
    found = BENCHED["results"]()
    drawn = {chart.name: chart.read_text(encoding="utf-8") for chart in (DOCS / "benchmarks").glob("*.svg")}

    assert BENCHED["page"](found) == (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert BENCHED["charts"](found) == drawn


def a_figure(*, more_is_better, ours, peer):
    rows = [("limit", "limit", 1.0), ("tarry", "ours", ours), ("queue", "peer", peer)]
    return {
        "title": "Posts",
        "unit": "x the limit",
        "more_is_better": more_is_better,
        "ours": "tarry",
        "rows": [{"name": n, "kind": k, "median": m, "low": m / 2, "high": 2 * m} for n, k, m in rows],
    }


@pytest.mark.parametrize(
    ("more_is_better", "ours", "peer", "said"),
    [
        (True, 0.5, 0.25, "2.00 times as good"),
        (True, 0.25, 0.5, "**behind:** 0.50 of it"),
        (False, 2.0, 8.0, "4.00 times as good"),
        (False, 8.0, 2.0, "**behind:** 0.25 of it"),
    ],
)
def test_a_loss_is_shown_as_plainly_as_a_win(more_is_better, ours, peer, said):
    """The page of benchmarks says who is ahead, whichever way a ratio counts; the chart has every row."""
    figure = a_figure(more_is_better=more_is_better, ours=ours, peer=peer)
    last = [line for line in BENCHED["figure_table"](figure) if line][-1]

    assert last.startswith("| queue | peer |")
    assert f"| {said} |" in last
    assert "queue" in BENCHED["chart"](figure)


def test_a_busy_machine_and_missing_peers_are_named():
    """What a reader must know of a run stands below its figures."""
    machine = {"processors": 2, "python": "3.11", "others": 1.4}
    part = {"command": "scripts/bench x", "date": "2026-01-02", "machine": machine, "versions": {"a": "1"}}
    result = part | {
        "figures": [a_figure(more_is_better=True, ours=1, peer=2)],
        "tables": [],
        "left_out": ["b"],
    }

    text = "\n".join(BENCHED["part_lines"]("x", result))

    assert "`scripts/bench x`, 2026-01-02, 2 processors, Python 3.11, with a 1;" in text
    assert "other work took 1.4 of its processors" in text
    assert "Left out: b." in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section(command):
    """A command that is missing from docs/cli.md is undocumented."""
    assert f"\n## tarry {command}\n" in (DOCS / "cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_a_policy_file_has_a_section(key):
    """A key that is missing from docs/policy-file.md is undocumented."""
    assert f"\n## {key}\n" in (DOCS / "policy-file.md").read_text(encoding="utf-8")


def test_no_key_is_documented_that_does_not_exist():
    """Sections of docs/policy-file.md in lower case are keys."""
    sections = re.findall(r"^## ([a-z]+)$", (DOCS / "policy-file.md").read_text("utf-8"), re.MULTILINE)

    assert list(KEYS) == sections


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_link_is_dead(page):
    """Every link to a file of the project leads to one, and every anchor to a heading."""
    dead = [
        f"{path}#{anchor}"
        for path, anchor in links(page)
        if not path.exists() or (anchor and anchor not in anchors(path))
    ]

    assert dead == []


def test_every_page_is_reachable_from_the_index():
    """Following links from docs/index.md leads to every page under docs/."""
    seen, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        todo += [path for path, _ in links(page)]

    assert set(DOCS.rglob("*.md")) - seen == set()


def test_every_public_name_is_mentioned():
    """A name of `tarry.__all__` that no page mentions is undocumented."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    assert [name for name in tarry.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_the_length_of_sentences_is_reported(capsys):
    """docs/readability.py reads every user page; what it counts fails nothing."""
    counting = run_path(str(DOCS / "readability.py"))
    counting["main"]([])

    assert "\nall user pages " in capsys.readouterr().out
    assert counting["sentences"](
        "# A\n\nOne two. Three *four* five!\n\n- Six seven.\n\n```sh\nls\n```\n"
    ) == [
        "One two.",
        "Three four five!",
        "Six seven.",
    ]


FALSE = {
    "never much likelier": "a ratio of likelihoods is bounded, not what somebody believes",
    "nothing that hides both is possible": "with a chance of failing both can be hidden",
    "It has the least weighted mean delay": "in continuous time, and within a class of laws",
    "nothing else of theirs that near": "near has a number: less than one tick more than the window has",
    "acting elsewhere then": "within that number of then",
    "up to gap + window later, alone": "for held and declared labels, with nothing else near",
}


@pytest.mark.parametrize("claim", FALSE)
def test_no_page_claims_what_was_found_false(claim):
    """Sentences that promised more than is proved do not come back, on pages or in the code's own words."""
    texts = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml")]
    told = [named(text) for text in texts if claim in " ".join(text.read_text("utf-8").split())]

    assert told == [], FALSE[claim]


def test_the_front_page_says_what_the_promise_takes_for_granted():
    """Nothing else near, which labels reach over the window, and that a ratio is bounded."""
    front = " ".join((ROOT / "README.md").read_text("utf-8").split())
    promised = front[front.index("**Promised:**") : front.index("**Per pair:**")]

    for part in ("nothing else of theirs was near", "gap + window with held and declared", "not a belief"):
        assert part in promised
