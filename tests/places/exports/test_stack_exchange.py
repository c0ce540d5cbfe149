"""Stack Exchange dumps: rows are read back as events, other files are explained, damage is refused."""

import gzip
from datetime import UTC, datetime
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.errors import BadInput
from tarry.places.exports.stack_exchange import read_stack_exchange
from tarry.readers.events import Event

# Written by hand after the description of the dumps' fields.
HEAD = '\ufeff<?xml version="1.0" encoding="utf-8"?>\n'
DAY = "2024-05-01T"
POSTS = f"""{HEAD}<posts>
  <row Id="4" PostTypeId="1" CreationDate="{DAY}10:00:00.000" Score="3" Body="&lt;p&gt;Why?&lt;/p&gt;" \
OwnerUserId="17" Title="Why?" Tags="|time|" />
  <row Id="9" PostTypeId="2" ParentId="4" CreationDate="{DAY}10:00:07.250" OwnerUserId="18" />
  <row Id="10" PostTypeId="2" ParentId="4" CreationDate="{DAY}10:00:09.003" OwnerDisplayName="user17" />
  <row Id="11" PostTypeId="5" CreationDate="{DAY}10:00:10.000" OwnerUserId="-1" />
  <row Id="12" PostTypeId="1" CreationDate="{DAY}10:00:11.000" />
</posts>
"""
COMMENTS = f"""{HEAD}<comments>
  <row Id="1" PostId="9" Score="0" Text="Because." CreationDate="{DAY}10:00:00.000" UserId="17" />
  <row Id="2" PostId="4" Text="No." CreationDate="{DAY}10:00:01.500" UserDisplayName="17" />
</comments>
"""
EDIT = f'PostId="4" CreationDate="{DAY}10:00:00.000"'
HISTORY = f"""{HEAD}<posthistory>
  <row Id="1" PostHistoryTypeId="2" RevisionGUID="a" {EDIT} UserId="17" />
  <row Id="2" PostHistoryTypeId="1" RevisionGUID="a" {EDIT} UserId="17" />
  <row Id="3" PostHistoryTypeId="3" RevisionGUID="a" {EDIT} UserId="17" />
  <row Id="4" PostHistoryTypeId="5" RevisionGUID="b" {EDIT} UserId="17" />
  <row Id="5" PostHistoryTypeId="10" RevisionGUID="b" {EDIT} UserId="18" />
</posthistory>
"""
AT = 1_714_557_600_000_000  # 2024-05-01 10:00:00 UTC


def put(folder, content, name="Posts.xml"):
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


def refusal(path):
    with pytest.raises(BadInput) as caught:
        list(read_stack_exchange(path))
    return str(caught.value)


def test_posts_are_acts_on_their_question(tmp_path):
    """Answers count for the question, other posts for themselves; the site's own account is a bot."""
    stream = read_stack_exchange(put(tmp_path, POSTS))

    assert list(stream) == [
        Event("17", "4", AT),
        Event("18", "4", AT + 7_250_000),
        Event("name user17", "4", AT + 9_003_000),
        Event("-1", "11", AT + 10_000_000, is_bot=True),
    ]
    assert [str(fault) for fault in stream.faults.first] == ["line 7: actor is missing"]


def test_a_display_name_is_never_taken_for_an_account(tmp_path):
    """Account 17, and somebody without an account who was called 17, are two."""
    events = list(read_stack_exchange(put(tmp_path, COMMENTS)))

    assert events == [Event("17", "9", AT), Event("name 17", "4", AT + 1_500_000)]


def test_rows_of_one_revision_are_one_act(tmp_path):
    """Text, title and tags of a new question; what another did, or another revision, is another act."""
    events = list(read_stack_exchange(put(tmp_path, HISTORY)))

    assert events == [Event("17", "4", AT), Event("17", "4", AT), Event("18", "4", AT)]


