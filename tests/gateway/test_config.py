"""Settings: the environment goes before the file, and whatever is wrong is told in one sentence."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.gateway.config import Config, config_table, read_config
from tarry.gateway.limits import Limits

NUMBERS = [each for each in fields(Config) if each.metadata["kind"] in (int, float)]


@pytest.fixture
def file(tmp_path):
    """Writes a settings file."""

    def write(text):
        path = tmp_path / "gateway.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def refusal(environment, path=None):
    with pytest.raises(BadInput) as caught:
        read_config(environment, path)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_the_environment_goes_before_the_file_and_the_file_before_the_defaults(file):
    path = file('host = "::1"\nport = 1\nburst = 7\nrate_per_s = 5\n')
    config = read_config({"TARRY_PORT": "2", "TARRY_CONFIG": path})

    assert (config.host, config.port, config.burst, config.rate_per_s) == ("::1", 2, 7, 5.0)
    assert config.body_bytes == Config.body_bytes
    assert config.address == "[::1]:2"
    assert read_config({"TARRY_CONFIG": "/nowhere"}, path).port == 1  # what is named goes first


def test_without_anything_all_is_as_documented():
    own = {name: str(Path(getattr(Config, name)).expanduser()) for name in ("database", "key_file")}

    assert read_config({"HOME": str(Path.home()), "TARRY_SMTP": "smtp://localhost"}) == Config(**own)


def test_database_and_key_are_not_in_the_current_folder_nor_together():
    config = read_config({"HOME": "/home/ann", "XDG_STATE_HOME": "/var/state"})

    assert (config.database, config.key_file) == (
        "/var/state/tarry/gateway.db",
        "/home/ann/.config/tarry/gateway.key",
    )


def test_a_database_where_it_lay_before_is_found(tmp_path, monkeypatch):
    """Until 0.3.0, with both names: nobody begins a second store beside the one that waits."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tarry-gateway.db").touch()
    config = read_config({"HOME": "/home/ann"})

    assert (config.database, config.key_file) == ("tarry-gateway.db", "tarry-gateway.key")
    assert read_config({"HOME": "/home/ann", "TARRY_DATABASE": "a.db"}).database == "a.db"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"TARRY_PROT": "1"}, "unknown setting TARRY_PROT: did you mean TARRY_PORT?"),
        ({"TARRY_port": "1"}, "unknown setting TARRY_port: did you mean TARRY_PORT?"),
        (
            {"TARRY_XYZZY": "1"},
            "unknown setting TARRY_XYZZY: use one of docs/operating.md",
        ),
        ({"TARRY_FOO": "1"}, "unknown setting TARRY_FOO: use one of docs/operating.md"),
        ({"TARRY_PAGES": "0"}, "TARRY_PAGES must be one of the words true and false, not '0'"),
        ({"TARRY_PORT": "tcp://10.0.0.1:80"}, "TARRY_PORT must be a whole number, not 'tcp://10.0.0.1:80'"),
        ({"TARRY_PORT": ""}, "TARRY_PORT must be a whole number, not ''"),
        ({"TARRY_PORT": "٣"}, "TARRY_PORT must be a whole number, not '٣'"),
        ({"TARRY_PORT": "70000"}, "TARRY_PORT must be between 0 and 65535, not 70000"),
        ({"TARRY_METRICS_PORT": "-1"}, "TARRY_METRICS_PORT must be between 0 and 65535, not -1"),
        ({"TARRY_RATE_PER_S": "nan"}, "TARRY_RATE_PER_S must be a number, not 'nan'"),
        ({"TARRY_DATABASE": ""}, "TARRY_DATABASE must not be empty"),
    ],
)
def test_a_wrong_variable_gets_one_sentence(environment, sentence):
    assert refusal(environment) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("prot = 1", "unknown setting prot: did you mean port?"),
        ("PORT = 1", "unknown setting PORT"),
        ('port = "1"', "port must be a whole number, not '1'"),
        ("port = true", "port must be a whole number, not True"),
        ("port = 1.0", "port must be a whole number, not 1.0"),
        ("rate_per_s = nan", "rate_per_s must be between 1 and 1000000, not nan"),
        ("host = 1", "host must be text, not 1"),
        ("[limits]\nburst = 1", "unknown setting limits"),
        ("port: 1", "must be TOML ("),
        (b"\xff", "must be UTF-8 text"),
        ("#" * (1 << 20) + "\n", "must have at most 1048576 bytes"),
    ],
)
def test_a_wrong_file_gets_one_sentence(file, text, sentence):
    assert sentence in refusal({}, file(text))


