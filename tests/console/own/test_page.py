"""One's own page: who gets in, what it shows, and that it does what the commands do."""

import os
import re
import sqlite3

import pytest

from contracts.own_page import ADDRESS, FROM_HERE, LETTER, OwnBrowser
from tarry.console.own.page import ROUTES
from tarry.console.pages import texts
from tarry.core.plugins import load_all
from tarry.keep.form import Form, FormField
from tarry.keep.outlet import OutletKind
from tarry.keep.sqlite import SqliteStore

OWN = texts()["own"]


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Makes a page of one's own, whose clock stands still until it is moved."""
    made = []
    monkeypatch.setattr(SqliteStore, "clock", lambda store: made[-1].clock)
    monkeypatch.delenv("TARRY_SMTP", raising=False)

    def new(name="home", **more):
        made.append(OwnBrowser(tmp_path / name, **more))
        monkeypatch.setenv("TARRY_HOME", str(made[-1].home.state))
        return made[-1]

    return new


@pytest.fixture
def own(make):
    """Somebody who has come in."""
    return make().come_in()


def state_of(own):
    """All rows of the store, as they are."""
    if not own.home.store_path.exists():
        return None
    with sqlite3.connect(f"file:{own.home.store_path}?mode=ro", uri=True) as connection:
        return list(connection.iterdump())


# --- the door -------------------------------------------------------------------------------------------


def addresses(own):
    """Every page and form, also of acts that are not there."""
    for method, path, _ in ROUTES:
        yield method, own.door.room + path.format(id="0" * 16, place="mail")
    yield "GET", "/"
    yield "GET", f"/enter/{'x' * 43}"
    yield "GET", "/nothing"


def test_a_program_without_the_cookie_gets_one_closed_page_everywhere(make):
    """Another program or user of the machine reaches the port, and learns nothing by it."""
    own = make().come_in()
    own.hand_in()
    stranger = own.stranger(**FROM_HERE)
    for method, path in addresses(own):
        answer = stranger.request(method, path, data={"mark": own.door.mark} if method == "POST" else None)
        assert answer.status_code == 403, path
        assert OWN["closed"].split(":")[0] in answer.text
        assert LETTER["to"] not in answer.text
        assert own.door.room not in answer.text
    for wrong in ("", "x", own.door.mark):
        answer = own.stranger(Cookie=f"tarry_own={wrong}").get(f"{own.door.room}/")
        assert answer.status_code == 403


def test_the_link_opens_once(make):
    own = make()
    assert own.read().status_code == 403
    first, second = (own.stranger().get(own.door.link) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 403)
    assert "set-cookie" not in second.headers
    set_cookie = first.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", f"Path={own.door.room}"} <= set(set_cookie.split("; "))


def test_a_wrong_word_does_not_use_the_link_up(make):
    own = make()
    assert own.stranger().get(f"{ADDRESS}/enter/guess").status_code == 403
    assert own.come_in().read().status_code == 200


def test_another_ports_page_cannot_push_the_cookie_out(own):
    """Browsers let any port of a machine set cookies of any name: of several one must be right."""
    (cookie,) = own.http.cookies.jar
    right = f"{cookie.name}={cookie.value}"
    for sent in (f"tarry_own=x; {right}", f"{right}; tarry_own=x"):
        assert own.stranger(Cookie=sent).get(f"{own.door.room}/").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8421", "localhost:8421", "127.0.0.1"])
def test_under_another_name_nothing_is_shown(own, host):
    """A site whose name was made to point here has the browser ask us; it says whom it believes to ask."""
    for path in (f"{own.door.room}/", own.door.link.removeprefix(ADDRESS), "/nothing"):
        assert own.http.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "same-site", "Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ],
)
def test_a_form_from_elsewhere_changes_nothing(own, headers):
    """Another port of this machine is elsewhere, too."""
    act = own.hand_in()
    own.http.headers.update(headers)
    if "Sec-Fetch-Site" not in headers:
        del own.http.headers["Sec-Fetch-Site"]
    before = state_of(own)
    for path in (f"{act}/withdraw", f"{act}/edit", "/hand-in/mail"):
        assert own.send(path, LETTER, once=path).status_code == 403

    assert state_of(own) == before


def test_a_form_without_the_mark_of_our_pages_is_refused(own):
    act = own.hand_in()
    before = state_of(own)
    for mark in ("", "0" * 64):
        assert own.send(f"{act}/withdraw", mark=mark).status_code == 403
    assert state_of(own) == before


