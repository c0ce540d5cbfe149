"""Forms with files: however their bytes are cut, the same comes out; what no browser sends is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.console.audit.upload import Part, Parts, plain_name
from tarry.gateway.problems import BadRequest

KIND = "multipart/form-data; boundary=----form7"


def form(*parts: tuple[str, bytes], mark: bytes = b"----form7") -> bytes:
    """A form as browsers write it."""
    told = b"".join(
        b"--"
        + mark
        + b"\r\nContent-Disposition: form-data; "
        + head.encode()
        + b"\r\n\r\n"
        + held
        + b"\r\n"
        for head, held in parts
    )
    return told + b"--" + mark + b"--\r\n"


def taken_apart(chunks) -> list[tuple[Part, bytes]]:
    """Every part, and all that it holds."""
    parts, found = Parts(KIND), []
    for chunk in chunks:
        for each in parts.feed(chunk):
            if isinstance(each, Part):
                found.append((each, b""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + each)
    assert parts.is_whole
    return found


@given(
    held=st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.lists(st.sampled_from([b"\r", b"\n", b"-", b"----form", b"\r\n--", b"7"])).map(b"".join),
        ).filter(lambda held: b"\r\n------form7" not in b"\r\n" + held + b"\r\n"),
        max_size=4,
    ),
    sizes=st.lists(st.integers(1, 40)),
)
def test_a_form_comes_out_the_same_however_it_is_cut(held, sizes):
    told = form(*((f'name="f{n}"', data) for n, data in enumerate(held)))
    chunks, rest = [], told
    for size in sizes:
        chunks, rest = [*chunks, rest[:size]], rest[size:]

    found = taken_apart([*chunks, rest])

    assert found == [(Part(f"f{n}", None), data) for n, data in enumerate(held)]


def test_a_form_comes_out_the_same_byte_by_byte():
    told = form(('name="csrf"', b"ab"), ('name="history"; filename="votes.csv"', b"a,b\r\n1,2\r\n" * 50))

    assert taken_apart(told[n : n + 1] for n in range(len(told))) == [
        (Part("csrf", None), b"ab"),
        (Part("history", "votes.csv"), b"a,b\r\n1,2\r\n" * 50),
    ]


def test_a_file_is_handed_on_and_not_held():
    parts = Parts(KIND)
    list(parts.feed(form(('name="a"; filename="b"', b""))[: -len("\r\n------form7--\r\n")]))
    for _ in range(100):
        list(parts.feed(b"x" * 10_000))

    assert len(parts._held) < 100


def test_what_stands_before_and_after_the_form_means_nothing():
    assert taken_apart([b"hello\r\n", form(('name="a"', b"1")), b"and more"]) == [(Part("a", None), b"1")]


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "text/csv",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 71,
        "multipart/form-data; boundary=a\nb",
    ],
)
def test_what_is_no_such_form_is_refused(kind):
    with pytest.raises(BadRequest) as refused:
        Parts(kind)

    assert refused.value.status == 415


@pytest.mark.parametrize(
    "told",
    [
        b"------form7xx",
        b"------form7\r\nContent-Type: text/csv\r\n\r\nno name\r\n------form7--",
        b"------form7\r\n" + b"x" * 9_000,
        form(*[('name="a"', b"")] * 21),
    ],
    ids=["a mark that goes on", "no name", "a long head", "many parts"],
)
def test_a_form_that_no_browser_sends_is_refused(told):
    with pytest.raises(BadRequest) as refused:
        taken_apart([told])

    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        ("votes.csv", "votes.csv"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("../../x/..", "upload"),
        ("a/", "upload"),
        (".hidden", "hidden"),
        ("-rf.csv", "rf.csv"),
        ("<b>.csv\0", "_b_.csv_"),
        ("Größe 1.parquet", "Gr_e_1.parquet"),
        ("x" * 300 + ".csv.gz", "x" * 53 + ".csv.gz"),
    ],
)
def test_a_name_loses_what_a_path_could_use(given_name, kept):
    assert plain_name(given_name) == kept
