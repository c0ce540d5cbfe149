"""The push of a named commit, to real repositories."""

import io
import stat
import time
from pathlib import Path

import pytest

from contracts.git_places import Repository, everything_in, new_bare
from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.places.git import client as git_process
from tarry.places.git.outlet import Git, waiting_push
from tarry.testing.outlets import OutletCase, OutletSuite, opened, release_of

pytestmark = pytest.mark.needs("git")
RELEASED = "1767225660 +0000"  # the moment of `release_of`
NOBODY = "0" * 39 + "1"


class GitWorld:
    """A repository with a published commit, one that waits, and its remote."""

    content = b""
    redate = False

    def __init__(self, folder):
        self.remote = new_bare(folder / "remote.git")
        self.mine = Repository(folder / "mine", self.remote)
        self.first = self.mine.commit("first")
        self.mine("push", "--quiet", "origin", "main")
        self.before = everything_in(self.remote)
        self.second = self.mine.commit("second")
        self.outlet = Git(timeout_s=60)
        self.options = waiting_push(self.mine.path, "origin", "main", redate=self.redate)

    def sent(self):
        """Everything that the remote holds, once something was pushed."""
        now = everything_in(self.remote) if self.remote.exists() else self.before
        return [] if now == self.before else now

    def close(self):
        """Nothing is left running."""

    def there(self):
        """The history of the remote's branch."""
        self.mine("fetch", "--quiet", "origin")
        return self.mine.log("origin/main")


class RedatingWorld(GitWorld):
    """The same, with dates that are those of the release."""

    redate = True


def reject(world):
    """The server's own rule is against it."""
    hook = world.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho we do not want it >&2\nexit 1\n")
    hook.chmod(0o755)


def diverge(world):
    """Somebody else has pushed something else meanwhile."""
    other = Repository(world.remote.parent / "other", world.remote)
    other("pull", "--quiet", "origin", "main")
    other.commit("something else")
    other("push", "--quiet", "origin", "main")


TROUBLES = {
    "cannot be reached": (lambda world: world.remote.rename(f"{world.remote} gone"), Unreachable),
    "has another address": (lambda world: world.mine("remote", "set-url", "origin", "/elsewhere"), Refused),
    "is no remote any more": (lambda world: world.mine("remote", "remove", "origin"), Refused),
    "does not want it": (reject, Refused),
    "has gone on": (diverge, Refused),
    "is nowhere": (lambda world: world.mine.path.rename(f"{world.mine.path} gone"), Refused),
}
UNDELIVERABLE = [
    {"surprise": 1},
    {"repository": "relative"},
    {"repository": "/"},
    {"repository": "/no/such/folder"},
    {"repository": "/\0"},
    {"repository": None},
    {"remote": "nobody"},
    {"remote": "--upload-pack=x"},
    {"remote": "\ud800"},
    {"branch": "-main"},
    {"branch": "refs/tags/v1"},
    {"branch": "ma..in"},
    {"branch": ""},
    {"commit": "main"},
    {"commit": NOBODY},
    {"redate": "yes"},
    {"address": "elsewhere"},
]


class TestGit(OutletSuite):
    """A push meets the contract of outlets."""

    case = OutletCase(world=GitWorld, undeliverable=UNDELIVERABLE, troubles=TROUBLES)


class TestGitRedating(OutletSuite):
    """So does a push with redated commits."""

    case = OutletCase(world=RedatingWorld, undeliverable=UNDELIVERABLE[:1], troubles=TROUBLES)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The configuration of whoever runs the tests has no say."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def world(tmp_path):
    """A commit that waits."""
    with opened(GitWorld, tmp_path / "world") as world:
        yield world


@pytest.fixture
def redating(tmp_path):
    """A commit that waits, to be redated."""
    with opened(RedatingWorld, tmp_path / "world") as world:
        yield world


def who(date):
    """How `log` shows author and committer."""
    return f"Änn Other <ann@nym.example> {date}|Änn Other <ann@nym.example> {date}"


# --- admission -----------------------------------------------------------------------------------


def test_the_commit_is_named_at_admission(world):
    """What is pushed is what the branch held at admission, whatever it holds at the release."""
    world.mine.commit("third")

    world.outlet.deliver(release_of(world))

    assert world.options["commit"] == world.second
    assert [line.split("|")[0] for line in world.there()] == ["Say second", "Say first"]