def test_every_answer_keeps_to_itself(own):
    act = own.hand_in()
    for path in ("/", act, "/hand-in/git", "/nothing"):
        headers = own.read(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"


# --- looking --------------------------------------------------------------------------------------------


def test_looking_changes_nothing_and_wakes_nobody(own):
    paths = ["/", "/hand-in/git", "/hand-in/mediawiki", "/act/0000000000000000"]
    for path in paths:
        own.read(path)
    assert not own.home.store_path.exists()  # not even a store, a key or a policy is made
    assert not own.home.key_path.exists()

    act = own.hand_in()
    own.pass_ticks(3)
    before, woken = state_of(own), own.woken
    for path in [*paths, act, f"{act}/withdraw", f"{act}/repeat"]:
        assert own.read(path).status_code in {200, 404}
    assert (state_of(own), own.woken) == (before, woken)


def test_what_waits_stands_in_the_order_in_which_it_leaves(own, force_draws):
    """By its release, whatever came in first."""
    for subject, draws in (("late", "longest"), ("early", "shortest")):
        force_draws(draws)
        own.hand_in(subject=subject, **{"from": f"{subject}@example.org"})
    page = own.words()

    assert page.index("early to chair@example.net") < page.index("late to chair@example.net")
    assert re.search(r"leaves \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", page)


def test_no_byte_tells_when_an_act_came_in(make, force_draws):
    """Two acts that leave at one moment, one of which came in an hour before the other."""
    force_draws("longest")
    pages = []
    for before, after in ((3, 7), (7, 3)):
        own = make(f"home {before}").come_in()
        own.hand_in(**{"from": "other@example.org"})  # the store is there, and closes its ticks
        own.pass_ticks(before)
        act = own.hand_in()
        own.pass_ticks(after)
        with sqlite3.connect(own.home.store_path) as connection:
            connection.execute(
                "UPDATE posts SET id = 1000 + (target LIKE 'nym%'),"
                " release = (SELECT closed FROM clock) + 3"
            )
        shown = [own.read(path).text for path in ("/", f"/act/{1000:016x}", f"/act/{1001:016x}")]
        assert act.rpartition("/")[2] not in "".join(shown)
        private = f"{own.door.room}|{own.door.mark}|{own.home.state}"
        pages.append([re.sub(private, "", text) for text in shown])

    assert pages[0] == pages[1]
    assert "leaves" in pages[0][0]


def test_nobody_has_to_have_a_policy(make):
    own = make(policy=None).come_in()
    assert "What it promises" in own.words()
    own.hand_in()
    assert own.home.policy_path.exists()


def test_the_season_that_is_spent_is_shown(own):
    for target in ("a", "b"):
        own.hand_in(**{"from": f"{target}@example.org"})
    own.pass_ticks(4)

    assert "2 of your acts were batched; the promise reaches to 6." in own.words()
    assert "They may have cost 1 nats in all." in own.words()


def test_beyond_the_promise_the_page_says_so(own):
    for number in range(8):
        own.hand_in(**{"from": f"nym{number}@example.org"})
    own.pass_ticks(4)
    assert OWN["beyond"] in own.words()


# --- handing in, editing, withdrawing -------------------------------------------------------------------


def test_a_mail_is_handed_in_as_the_command_does(own, capsys, monkeypatch):
    act = own.hand_in()
    assert own.woken == 1
    capsys.readouterr()
    own.tell("queue", "--json", "--show", act.rpartition("/")[2])
    shown = capsys.readouterr().out

    assert '"content": "I agree."' in shown
    assert '"target": "nym@example.org"' in shown


def test_a_second_click_hands_nothing_in_again(own):
    answers = [own.send("/hand-in/mail", LETTER, once="7") for _ in range(2)]

    assert len({answer.headers["location"] for answer in answers}) == 1
    assert own.read().text.count('class="track"') == 1


def test_what_was_written_is_not_lost_by_a_refusal(own):
    for wrong, words in (
        ({"server": ""}, "no mail server given: name one, or set TARRY_SMTP"),
        ({"to": "nobody"}, "a recipient of a mail"),
        ({"from": ""}, "the field From must be filled in"),
    ):
        answer = own.send("/hand-in/mail", {**LETTER, **wrong}, once="1")
        assert answer.status_code == 422
        assert words in answer.text
        assert "I agree." in answer.text
    assert not own.home.store_path.exists() or own.read().text.count('class="track"') == 0


def test_an_edit_changes_the_words_and_not_the_moment(own):
    act = own.hand_in()
    shown = re.findall(r"<time.*?</time>", own.read(act).text)
    assert shown
    answer = own.send(f"{act}/edit", text="I disagree.\nStrongly.")

    assert answer.headers["location"].endswith("done=edited")
    assert "I disagree.\nStrongly.</textarea>" in own.read(act).text
    assert re.findall(r"<time.*?</time>", own.read(act).text) == shown


def test_an_edit_that_comes_too_late_gives_the_words_back(own):
    act = own.hand_in()
    own.send(f"{act}/withdraw")
    answer = own.send(f"{act}/edit", text="new words")

    assert answer.status_code == 409
    assert "new words</textarea>" in answer.text


def test_withdrawing_asks_first(own):
    act = own.hand_in()
    assert OWN["withdraw_sure"] in own.words(f"{act}/withdraw")
    assert OWN["withdraw_means"] in own.words(f"{act}/withdraw")
    assert own.read(act).status_code == 200

    assert own.send(f"{act}/withdraw").headers["location"].endswith("?done=withdrawn")
    assert own.read(act).status_code == 404
    assert OWN["nothing_waits"] in own.words("/?done=withdrawn")


def test_a_parked_act_says_why_and_is_handed_in_again_after_a_question(own):
    act = own.hand_in(server="smtp://127.0.0.1:1")
    with sqlite3.connect(own.home.store_path) as connection:
        connection.execute(
            "UPDATE posts SET state = 'parked_in_doubt', problem = 'it was cut off', release = 1"
        )
    assert "it was cut off" in own.words()
    page = own.words(act)
    assert OWN["may_have_left"] in page
    assert OWN["repeat_twice"] in own.words(f"{act}/repeat")

    answer = own.send(f"{act}/repeat")
    assert answer.status_code == 303
    assert own.woken == 2
    assert OWN["parked"] not in own.words()
    assert own.read().text.count('class="track"') == 1


def test_where_labels_are_declared_the_form_asks(make):
    declared = 'epsilon = 1\ngap = "1h"\nwindow = "10m"\ntick = "10m"\nlabels = "declared"\n'
    own = make(policy=declared).come_in()
    form = own.read("/hand-in/mail").text
    assert "within 10m" in form
    assert "checked" not in form  # nobody answers without a thought
    assert own.send("/hand-in/mail", LETTER, once="1").status_code == 422
    assert own.send("/hand-in/mail", LETTER, once="1", more="yes").status_code == 303


# --- places ---------------------------------------------------------------------------------------------


def test_every_form_of_ours_has_its_words():
    for name, kind in load_all("outlet").items():
        if kind.form is not None:
            words = OWN["forms"][name]
            for field in kind.form.fields:
                assert field.name in words, (name, field.name)
                assert all(f"{field.name}_{choice}" in words for choice in field.choices)


def test_the_accounts_are_a_choice_and_no_password_is_on_any_page(own):
    own.home.accounts_path.write_text(
        '[nym]\nlogin = "Nym@tarry"\npassword = "hunter2"\nat = "https://wiki.example/w/api.php"\n'
    )
    own.home.accounts_path.chmod(0o600)
    page = own.read("/hand-in/mediawiki").text
    assert "<option>nym</option>" in page
    fields = {"account": "nym", "action": "append", "page": "Talk:Owls", "heading": "Food", "text": "Mice."}
    answer = own.send("/hand-in/mediawiki", fields, once="1")
    act = answer.headers["location"].removeprefix(own.door.room)

    assert "append Talk:Owls" in own.words()
    assert "https://wiki.example/w/api.php Nym" in own.words(act)
    for path in ("/", act, "/hand-in/mediawiki"):
        assert "hunter2" not in own.read(path).text


def test_without_an_accounts_file_the_form_says_so(own):
    assert "accounts.toml' does not exist" in own.words("/hand-in/openreview")
    fields = {"account": "me", "forum": "f", "invitation": "V/-/C", "signature": "V/R", "text": "Hm."}
    answer = own.send("/hand-in/openreview", fields, once="1")
    assert answer.status_code == 422
    assert "does not exist" in answer.text


def pigeon_post(_home, _gate, said):
    """A post by pigeon."""
    return {
        "target": said["loft"],
        "outlet": "mail",
        "content": b"coo",
        "options": {
            "server": "smtp://localhost:25",
            "from": "a@example.org",
            "to": ["b@example.org"],
            "subject": said["loft"],
        },
    }


def test_an_installed_place_joins_with_its_own_words(make, monkeypatch):
    form = Form(
        fields=(FormField(name="loft", label="Where the pigeon flies", required=True),),
        make=f"{__name__}:pigeon_post",
    )
    kind = OutletKind(
        name="pigeon", outlet="x:Y", delivery="at most once", words="its loft", at_home=True, form=form
    )
    everything = load_all("outlet")
    monkeypatch.setattr("tarry.console.own.page.load_all", lambda _: {**everything, "pigeon": kind})
    own = make().come_in()
    monkeypatch.setattr("tarry.keep.form.resolve", lambda _: pigeon_post)

    assert "Where the pigeon flies" in own.words("/hand-in/pigeon")
    assert own.send("/hand-in/pigeon", loft="north", once="1").status_code == 303
    assert "north to b@example.org" in own.words()


def test_what_breaks_is_told_without_its_inside(own, monkeypatch):
    def broken(_):
        raise RuntimeError(f"secret of {os.getpid()}")

    monkeypatch.setattr("tarry.console.own.store.OwnStore.look", broken)
    answer = own.read()

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert own.told == ["the page broke: RuntimeError"]
