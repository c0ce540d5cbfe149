"""`tarry read` over the network, and with owners: several names of one person are one actor."""

import csv
import json

from places.bitcoin.pretended_node import LOGIN, PretendedNode, out, payment
from places.mediawiki.pretended_wiki import PretendedWiki
from tarry.cli.main import main


def rows(path):
    """What was written."""
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["actor"], row["target"], row["time"]) for row in csv.DictReader(file)]


def test_a_wiki_is_read_with_its_people_by_their_owners(tmp_path, capsys):
    """Two accounts become one actor; the others stay as they are."""
    owners, written = tmp_path / "owners.csv", tmp_path / "edits.csv"
    owners.write_text("name,owner\nAnn,ann\nAnnie,ann\nNobody,ann\n")
    edits = [(number, "Rhine", name, {}) for number, name in enumerate(["Ann", "Bob", "Annie", "Ann"])]
    with PretendedWiki(edits).serve() as server:
        words = ["read", "wiki", server.url, "--owners", str(owners), "-o", str(written), "--json"]
        assert main(words) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["events"], told["actors"], told["owned_events"]) == (4, 2, 3)
    assert [actor for actor, _, _ in rows(written)] == ["ann", "Bob", "ann", "ann"]


def test_revisions_of_a_wiki_are_asked_for_by_options(tmp_path, capsys):
    """Pages, a category, and the span of time."""
    edits = [(second, f"Page {second % 3}", "Ann", {}) for second in range(30)]
    wiki, written = PretendedWiki(edits, members={"Category:Rivers": ["Page 1"]}), tmp_path / "edits.csv"
    with wiki.serve() as server:
        words = [
            "read",
            "wiki",
            server.url,
            "--page",
            "Page 2",
            "--category",
            "Rivers",
        ]
        span = ["--since", "2024-05-01T00:00:10Z", "--until", "2024-05-01T00:00:20Z"]
        assert main([*words, *span, "-o", str(written)]) == 0

    expected = [f"2024-05-01T00:00:{second}Z" for second in (11, 14, 17, 10, 13, 16, 19)]
    assert [moment for _, _, moment in rows(written)] == expected
    assert "is_bot" not in written.read_text()  # revisions do not tell
    assert "7 events by 1 actor, " in capsys.readouterr().out


def test_a_node_is_read_with_the_owners_of_addresses(tmp_path, capsys):
    """The way to know one wallet's addresses as one actor, as a note says."""
    owners, written, cookie = tmp_path / "owners.csv", tmp_path / "paid.csv", tmp_path / ".cookie"
    owners.write_text("name,owner\n1ann,ann\n3ann,ann\n")
    cookie.write_text(":".join(LOGIN))
    block = [
        payment(f"t{place}", [out("old", place, name)], ["bob"])
        for place, name in enumerate(["1ann", "3ann"])
    ]
    with PretendedNode([block]).serve() as server:
        words = ["read", "bitcoin", server.url.removesuffix("api.php"), "--blocks", "0-0"]
        files = ["--cookie", str(cookie), "--owners", str(owners), "-o", str(written)]
        assert main([*words, *files]) == 0

    told = capsys.readouterr()
    assert rows(written) == [("ann", "bob", "2024-05-01T00:00:00Z")] * 2
    assert "give a mapping with --owners" in told.err
    assert "2 of them by names in the file of owners" in told.out


def test_a_file_of_owners_that_is_none_is_refused_before_anybody_is_asked(tmp_path, capsys):
    """Nothing is written either."""
    written = tmp_path / "edits.csv"
    with PretendedWiki([]).serve() as server:
        words = ["read", "wiki", server.url, "--owners", str(tmp_path / "none"), "-o", str(written)]
        assert main(words) == 2

    assert "the file of owners none cannot be read" in capsys.readouterr().err
    assert server.asked == []
    assert not written.exists()
