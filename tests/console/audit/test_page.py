"""The audit on the server's side: who may come, what may be sent, and what is shown of it."""

import re

import pytest
from starlette.testclient import TestClient

from contracts.at_audit import ANSWER, AtAudit, child_program, plain, until
from tarry.console.audit import page as audit_page
from tarry.console.audit.page import HABITS, USUAL, read_choices
from tarry.console.audit.shown import for_pages
from tarry.console.pages import texts
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.gateway.testing import new_token
from tarry.study.baselines import baseline

COLUMNS = ["user", "page", "at"]
FORM = {**USUAL, "actor": "user", "target": "page", "time": "at"}
SPACES = {"talk": write_policy(Policy(epsilon="1", gap="8s", window="3s"))}


@pytest.fixture
def at(tmp_path, monkeypatch):
    """A site whose audits are done at once."""
    program, go = child_program(tmp_path, monkeypatch)
    go.touch()
    made = AtAudit(program, audit_bytes=1 << 20)
    yield made
    made.close()


@pytest.fixture
def done(at):
    """The address of an audit that is done."""
    place = at.uploaded()
    assert at.run(place).status_code == 303
    until(lambda: at.state(place) == "done")
    return place


# --- who may come -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["/jobs/x", "/jobs/x/state", "/jobs/x/run", "/jobs/x/delete", "/jobs/x/report"]
)
def test_who_is_not_signed_in_is_asked_to(at, path, method):
    answer = TestClient(at.site, "http://localhost", follow_redirects=False).request(
        method, f"/audit{path}"
    )

    assert answer.status_code in {303, 405}
    assert answer.headers.get("location", "/desk/sign-in?then=/audit") == "/desk/sign-in?then=/audit"


def test_who_only_hands_posts_in_may_not_come(at):
    client = TestClient(
        at.site, "http://localhost", follow_redirects=False, headers={"Sec-Fetch-Site": "same-origin"}
    )
    token = new_token(at.gateway, "submit")

    assert client.post("/desk/sign-in", data={"token": token}).status_code == 403
    assert 'name="history"' not in client.get("/audit").text


def test_another_session_gets_404_everywhere(at, done):
    other = at.browser("admin")
    csrf = re.search(r'name="csrf" value="(\w+)"', other.get("/audit").text)[1]

    assert "votes" not in other.get("/audit").text
    for path in ("", "/state", "/report", "/figures", "/policy"):
        answer = other.get(done + path)
        assert (answer.status_code, "no such audit" in answer.text) == (404, True)
    for path in ("/run", "/delete"):
        assert other.post(done + path, data={"csrf": csrf}).status_code == 404
    assert at.state(done) == "done"


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}])
def test_a_form_from_elsewhere_is_refused(at, done, headers):
    sent = {"data": {"csrf": at.csrf}, "headers": {"Sec-Fetch-Site": "cross-site", **headers}}

    assert at.upload(headers=sent["headers"]).status_code == 403
    for path in ("/run", "/delete"):
        assert at.http.post(done + path, **sent).status_code == 403
    assert at.state(done) == "done"


def test_a_form_without_the_sessions_mark_is_refused_and_nothing_is_stored(at, done):
    for fields in ({}, {"csrf": "0" * 64}):
        assert at.upload(data=fields).status_code == 403
        for path in ("/run", "/delete"):
            assert at.http.post(done + path, data=fields).status_code == 403
    assert [job.id for job in at.audits.of(at.csrf)] == [done.rpartition("/")[2]]
    assert len(list(at.audits._folder.path.iterdir())) == 1


# --- what may be sent -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "status", "told"),
    [
        ({"content": b""}, 422, "this file is empty"),
        ({"content": b"x" * ((1 << 20) + 1)}, 413, "at most 1 MiB"),
        ({"content": b"x" * 9_000_000}, 413, "at most 1 MiB"),
        ({"files": {"history": ("", b"")}}, 422, "no file was sent"),
        ({"files": {}, "data": {"csrf": "x"}}, 415, "cannot be read"),
        ({"data": {"csrf": "x" * 5_000}}, 413, "form is too large"),
        ({"name": "../../../etc/passwd"}, 303, ""),
    ],
    ids=["empty", "too large", "far too large", "no name", "no file", "a long field", "a path"],
)
def test_what_is_sent_is_taken_or_refused_in_one_sentence(at, sent, status, told):
    answer = at.upload(**sent)

    assert answer.status_code == status
    if status != 303:
        assert told in plain(answer.text)
        assert 'href="/audit"' in answer.text
        assert at.audits.of(at.csrf) == []


def raw(at, body, kind="multipart/form-data; boundary=x"):
    return at.http.post("/audit", content=body, headers={"Content-Type": kind})


def test_a_form_without_a_chosen_file_says_so(at):
    field = f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{at.csrf}\r\n'
    empty = '--x\r\nContent-Disposition: form-data; name="history"; filename=""\r\n\r\n\r\n'
    for body in (f"{field}{empty}--x--\r\n", f"{field}--x--\r\n"):
        answer = raw(at, body.encode())
        assert (answer.status_code, "choose one first" in answer.text) == (422, True)