def test_the_branch_checked_out_is_the_one_meant(world):
    """Without a name the push is of the branch checked out, seen from any folder of the repository."""
    (world.mine.path / "folder").mkdir()

    assert waiting_push(world.mine.path / "folder", "origin") == world.options
    assert waiting_push(world.mine.path, "origin", "refs/heads/main") == world.options


def test_an_address_tells_no_password(world):
    """The address of a remote is kept with a hash of who logs in: two logins are two targets."""
    found = []
    for user in ("ann:s3cret", "bob:s3cret"):
        world.mine("remote", "set-url", "origin", f"https://{user}@git.example/x.git")
        found.append(waiting_push(world.mine.path, "origin")["address"])

    assert len(set(found)) == 2
    assert not any(word in address for address in found for word in ("ann", "bob", "s3cret"))


def test_admission_asks_nobody(world):
    """Handing in works without the server, and leaves no trace there."""
    world.remote.rename(f"{world.remote} gone")

    assert waiting_push(world.mine.path, "origin") == world.options


@pytest.mark.parametrize(
    ("where", "remote", "branch", "told"),
    [
        (".", "origin", None, "is not in a git repository: go to one"),
        ("mine", "upstream", None, "there is no remote 'upstream': use origin"),
        ("mine", "origin", "none", "there is no branch 'none' in the repository"),
    ],
)
def test_what_is_not_there_cannot_be_pushed(world, where, remote, branch, told):
    """A folder that is no repository, an unknown remote and an unknown branch are refused."""
    with pytest.raises(BadInput, match=told):
        waiting_push(world.remote.parent / where, remote, branch)


@pytest.mark.parametrize("redate", [False, True])
def test_nothing_new_is_nothing_to_push(world, redate):
    """A commit that the remote is known to have is refused."""
    world.mine("push", "--quiet", "origin", "main")

    with pytest.raises(BadInput, match="nothing to push"):
        waiting_push(world.mine.path, "origin", redate=redate)


def test_a_detached_head_has_no_branch(world):
    """Where no branch is checked out, one has to be named."""
    world.mine("checkout", "--quiet", "--detach")

    with pytest.raises(BadInput, match="no branch is checked out"):
        waiting_push(world.mine.path, "origin")


def test_a_bare_repository_can_push(world, tmp_path):
    """A repository without a working tree pushes too."""
    bare = tmp_path / "bare.git"
    world.mine("clone", "--quiet", "--bare", str(world.mine.path), str(bare))
    world.mine("-C", str(bare), "remote", "set-url", "origin", f"file://{world.remote}")

    world.outlet.deliver(release_of(world, options=waiting_push(bare, "origin", "main")))

    assert len(world.there()) == 2