def test_a_file_that_cannot_be_read_is_named():
    told = "the settings file '/nowhere' cannot be read (No such file or directory): name one in --config"
    assert refusal({"TARRY_CONFIG": "/nowhere"}) == told


PASSWORDS = [
    "postgresql://tarry:secret@db/tarry",
    "postgres://tarry:se%40cret@[::1]:5432/tarry",
    "postgresql://tarry:@db,db2/tarry",
    "postgresql://db/tarry?user=tarry&password=secret",
    "postgresql:///tarry?sslpassword=secret",
]


@pytest.mark.parametrize("database", PASSWORDS)
@pytest.mark.parametrize("rights", [0o644, 0o604, 0o602, 0o641])
def test_a_file_with_a_password_that_others_may_read_is_refused(file, database, rights):
    path = file(f'database = "{database}"\n')
    Path(path).chmod(rights)
    told = refusal({"TARRY_DATABASE": "gateway.db"}, path)

    assert told == (
        f"the settings file {path!r} holds a database's password and is open to others (mode {rights:o}): "
        f"chmod o= {path}"
    )
    assert "secret" not in told


@pytest.mark.parametrize("database", PASSWORDS)
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o400])
def test_one_that_is_closed_to_others_is_taken(file, database, rights):
    """A group may read it: service managers hand settings on so."""
    path = file(f'database = "{database}"\n')
    Path(path).chmod(rights)

    assert read_config({}, path).database == database


@pytest.mark.parametrize(
    "database",
    ["gateway.db", "postgresql://tarry@db:5432/tarry", "postgresql:///tarry?host=/run:x", "a:b@c"],
)
def test_a_file_without_a_password_may_be_open(file, database):
    path = file(f'database = "{database}"\n')
    Path(path).chmod(0o644)

    assert read_config({}, path).database == database


@given(st.sampled_from(NUMBERS), st.text(max_size=20) | st.integers().map(str) | st.floats().map(str))
def test_a_number_lies_within_its_bounds_or_is_refused(setting, text):
    """Whatever the environment holds, no setting leaves its bounds and nothing else is raised."""
    try:
        config = read_config({f"TARRY_{setting.name.upper()}": text})
    except BadInput as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - either is right
    else:
        found = getattr(config, setting.name)
        assert type(found) is setting.metadata["kind"]
        assert setting.metadata["least"] <= found <= setting.metadata["most"]
        assert float(found) == float(text)


@given(st.sampled_from(NUMBERS), st.data())
def test_a_number_within_its_bounds_is_taken(setting, data):
    number = data.draw(st.integers(setting.metadata["least"], setting.metadata["most"]))

    assert getattr(read_config({f"TARRY_{setting.name.upper()}": str(number)}), setting.name) == number


def test_what_limits_and_settings_share_is_handed_on():
    config = Config(body_bytes=2048, batch_posts=3, rate_per_s=4.0, burst=5, open_streams=6)

    assert config.limits == Limits(body_bytes=2048, batch_posts=3, rate_per_s=4.0, burst=5, open_streams=6)
    assert Config().limits == Limits()


def test_the_names_of_a_gateway_are_its_hosts_and_where_it_listens():
    config = Config(hosts="Forum.example, forum.test", host="gateway.internal")

    assert config.own_hosts == {"forum.example", "forum.test", "gateway.internal"}
    assert Config().own_hosts == {"127.0.0.1"}


def test_the_page_shows_every_setting():
    """docs/operating.md holds the table that the code makes; if not, paste `config_table()`."""
    page = Path(__file__).resolve().parents[2] / "docs" / "operating.md"

    assert f"\n{config_table()}\n" in page.read_text(encoding="utf-8")
    assert all(each.metadata["meaning"] for each in fields(Config))