@pytest.mark.parametrize("cut", [10, 40, 170, -4, -15])
def test_a_form_that_was_cut_is_refused_and_nothing_is_stored(at, cut):
    body = (
        f'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{at.csrf}\r\n'
        '--x\r\nContent-Disposition: form-data; name="history"; filename="a.csv"\r\n\r\n1,2,3\r\n--x--\r\n'
    )

    assert raw(at, body.encode()[:cut]).status_code in {400, 422}
    assert at.audits.of(at.csrf) == []
    assert not list(at.audits._folder.path.iterdir())


def test_two_files_are_one_too_many(at):
    files = [("history", ("a.csv", b"1")), ("history", ("b.csv", b"2"))]

    assert "send one at a time" in at.upload(files=files).text
    assert at.audits.of(at.csrf) == []


def test_a_name_loses_its_folders_and_its_markup_is_text(at):
    place = at.uploaded(b"1,2,3\n", "../<img src=x>/<b>votes</b>.csv")

    assert "Audit of b_.csv" in at.words(place)
    assert "<page>" in at.words(place)
    assert "<img" not in at.read(place)


def test_no_more_uploads_than_there_is_room_for(at):
    for _ in range(5):
        at.uploaded()
    answer = at.upload()
    assert (answer.status_code, "your token has 5 audits here already" in answer.text) == (429, True)
    at.http = at.browser()
    for _ in range(5):
        at.uploaded()
    at.http = at.browser()
    answer = at.upload()

    assert (answer.status_code, "10 audits are here already" in answer.text) == (429, True)


def test_a_gateway_without_the_study_says_so_in_one_sentence(at, monkeypatch):
    monkeypatch.setattr(audit_page, "find_spec", lambda name: None if name == "polars" else name)
    words = at.words()

    assert "needs more than this gateway was installed with" in words
    assert "Choose a file" not in words
    monkeypatch.undo()
    csrf = at.csrf
    monkeypatch.setattr(audit_page, "find_spec", lambda _: None)
    answer = at.http.post("/audit", data={"csrf": csrf}, files={"history": ("a.csv", b"1")})
    assert answer.status_code == 409


# --- choosing and running -------------------------------------------------------------------------------


def test_the_guess_is_chosen_and_the_rest_is_asked_for(at):
    page = at.read(at.uploaded())

    assert re.search(r'<option value="user" selected>user \(text\)', page)
    assert page.count("selected>choose a column") == 2
    assert "The policy of talk" in page


def test_an_operator_of_one_space_sees_that_space_alone(at):
    token = new_token(at.gateway, "operate", spaces=("wiki",))
    at.http = TestClient(
        at.site, "http://localhost", follow_redirects=False, headers={"Sec-Fetch-Site": "same-origin"}
    )
    at.http.post("/desk/sign-in", data={"token": token})
    page = at.read(at.uploaded())

    assert "The policy of wiki" in page
    assert "The policy of talk" not in page


def test_a_choice_that_cannot_be_meant_is_told_and_the_others_stay(at):
    place = at.uploaded()
    answer = at.run(place, window="soon", epsilons="1, 3", **{"habit hotcrp": "on"})

    assert answer.status_code == 422
    assert 'role="alert">the window' in answer.text
    assert 'value="1, 3"' in answer.text
    assert 'name="habit hotcrp" checked' in answer.text
    assert at.state(place) == "ready"
    assert at.run(place).status_code == 303


def test_an_audit_that_runs_tells_how_far_it_is(tmp_path, monkeypatch):
    program, go = child_program(tmp_path, monkeypatch)
    at = AtAudit(program)
    place = at.uploaded()
    at.run(place)
    told = until(lambda: (now := at.http.get(f"{place}/state").json())["part"] and now)
    page = at.read(place)

    assert told == {"state": "running", "line": "Step 3 of 5: trying policies", "part": 0.25}
    assert 'role="status" data-line>Step 3 of 5: trying policies<' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert at.run(place).status_code == 409
    go.touch()
    until(lambda: at.state(place) == "done")
    at.close()