def signed(world):
    """A commit like the last one, with a signature."""
    raw = world.mine("cat-file", "commit", "HEAD")
    head, _, message = raw.partition("\n\n")
    raw = (
        f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n =\n -----END PGP SIGNATURE-----\n\n{message}\n"
    )
    name = world.mine("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode())
    world.mine("update-ref", "refs/heads/main", name)
    return name


def test_signed_commits_keep_their_dates(world):
    """A signed commit is pushed as it is, and cannot be redated."""
    name = signed(world)

    with pytest.raises(BadInput, match="a signed commit cannot be dated anew"):
        waiting_push(world.mine.path, "origin", redate=True)
    world.outlet.deliver(release_of(world, options=waiting_push(world.mine.path, "origin")))
    assert world.mine("ls-remote", "origin", "main").startswith(name)


def test_commits_published_elsewhere_are_not_redated(world, tmp_path):
    """Commits that any remote is known to have are published."""
    fork = new_bare(tmp_path / "fork.git")
    world.mine("remote", "add", "fork", str(fork))
    world.mine("push", "--quiet", "fork", "main")

    with pytest.raises(BadInput, match="there is nothing to redate"):
        waiting_push(world.mine.path, "origin", redate=True)


def test_redating_needs_to_know_what_is_published(world):
    """Without tracking branches nothing is redated: all of history would look unseen."""
    world.mine("config", "--unset", "remote.origin.fetch")

    with pytest.raises(BadInput, match="has no tracking branches"):
        waiting_push(world.mine.path, "origin", redate=True)


# --- release -------------------------------------------------------------------------------------


def test_a_plain_push_keeps_the_dates(world):
    """Without redate the commits are pushed as they are."""
    world.outlet.deliver(release_of(world))

    assert world.there() == [f"Say {text}|{who('1700000000 +0200')}" for text in ("second", "first")]


def test_redated_commits_have_the_date_of_the_release(redating):
    """What nobody had seen is dated to the release, in UTC; what was published keeps its date."""
    redating.mine.commit("third")
    options = waiting_push(redating.mine.path, "origin", redate=True)

    redating.outlet.deliver(release_of(redating, options=options))

    dates = {"third": RELEASED, "second": RELEASED, "first": "1700000000 +0200"}
    assert redating.there() == [f"Say {text}|{who(date)}" for text, date in dates.items()]


def test_the_time_of_work_cannot_be_seen(tmp_path):
    """Commits made at different times look the same to the remote after one release, object by object."""
    seen = []
    for number, date in enumerate(("1700001111 +0200", "1700099999 -0700")):
        with opened(RedatingWorld, tmp_path / str(number)) as world:
            world.mine.commit("third", date=date)
            options = waiting_push(world.mine.path, "origin", redate=True)
            world.outlet.deliver(release_of(world, options=options))
            seen.append(world.sent())

    assert seen[0] == seen[1]


def test_all_but_the_dates_stays_byte_for_byte(redating):
    """Trees, names, encodings, unknown headers and messages of redated commits are untouched."""
    mine = redating.mine
    tree, parent = mine.at("HEAD^{tree}"), mine.at("HEAD")
    raw = (
        f"tree {tree}\nparent {parent}\nauthor  <> 1 -0000\ncommitter A  B <a b> 99 +1234\n".encode()
        + b"encoding ISO-8859-1\nsomething else 1 +0000\n more\n\n\nGr\xfc\xdfe\n\nauthor A <a> 1 +0000\n\n"
    )
    name = mine("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    mine("update-ref", "refs/heads/main", name)
    options = waiting_push(mine.path, "origin", redate=True)

    redating.outlet.deliver(release_of(redating, options=options))

    tip = mine.at("refs/remotes/origin/main")
    got = git_process.run_git(mine.path, "cat-file", "commit", tip).out
    assert got == (
        raw.replace(parent.encode(), mine.at(f"{tip}^").encode())
        .replace(b"<> 1 -0000", b"<> " + RELEASED.encode())
        .replace(b"99 +1234", RELEASED.encode())
    )


def test_merges_of_published_history_stay(redating, tmp_path):
    """A merge is redated on top of published parents that are not."""
    mine = redating.mine
    mine("checkout", "--quiet", "-b", "upstream", redating.first)
    (mine.path / "another").write_text("theirs")
    mine("add", "another")
    mine("commit", "--quiet", "-m", "Say theirs")
    upstream = new_bare(tmp_path / "upstream.git")
    mine("remote", "add", "upstream", str(upstream))
    mine("push", "--quiet", "upstream", "upstream")
    theirs = mine.at("HEAD")
    mine("checkout", "--quiet", "main")
    mine("merge", "--quiet", "--no-edit", "upstream")
    options = waiting_push(mine.path, "origin", redate=True)

    redating.outlet.deliver(release_of(redating, options=options))

    parents = mine("rev-parse", "origin/main^@").split()
    assert parents[1] == theirs
    assert parents[0] not in {redating.second, theirs}
    assert mine.at(f"{parents[0]}^") == redating.first


def test_the_branch_moves_to_what_was_pushed(redating):
    """After the push the local branch stands at the redated commit, and no file has changed."""
    redating.outlet.deliver(release_of(redating))

    assert redating.mine.at("main") == redating.mine.at("origin/main") != redating.second
    assert redating.mine("status", "--porcelain") == ""


def test_a_branch_that_has_gone_on_stays(redating):
    """A branch that holds more by now is left alone."""
    third = redating.mine.commit("third")

    redating.outlet.deliver(release_of(redating))

    assert redating.mine.at("main") == third


def test_the_next_push_builds_on_the_redated_ones(redating):
    """A later waiting push of the same branch lands on top of what an earlier one has redated."""
    redating.mine.commit("third")
    later = waiting_push(redating.mine.path, "origin", redate=True)
    redating.outlet.deliver(release_of(redating))
    first_tip = redating.mine.at("origin/main")

    redating.outlet.deliver(
        release_of(redating, options=later, at=release_of(redating).at + 60, id="b" * 32)
    )

    dates = {"third": "1767225720 +0000", "second": RELEASED, "first": "1700000000 +0200"}
    assert redating.there() == [f"Say {text}|{who(date)}" for text, date in dates.items()]
    assert redating.mine.at("origin/main^") == first_tip
    assert redating.mine.at("main") == redating.mine.at("origin/main")


@pytest.mark.parametrize("kind", ["world", "redating"])
def test_what_went_along_with_a_later_one_counts_as_done(kind, request):
    """A commit that a push of its descendant has brought along is there already."""
    world = request.getfixturevalue(kind)
    world.mine.commit("third")
    later = waiting_push(world.mine.path, "origin", redate=world.redate)
    world.outlet.deliver(release_of(world, options=later, id="b" * 32))
    there = world.sent()

    world.outlet.deliver(release_of(world, at=release_of(world).at + 60))

    assert world.sent() == there


def test_a_try_that_did_not_come_through_is_dated_anew(redating):
    """A push that failed at first carries the date of the release under which it succeeds."""
    away = redating.remote.rename(f"{redating.remote} away")
    with pytest.raises(Unreachable):
        redating.outlet.deliver(release_of(redating))
    away.rename(redating.remote)

    redating.outlet.deliver(release_of(redating, at=release_of(redating).at + 60, attempt=2))

    assert redating.there()[0] == f"Say second|{who('1767225720 +0000')}"
    assert redating.mine("for-each-ref", "refs/tarry/leaving") == ""


def test_a_new_branch_can_be_pushed(world):
    """A branch that the remote does not have yet is made there."""
    world.mine("checkout", "--quiet", "-b", "topic/new")
    options = waiting_push(world.mine.path, "origin")

    world.outlet.deliver(release_of(world, options=options))

    assert world.mine("ls-remote", "origin", "refs/heads/topic/new").startswith(world.second)


@pytest.mark.parametrize("kind", ["world", "redating"])
def test_only_the_branch_is_pushed(kind, request):
    """Neither tags nor what tarry remembers reach the remote, whatever the configuration says."""
    world = request.getfixturevalue(kind)
    world.mine("tag", "-a", "-m", "A tag", "v1")
    world.mine("config", "push.followTags", "true")

    world.outlet.deliver(release_of(world))

    refs = world.mine("ls-remote", "origin").splitlines()
    assert [line.split("\t")[1] for line in refs] == ["HEAD", "refs/heads/main"]


def test_it_never_forces(world):
    """Not even where the configuration of the remote would."""
    diverge(world)
    world.mine("config", "remote.origin.push", "+refs/heads/main:refs/heads/main")
    there = everything_in(world.remote)

    with pytest.raises(Refused, match=r"the push was rejected: \[rejected\] \(fetch first\)"):
        world.outlet.deliver(release_of(world))
    assert everything_in(world.remote) == there


def test_the_words_of_a_hook_are_told(world):
    """Whoever reads why a push was rejected reads what the server said."""
    reject(world)

    with pytest.raises(Refused, match=r"pre-receive hook declined.*we do not want it"):
        world.outlet.deliver(release_of(world))


def test_the_branch_moves_also_after_a_crash(redating):
    """A try that was cut off right after the push is finished by the next one, under its own date."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tarry.places.git.outlet.REDATED", "refs/..")  # not a name: it cannot be written
        with pytest.raises(Unreachable) as trouble:
            redating.outlet.deliver(release_of(redating))
    assert trouble.value.sent
    there = redating.sent()

    redating.outlet.deliver(release_of(redating, at=release_of(redating).at + 60, attempt=2))

    assert there
    assert redating.sent() == there
    assert redating.mine.at("main") == redating.mine.at("origin/main") != redating.second


def test_a_push_whose_answer_is_lost_may_have_come_through(world):
    """The remote dies after it has taken it: the next try finds it there."""
    script(world.remote / "hooks" / "post-receive", "kill -9 $PPID")

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world))
    assert trouble.value.sent
    assert world.sent()

    world.outlet.deliver(release_of(world, attempt=2))


@pytest.mark.parametrize(
    "address",
    ["/no/such/place", "http://127.0.0.1:9/x.git", "git://127.0.0.1:9/x.git", "ssh://127.0.0.1:9/x"],
)
def test_a_remote_that_was_not_reached_has_nothing(world, address):
    """Nobody listens: it may be changed."""
    world.mine("remote", "set-url", "origin", address)
    options = {**world.options, "address": None}

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world, options=options))
    assert not trouble.value.sent


# --- the hook of one's own repository --------------------------------------------------------------


@pytest.fixture
def hook(world):
    """Writes the pre-push hook."""
    return lambda text: script(world.mine.path / ".git" / "hooks" / "pre-push", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1", "it said nothing"),
        ("echo tests fail; echo see above >&2; exit 3", "tests fail; see above"),
        ("printf '!\\tmain\\t[remote failure]\\n'; exit 1", "!.*remote failure"),
        ("echo fatal: the remote end hung up unexpectedly >&2; exit 1", "fatal: the remote end hung up"),
        ("git ls-remote /no/such/place; exit 1", ".*Could not read from remote repository"),
        ("kill -9 $$", ".*died of signal 9"),
    ],
)
def test_what_ones_own_hook_refuses_was_not_sent(world, hook, text, said):
    """It is parked at once with the hook's words, whatever they sound like."""
    hook(text)

    with pytest.raises(Refused, match=f"^the pre-push hook of your repository refused it: {said}"):
        world.outlet.deliver(release_of(world))
    assert world.sent() == []


def test_a_hook_may_lie_elsewhere(world, tmp_path):
    """Where `core.hooksPath` says."""
    script(tmp_path / "hooks" / "pre-push", "exit 1")
    world.mine("config", "core.hooksPath", str(tmp_path / "hooks"))

    with pytest.raises(Refused, match="the pre-push hook"):
        world.outlet.deliver(release_of(world))


def test_a_hook_that_cannot_be_run_has_refused(world):
    """Its interpreter is gone: git waits for ever, and nothing was sent."""
    broken = world.mine.path / ".git" / "hooks" / "pre-push"
    broken.parent.mkdir(exist_ok=True)
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)

    with pytest.raises(Refused, match=r"the pre-push hook of your repository refused it: .*cannot"):
        Git(timeout_s=3).deliver(release_of(world))
    assert world.sent() == []


def test_a_refused_push_can_be_repeated(redating):
    """Nothing of the refused one is left in its way, and it has its own date."""
    refusing = script(redating.mine.path / ".git" / "hooks" / "pre-push", "exit 1")
    with pytest.raises(Refused):
        redating.outlet.deliver(release_of(redating))
    refusing.unlink()

    redating.outlet.deliver(release_of(redating, at=release_of(redating).at + 60))

    assert redating.there()[0] == f"Say second|{who('1767225720 +0000')}"


@pytest.mark.parametrize("where", TROUBLES)
def test_a_hook_that_agrees_is_not_blamed(world, hook, where):
    """What goes wrong with the remote is told as without a hook."""
    hook("git rev-parse --verify --quiet refs/heads/nothing; exit 0")
    happen, trouble = TROUBLES[where]
    happen(world)

    with pytest.raises(trouble, match=r"^(?!the pre-push hook)"):
        world.outlet.deliver(release_of(world))


@pytest.mark.parametrize("when", ["pre-receive", "post-receive"])
def test_a_connection_that_is_cut_is_not_the_hook(world, hook, when):
    """The remote dies in the middle: it may have come through."""
    hook("exit 0")
    script(world.remote / "hooks" / when, "kill -9 $PPID")

    with pytest.raises(Unreachable, match=r"git cannot push now: .*unexpected disconnect") as trouble:
        world.outlet.deliver(release_of(world))
    assert trouble.value.sent


def test_a_hook_that_agreed_to_another_address_is_not_believed(world, hook, tmp_path):
    """A remote with two addresses: the first has it by now, whatever the hook says of the second."""
    first, second = f"file://{world.remote}", f"file://{new_bare(tmp_path / 'second.git')}"
    for address in (first, second):
        world.mine("config", "--add", "remote.origin.pushurl", address)
    hook(f'test "$2" = {first}')
    options = {**world.options, "address": None}

    with pytest.raises(Unreachable, match=r"git cannot push now: .") as trouble:
        world.outlet.deliver(release_of(world, options=options))
    assert trouble.value.sent
    assert world.sent()


def test_a_push_that_fails_in_silence_may_have_come_through(world, hook, monkeypatch):
    """Without git's own account nobody can tell the hook from a lost connection; a reason is given."""
    monkeypatch.setattr(git_process, "_hook_refused", lambda trace: False)
    hook("exit 1")

    with pytest.raises(Unreachable, match="it ended with 1 and did not say why") as trouble:
        world.outlet.deliver(release_of(world))
    assert trouble.value.sent


@pytest.mark.parametrize("trace", [b"", b"no json", b"1", b"{}", b'{"sid": "a", "event": "version"}'])
def test_an_account_that_says_nothing_blames_no_hook(trace):
    """An older git writes none."""
    assert not git_process._hook_refused(io.BytesIO(trace))


# --- git itself ----------------------------------------------------------------------------------


def script(path, text):
    """A program."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_nothing_of_the_keepers_environment_leaks_in(world, monkeypatch, tmp_path):
    """Variables of the keeper that would steer git have no effect on it."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Keeper")
    hook = script(world.mine.path / ".git" / "hooks" / "pre-push", f"env > {tmp_path / 'environment'}")

    world.outlet.deliver(release_of(world))

    seen = dict(line.split("=", 1) for line in (tmp_path / "environment").read_text().splitlines())
    assert hook.exists()
    assert seen["LC_ALL"] == "C"
    assert seen["GIT_TERMINAL_PROMPT"] == "0"
    assert seen["GIT_SSH_COMMAND"] == "ssh -o BatchMode=yes"
    assert "GIT_TRACE" not in seen
    assert "GIT_AUTHOR_NAME" not in seen
    assert not (tmp_path / "trace").exists()