@pytest.mark.parametrize(
    ("root", "found"),
    [
        ("votes", "votes (which tell a day, and not who voted)"),
        ("users", "users (who do nothing there)"),
        ("badges", "badges (which are not acts on a post)"),
        ("tags", "tags (which nobody does)"),
        ("postlinks", "links (which do not tell who made them)"),
        ("mediawiki", "<mediawiki>"),
        ("row", "<row>"),
    ],
)
def test_a_file_without_acts_is_explained(root, found, tmp_path):
    """Each by what it lacks."""
    rule = "the dump Posts.xml must be Posts.xml, Comments.xml or PostHistory.xml"

    assert (
        refusal(put(tmp_path, f'{HEAD}<{root}>\n<row Id="1"/></{root}>'))
        == f"{rule}, and has {found} in line 2"
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('Id="1" OwnerUserId="17"', "time is missing"),
        (
            'Id="1" OwnerUserId="17" CreationDate="2024-02-30T10:00:00.000"',
            "time is not a moment: 2024-02-30",
        ),
        ('Id="1" OwnerUserId="17" CreationDate="2024-02-03"', "time is a day without a time of day"),
        ('OwnerUserId="17" CreationDate="2024-05-01T10:00:00.000"', "target is missing"),
        ('Id="1" OwnerUserId="" CreationDate="2024-05-01T10:00:00.000"', "actor is missing"),
    ],
)
def test_a_row_that_is_no_event_is_counted_with_its_line(row, reason, tmp_path):
    """And those around it are read."""
    stream = read_stack_exchange(put(tmp_path, POSTS.replace("<posts>\n", f"<posts>\n<row {row} />\n")))

    assert len(list(stream)) == 4
    assert str(stream.faults.first[0]).startswith(f"line 3: {reason}")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (POSTS[:-12], "must be well-formed XML in UTF-8, and has an end that comes too early in line 7"),
        (POSTS.replace('Score="3"', "Score=3"), "not well-formed (invalid token) in line 3"),
        (
            HEAD + '<!DOCTYPE posts [<!ENTITY a "b">]><posts/>',
            "must not have a DOCTYPE, and has one in line 2",
        ),
        (POSTS.replace("Why", "Où")[1:].encode("latin-1"), "not well-formed (invalid token) in line 3"),
        (gzip.compress(POSTS.encode())[:-20], "must be whole gzip data, and ends too early"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "is a 7z archive: unpack it first, or pipe it: 7z x -so"),
    ],
    ids=["cut off", "no quotes", "entities", "another encoding", "cut off packed", "as it is downloaded"],
)
def test_a_damaged_file_is_refused_with_its_line(content, told, tmp_path):
    """One sentence."""
    assert told in refusal(put(tmp_path, content))


NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), min_size=1, max_size=12)
ROW = st.tuples(
    st.integers(1, 99),
    st.none() | st.integers(1, 99),
    st.none() | st.integers(-1, 99),
    NAME,
    st.integers(0, 4 * 10**12),
)


@given(rows=st.lists(ROW, max_size=8))
def test_what_was_written_is_read_back(rows, tmp_path_factory):
    """Any account or name, question or answer, any millisecond of these years."""
    lines, wanted = ["<posts>"], []
    for number, parent, account, name, at in rows:
        moment = datetime.fromtimestamp(at // 1000, UTC)
        who = f'OwnerUserId="{account}"' if account is not None else f"OwnerDisplayName={quoteattr(name)}"
        answers = "" if parent is None else f'ParentId="{parent}"'
        lines.append(
            f'<row Id="{number}" {answers} {who} CreationDate="{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03}"/>'
        )
        actor = f"name {name}" if account is None else str(account)
        wanted.append(Event(actor, str(parent or number), at * 1000, is_bot=account == -1))
    path = put(tmp_path_factory.mktemp("posts"), "\n".join([*lines, "</posts>"]))

    assert list(read_stack_exchange(path)) == wanted
