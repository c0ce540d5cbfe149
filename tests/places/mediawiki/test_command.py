"""`tarry wiki`: a change of a page is read from standard input, waits, and is made by the account named."""

import io
from pathlib import Path

import pytest

from contracts.shell import ALL_GONE
from contracts.wiki_server import WikiServer
from contracts.wiki_world import write_accounts

APPEND = ["append", "Talk:Owls", "--account", "nym", "--heading", "Food"]


@pytest.fixture
def server():
    """A wiki with one page."""
    with WikiServer() as server:
        server.write("Talk:Owls", "Owls are birds.")
        yield server
    assert server.wrong == []


@pytest.fixture
def types(monkeypatch):
    """Puts a text on standard input."""

    def types(text):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return types


@pytest.fixture
def typed(quiet, server, types):
    """A shell with a text on its standard input and an accounts file in its usual place."""
    types("They eat mice. ☃\n")
    write_accounts(quiet.home.config, at=server.at)
    return quiet


def account_file(folder, at="https://wiki.example/w/api.php", **logins):
    """Another accounts file, with a table for each login."""
    path = Path(folder, "accounts.toml").absolute()
    path.parent.mkdir()
    path.touch(mode=0o600)
    tables = [
        f'[{name}]\nlogin = "{login}"\npassword = "s"\nat = "{at}"\n' for name, login in logins.items()
    ]
    path.write_text("".join(tables))
    return path


def targets(shell):
    """Of all that waits."""
    return {post["target"] for post in shell.ask("queue")["posts"]}


def options_of(shell, told):
    """What the store keeps for the outlet."""
    return shell.home.gate().options_of(int(told["id"], 16))


def test_a_section_waits_for_its_moment(typed, server):
    """Where and who the account is, that is the pseudonym, is the target; the wiki is not asked before."""
    told = typed.ask("wiki", *APPEND, "--summary", "what they eat")
    (post,) = typed.ask("queue")["posts"]

    assert (told["state"], told["output"], typed.started) == ("waiting", None, [typed.home])
    assert (post["target"], post["outlet"]) == (f"{server.at} Nym", "mediawiki")
    assert (post["what"], post["account"]) == ("append Talk:Owls", "nym")
    assert options_of(typed, told) == {
        "action": "append",
        "page": "Talk:Owls",
        "account": "nym",
        "heading": "Food",
        "summary": "what they eat",
        "minor": False,
    }
    assert server.receiver.received == []


def test_two_accounts_on_one_page_are_two_targets(typed, types, server):
    """Otherwise they would count as one that may be linked."""
    typed.ask("wiki", *APPEND)
    types("Do they?")
    typed.ask("wiki", "create", "Talk:Owls", "--account", "other", "--accounts", typed.home.accounts_path)

    assert targets(typed) == {f"{server.at} Nym", f"{server.at} Other"}


def test_two_files_with_one_table_name_are_two_targets(typed, types):
    """What a table is called is nobody's name: two pseudonyms must never count as one."""
    elsewhere = account_file("more", nym="Stranger@tarry")
    typed.ask("wiki", *APPEND)
    types("Do they?")
    typed.ask("wiki", *APPEND, "--accounts", elsewhere)

    assert len(targets(typed)) == 2


@pytest.mark.parametrize("login", ["Nym@tarry", "nym@another_bot_password", "Nym", "_Nym_@tarry"])
@pytest.mark.parametrize("at", ["https://wiki.example/w/api.php", "https://WIKI.example.:443/w/api.php"])
def test_one_account_under_two_names_is_one_target(typed, types, login, at):
    """Whatever table, file, bot password or spelling leads to it: everybody sees one account."""
    typed.ask("wiki", *APPEND, "--accounts", account_file("one", nym="Nym@tarry"))
    types("Do they?")
    words = ["append", "Talk:Owls", "--heading", "Food", "--account", "me"]
    typed.ask("wiki", *words, "--accounts", account_file("two", at, me=login))

    assert targets(typed) == {"https://wiki.example/w/api.php Nym"}