def test_the_repositorys_own_key_is_used(world, tmp_path):
    """The ssh command of the repository, with its key, is kept and told to ask nobody."""
    ssh = script(tmp_path / "bin" / "ssh", f'echo "$@" > {tmp_path / "words"}; exit 255')
    world.mine("config", "core.sshCommand", f"{ssh} -i /pseudonym/key")
    world.mine("remote", "set-url", "origin", "ssh://git@git.example/x.git")
    options = waiting_push(world.mine.path, "origin")

    with pytest.raises(Unreachable, match="git cannot push now"):
        world.outlet.deliver(release_of(world, options=options))

    words = (tmp_path / "words").read_text()
    assert words.startswith("-i /pseudonym/key -o BatchMode=yes")
    assert "git@git.example" in words


def test_another_ssh_program_is_left_alone(world, tmp_path):
    """A program that is not OpenSSH is not given options that it may not know."""
    other = script(tmp_path / "bin" / "my-tunnel", f'echo "$@" >> {tmp_path / "words"}; exit 255')
    world.mine("config", "core.sshCommand", str(other))
    world.mine("remote", "set-url", "origin", "ssh://git@git.example/x.git")

    with pytest.raises(Unreachable):
        world.outlet.deliver(release_of(world, options=waiting_push(world.mine.path, "origin")))
    assert "BatchMode" not in (tmp_path / "words").read_text()