def test_what_was_found_is_shown_and_can_be_taken_away(at, done):
    assert f"No recommendation: {ANSWER['no_advice']}" in at.words(done)
    report = at.http.get(f"{done}/report")
    assert report.headers["content-security-policy"].startswith(
        "default-src 'none'; style-src 'unsafe-inline'"
    )
    assert "sandbox" in report.headers["content-security-policy"]
    assert report.headers["cache-control"] == "no-store"
    assert "content-disposition" not in report.headers
    for path, name in (
        ("report?save", "tarry-audit.html"),
        ("figures", "tarry-figures.json"),
        ("policy", "policy.toml"),
    ):
        answer = at.http.get(f"{done}/{path}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
    for path in ("comparison", "report.html", "..%2freport.html", "upload"):
        assert at.http.get(f"{done}/{path}").status_code == 404


def test_deleting_leaves_nothing(at, done):
    (job,) = at.audits.of(at.csrf)
    answer = at.http.post(f"{done}/delete", data={"csrf": at.csrf})

    assert answer.headers["location"] == "/audit?deleted"
    assert "Deleted: the file, and all that was found." in at.words("/audit?deleted")
    assert not job.folder.exists()
    assert at.http.get(done).status_code == 404


def test_sentences_for_a_shell_are_told_without_its_options():
    assert for_pages("name it with --actor NAME") == "name it"
    assert for_pages("or as numbers with --time-unit") == "or as numbers with the unit of times"
    assert for_pages("times are those of time (or give --time release)").endswith("(or choose release)")


def test_a_form_as_it_comes_asks_what_the_command_asks():
    assert read_choices(FORM, COLUMNS, SPACES) == {
        "actor": "user",
        "target": "page",
        "time": "at",
        "window": "5m",
        "cutoffs": ["10s", "1m", "5m", "10m", "30m", "1h", "2h"],
        "is_usual": True,
        "epsilons": ["0.5", "1", "2"],
        "unit": None,
        "busy": None,
        "without_bots": None,
        "collapse": False,
        "habits": [],
        "policies": {},
    }


def test_habits_spaces_and_policies_of_ones_own_are_put_beside():
    lines = "epsilon=1, gap=11m\n\nepsilon=2,gap=1h,law=label-free,delta=0.1\n"
    ticked = {"habit hotcrp": "on", "habit mix:1h": "on", "habit evil": "on", "space talk": "on"}
    chosen = read_choices({**FORM, **ticked, "policies": lines}, COLUMNS, SPACES)

    assert chosen["habits"] == ["hotcrp", "mix:1h"]
    assert list(chosen["policies"]) == ["space talk", *lines.split("\n")[:3:2]]
    assert read_policy(chosen["policies"]["epsilon=1, gap=11m"]) == Policy(epsilon="1", gap="11m")


def test_bots_are_left_out_or_counted_but_not_both():
    assert read_choices({**FORM, "with_bots": "on"}, COLUMNS, {})["without_bots"] is False
    with pytest.raises(BadInput, match="bots must either be left out or counted, not both"):
        read_choices({**FORM, "with_bots": "on", "without_bots": "on"}, COLUMNS, {})


def test_filters_and_units_are_taken():
    more = {"unit": "ms", "busy": "500", "without_bots": "on", "collapse": "on", "cutoffs": "1m, 1m, 2m"}
    chosen = read_choices({**FORM, **more}, COLUMNS, {})

    assert (chosen["unit"], chosen["busy"], chosen["without_bots"], chosen["collapse"]) == (
        "ms",
        500,
        True,
        True,
    )
    assert (chosen["cutoffs"], chosen["is_usual"]) == (["1m", "2m"], False)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"actor": ""}, "no column is chosen for the actor: choose one"),
        ({"time": "../x"}, "the file has no column '../x' for the time: choose one"),
        ({"target": "user"}, "must be three different columns"),
        ({"window": "soon"}, "the window"),
        ({"window": ""}, "the window"),
        ({"cutoffs": ""}, "cutoffs must be 1 to 30"),
        ({"cutoffs": ",".join(f"{n}s" for n in range(1, 40))}, "cutoffs must be 1 to 30"),
        ({"cutoffs": "1m, never"}, "a cutoff"),
        ({"epsilons": "1, -1"}, "epsilon"),
        ({"epsilons": "1000"}, "epsilon"),
        ({"epsilons": "x"}, "epsilon"),
        ({"epsilons": "1,2,3,4,5,6"}, "epsilons must be 1 to 5"),
        ({"unit": "fortnights"}, "unknown unit of times 'fortnights': choose"),
        ({"busy": "0"}, "the most events of an actor"),
        ({"busy": "²"}, "the most events of an actor"),
        ({"policies": "epsilon=1"}, "the policy 'epsilon=1' has no gap"),
        ({"policies": "gap=1h"}, "the policy 'gap=1h' has no epsilon"),
        ({"policies": "epsilon=1, gap=9m, gap=8m"}, "each once"),
        ({"policies": "epsilon=1, gap=9m, colour=red"}, "must choose among epsilon"),
        ({"policies": "/etc/passwd"}, "must choose among epsilon"),
        ({"policies": "epsilon=1, gap=1ns"}, ""),
        ({"policies": "epsilon=1, gap=" + "9" * 300}, "a policy must have at most 200 characters, not"),
        ({"policies": "\n".join(f"epsilon=1, gap={n}m" for n in range(6, 12))}, "must be at most 5, not 6"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(changed, told):
    with pytest.raises(BadInput) as refused:
        read_choices({**FORM, **changed}, COLUMNS, SPACES)

    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_every_habit_has_its_words_and_the_name_that_tables_give_it():
    assert [baseline(habit).name for habit in HABITS] == list(HABITS)
    assert list(texts()["audit"]["habits"]) == list(HABITS)