def test_a_login_that_is_refused_says_what_to_do_and_whose_it_is(typed, server):
    """In the owner's own queue: the table to mend, and that everything else has moved."""
    path = write_accounts(typed.home.config, at=server.at)
    path.write_text(path.read_text().replace('password = "', 'password = "x'))
    told = typed.ask("wiki", *APPEND)
    typed.pass_ticks(ALL_GONE)
    _, out, _ = typed.say("queue")
    (post,) = typed.ask("queue")["posts"]

    assert f"{told['id'][:8]} (account nym): the wiki refuses this account's login" in out
    assert "check login and bot password of this account in the accounts file; it is tried again" in out
    assert f"{told['id'][:8]} is tried again: everything of yours that waits has moved later" in out
    assert (post["account"], post["holds_up"]) == ("nym", True)


def test_it_leaves_by_the_account(typed, server):
    """Through the store, a keeper's work, and out."""
    typed.ask("wiki", *APPEND)
    typed.pass_ticks(ALL_GONE)

    (change,) = server.made()
    assert (change[0], change[1].user) == ("Talk:Owls", "Nym")
    assert change[1].text.endswith("== Food ==\n\nThey eat mice. ☃")


def test_an_edit_names_what_it_was_made_from(typed):
    """And may be minor."""
    told = typed.ask("wiki", "edit", "Talk:Owls", "--account", "nym", "--base", "101", "--minor")

    assert options_of(typed, told)["base_revision"] == 101
    assert options_of(typed, told)["minor"] is True


def test_an_accounts_file_is_found_from_anywhere(typed, server):
    """Its path is kept whole, and no password is kept at all."""
    Path("more").mkdir()
    write_accounts(Path("more"), at=server.at)
    typed.home.accounts_path.unlink()
    told = typed.ask("wiki", *APPEND, "--accounts", "more/accounts.toml", "--target", "somebody")

    assert options_of(typed, told)["accounts"] == str(Path("more/accounts.toml").absolute())
    assert typed.ask("queue")["posts"][0]["target"] == "somebody"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["edit", "Owls", "--account", "nym"],
            "edit has no --base: give the revision that your text was",
        ),
        (
            ["edit", "Owls", "--account", "nym", "--base", "0"],
            "--base must be 1 or more, not 0: give the revision",
        ),
        (["append", "Owls", "--account", "nym"], "append has no --heading"),
        (["create", "Owls", "--account", "nym", "--base", "7"], "--base goes with edit, not with create"),
        (
            ["edit", "Owls", "--account", "nym", "--base", "7", "--heading", "x"],
            "--heading goes with append",
        ),
        (
            ["create", "Owls#Food", "--account", "nym"],
            "the page of a wiki post must have no # < > [ ] { } |",
        ),
        (["create", "Owls", "--account", "ann"], "there is no account 'ann' in "),
        (["create", "Owls", "--account", "nym", "--accounts", "none"], "the accounts file '"),
        (["create", "Owls"], "the following arguments are required: --account (see tarry wiki --help)"),
        (["delete", "Owls", "--account", "nym"], "argument ACTION: invalid choice: 'delete'"),
    ],
)
def test_what_no_wiki_takes_is_refused(typed, words, sentence):
    """What is wrong is told in one sentence, and nothing waits."""
    assert typed.refusal("wiki", *words).startswith(f"tarry wiki: {sentence}")
    assert typed.ask("queue")["posts"] == []


def test_a_text_that_is_none_is_refused(typed, types):
    """An empty input is a slip more often than a wish."""
    types("\n")

    assert "the content of a wiki post is nothing but blanks" in typed.refusal("wiki", *APPEND)


def test_without_an_accounts_file_everything_else_works(quiet, types):
    """Nobody needs one who has no account at a wiki."""
    types("Owls are birds.")
    assert quiet.ask("run", "--target", "x", "--", "true")["state"] == "waiting"
    assert "does not exist" in quiet.refusal("wiki", "create", "Owls", "--account", "nym")
