"""The accounts file: private, checked as a whole, read anew each time, and silent about passwords."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tarry.core.errors import BadInput
from tarry.places.accounts import Account, Accounts

AT = "https://wiki.example/w/api.php"
SECRET = "correct-horse-battery"  # noqa: S105 - nobody's
NYM = f'[nym]\nlogin = "Nym@tarry"\npassword = "{SECRET}"\n'
WITH_AT = f'{NYM}at = "{AT}"\n'


@pytest.fixture
def file(tmp_path):
    """An accounts file that only its owner reads."""
    path = tmp_path / "accounts.toml"
    path.touch(mode=0o600)
    path.write_text(WITH_AT)
    return path


def test_an_account_is_read(file):
    """By the name of its table."""
    assert Accounts(file).account("nym") == Account(login="Nym@tarry", password=SECRET, at=AT)


def test_the_file_is_read_each_time(file):
    """A password that was changed holds at once."""
    accounts = Accounts(file)
    before = accounts.account("nym").password
    file.write_text(WITH_AT.replace(SECRET, "another"))

    assert (before, accounts.account("nym").password) == (SECRET, "another")


def test_the_place_may_be_given_once_for_all(file):
    """A file for one wiki need not repeat it, and must not say another."""
    file.write_text(NYM)
    assert Accounts(file, place=AT).account("nym").at == AT
    with pytest.raises(BadInput, match=r'does not say where it is: add at = "https://\.\.\."'):
        Accounts(file).check()
    file.write_text(WITH_AT)
    assert Accounts(file, place=AT).account("nym").at == AT
    with pytest.raises(
        BadInput, match=r"must be at https://other\.example/api\.php, not elsewhere: leave its at out"
    ):
        Accounts(file, place="https://other.example/api.php").check()


def test_an_account_that_is_not_there_is_told(file):
    """By its name, to whoever has just given it."""
    with pytest.raises(BadInput, match=r"there is no account 'ann' in .*: name another one"):
        Accounts(file).account("ann")


def test_a_file_without_accounts_is_none_the_worse(file):
    """It can be filled later."""
    file.write_text("")

    Accounts(file).check()


@pytest.mark.parametrize("rights", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o666])
def test_a_file_that_others_can_use_is_refused(file, rights):
    """With the command that closes it."""
    file.chmod(rights)

    with pytest.raises(
        BadInput, match=r"must be closed to everybody else, not have rights .*: chmod go= '"
    ) as told:
        Accounts(file).check()
    assert f"not have rights {rights:o}" in str(told.value)


@pytest.mark.parametrize("rights", [0o600, 0o400, 0o700])
def test_its_owner_may_do_as_they_like(file, rights):
    file.chmod(rights)

    Accounts(file).check()


def test_a_file_that_is_none_is_told(tmp_path):
    """One that is not there, and a folder."""
    with pytest.raises(BadInput, match=r"the accounts file .* does not exist: "):
        Accounts(tmp_path / "none").check()
    with pytest.raises(BadInput, match=r"the accounts file .* cannot be read \(Is a directory\)"):
        Accounts(tmp_path).check()


def test_bytes_that_are_no_text_are_told(file):
    """As what they are."""
    file.write_bytes(WITH_AT.encode() + b"\xff")

    with pytest.raises(BadInput, match=r"the accounts file .* is not UTF-8 text"):
        Accounts(file).check()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('nym = "Nym"', "is a bare value"),
        ("[nym]", "has nothing"),
        ('[nym]\nlogin = "x"', "has login"),
        (
            f'{WITH_AT}mail = "x"',
            "has login, password, at, another name",
        ),
        (
            f'[nym]\nlogin = 7\npassword = "{SECRET}"',
            "must be made of texts that are not empty",
        ),
        (
            f'[nym]\nlogin = ""\npassword = "{SECRET}"',
            "must be made of texts that are not empty",
        ),
        (
            f'[nym]\nlogin = "x"\npassword = ["{SECRET}"]',
            "must be made of texts that are not empty",
        ),
    ],
)
def test_a_table_that_is_no_account_is_told(file, text, sentence):
    """Which one, and what it has, but never a password."""
    file.write_text(text)

    with pytest.raises(BadInput) as told:
        Accounts(file).check()
    assert str(told.value).startswith(f"the account 'nym' in {file} {sentence}")
    assert SECRET not in str(told.value)


@settings(max_examples=100)
@given(
    at=some.integers(0, len(WITH_AT)),
    cut=some.integers(0, 12),
    put=some.text('"\\\n=[]{}.,#\x00\x7f\u0130 x0', max_size=4),
)
def test_a_file_that_was_broken_shows_no_password(tmp_path_factory, at, cut, put):
    """Wherever a slip of the hand falls, the sentence tells the line and not what stands there."""
    text = WITH_AT[:at] + put + WITH_AT[at + cut :]
    path = tmp_path_factory.getbasetemp() / "broken.toml"
    path.touch(mode=0o600)
    path.write_text(text)
    try:
        Accounts(path).check()
    except BadInput as error:
        told = str(error).replace(str(path), "")
        assert not any(SECRET[begin : begin + 4] in told for begin in range(len(SECRET) - 3))
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            assert told.startswith("the accounts file '' is not TOML (")
            assert "(at " in told


def test_a_password_is_not_shown():
    """By the account's own text."""
    assert SECRET not in repr(Account(login="Nym@tarry", password=SECRET, at=AT))
