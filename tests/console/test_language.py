"""A second language: a test language made from the texts, and no sentence of a page left in English.

In a process of its own, because pages read their texts when they are loaded. What a policy promises is
translated too. What the study says of a history, and what is wrong with a value, stand on pages in English:
there they are marked with lang="en", or come as the sentence of an error.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

STATIC = Path(__file__).parents[2] / "src/tarry/console/static"
PROGRAM = r'''
import json, re, sys
from tarry.console import pages

OTHER = str.maketrans("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "αβςδεφγηιξκλμνοπθρστυωψχζζΑΒΣΔΕΦΓΗΙΞΚΛΜΝΟΠΘΡΣΤΥΩΨΧΖΖ")

def put(text):
    """Another alphabet, but for places."""
    return re.sub(r"[^{}]+(?![^{]*\})", lambda part: part[0].translate(OTHER), text)

def translated(value):
    if isinstance(value, dict):
        return {name: translated(each) for name, each in value.items()}
    if isinstance(value, list):
        return [translated(each) for each in value]
    return put(value) if isinstance(value, str) else value

english = pages.texts()
other = translated(english)
pages.texts = lambda language="other": english if language == "en" else other

sys.path.insert(0, "tests")
from starlette.testclient import TestClient
from contracts.at_desk import AtDesk
from contracts.own_page import LETTER, OwnBrowser
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.gateway.config import Config
from pathlib import Path

from tarry.console.site import create_site
from tarry.gateway.testing import new_token, small_gateway

policy = Policy(epsilon="1", gap="8s", window="3s", labels="declared")
gateway = small_gateway(policy, spaces=("talk", "wiki"))
site = create_site(gateway, config=Config(boards="talk, wiki", front="story"))
ours = {"Sec-Fetch-Site": "same-origin"}
found = {}
with TestClient(site, "http://localhost", follow_redirects=True, headers=ours) as http:
    def read(name, path):
        found[name] = http.get(path, headers={"Accept": "text/html"}).text
    for path in ("/", "/story", "/board", "/board/talk", "/board/talk/promise", "/workbench", "/nope",
        "/workbench?law=season", "/audit", "/audit/samples/forum", "/desk/sign-in"):
        read(path, path)
    sent = http.post("/board/talk", data={"target": "ζζ", "content": "ζζ", "more": "no"})
    found["receipt"] = sent.text
    read("thread", "/board/talk/thread?of=ζζ")
    http.post("/desk/sign-in", data={"token": new_token(gateway, "admin")})
    for path in ("/desk", "/desk/space", "/desk/space/talk", "/desk/promise/talk/1", "/audit"):
        read(f"operator {path}", path)
    csrf = re.search(r'name="csrf" value="(\w+)"', found["operator /desk/space"])[1]
    change = write_policy(Policy(epsilon="2", gap="9s", window="3s", labels="declared"))
    found["preview"] = http.post(
        "/desk/space/talk", data={"csrf": csrf, "act": "preview", "title": "ζζ", "policy": change}
    ).text
    own = OwnBrowser(Path(sys.argv[1]) / "home").come_in()
    for path in ("", "hand-in/git", "hand-in/mail", "hand-in/mediawiki", "hand-in/openreview"):
        found[f"own {path}"] = own.http.get(f"{own.door.room}/{path}").text
print(json.dumps(found))
'''
#: Names, units and words of policy files, which are the same in every language.
SAME = {
    *(
        "tarry",
        "talk",
        "wiki",
        "UTC",
        "hotcrp",
        "nostr",
        "loopix",
        "epsilon",
        "gap",
        "window",
        "tick",
        "law",
    ),
    *("labels", "weight", "declared", "held", "feed", "all", "operate", "admin", "submit", "spaces"),
    *("cleo", "finn", "hana"),  # who writes on the made-up evening
    *("recommended", "nothing", "none", "delta", "test"),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("language"))],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def english_in(page):
    """What a page says in English, apart from what is marked as such, code and what people wrote."""
    page = page.partition("<body")[2]
    page = re.sub(r"<dd>[a-z]+ [a-z]+ \d{4}</dd>", " ", page)  # a pseudonym is a name
    for kind in ("code", "pre", "textarea", "script", 'h1 class="content"'):
        tag = kind.split(" ")[0]
        page = re.sub(rf"<{kind}\b.*?</{tag}>", " ", page, flags=re.DOTALL)
    page = re.sub(r"<(\w+)[^>]* lang=\"en\".*?</\1>", " ", page, flags=re.DOTALL)
    shown = [re.sub(r"<[^>]*>", "\n", page)]
    shown += re.findall(r'(?:aria-label|placeholder|title|alt|aria-valuetext)="([^"]*)"', page)
    return [
        sentence.strip()
        for sentence in "\n".join(shown).splitlines()
        if any(word.lower() not in SAME for word in re.findall(r"[A-Za-z]{4,}", sentence))
    ]


def test_no_sentence_of_a_page_is_left_in_english(pages):
    assert len(pages) > 20
    left = {name: found for name, page in pages.items() if (found := english_in(page))}
    assert left == {}


def test_a_sentence_in_english_would_be_found(pages):
    page = pages["/board"]
    assert english_in(page.replace("</main>", "<p>A sentence of a template.</p></main>"))


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_no_script_has_a_sentence_of_its_own(path):
    script = re.sub(r"//.*|/\*.*?\*/", "", path.read_text(encoding="utf-8"))
    written = re.findall(r'"([^"\n]*)"|`([^`]*)`', script)

    for text in ("".join(pair) for pair in written):
        assert not re.search(r"[A-Z][a-z]+ [a-z]+|[a-z]{3,} [a-z]{2,} [a-z]{2,}", text), text