def test_a_push_that_hangs_is_ended(world, tmp_path):
    """A push that takes too long is ended with all its children, and tried again later."""
    pid = tmp_path / "pid"
    script(world.mine.path / ".git" / "hooks" / "pre-push", f"sleep 600 & echo $! > {pid}; wait")

    with pytest.raises(Unreachable, match="git push took longer than 1 s"):
        Git(timeout_s=1).deliver(release_of(world))

    end = time.monotonic() + 30
    while alive(int(pid.read_text())):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert world.sent() == []


def alive(pid):
    """Whether a process runs; one that has ended and nobody has asked about does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_without_git_nothing_is_accepted(world, monkeypatch, tmp_path):
    """Where git is not installed a push is refused at once, and parked later."""
    monkeypatch.setenv("PATH", str(tmp_path / "none"))

    with pytest.raises(BadInput, match="git is not installed"):
        world.outlet.check(world.options)
    with pytest.raises(Refused, match="git is not installed"):
        world.outlet.deliver(release_of(world))


def test_two_pushes_of_one_repository_do_not_disturb_each_other(redating):
    """The names that are remembered belong to each commit."""
    mine = redating.mine
    mine("branch", "topic")
    topic = waiting_push(mine.path, "origin", "topic", redate=True)

    redating.outlet.deliver(release_of(redating))
    redating.outlet.deliver(release_of(redating, options=topic, id="b" * 32))

    assert mine.at("origin/topic") == mine.at("origin/main") == mine.at("main")
