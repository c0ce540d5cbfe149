"""Edits leave to a real MediaWiki, under each pseudonym's own account: at their ticks, and once."""

from datetime import datetime

from acceptance.at_wiki import EDIT, append, deliver, new_page, outlet_to, write_accounts
from acceptance.batched_run import running_gateway
from acceptance.gateway_process import wait_for
from contracts.held_line import HeldLine
from contracts.real_wiki import Wiki
from tarry.places.mediawiki.reader import read_wiki, read_wiki_dump


def test_batched_edits_pass_a_kill_and_an_outage_once_and_at_their_ticks(own_wiki, tmp_path):
    """Two pairs by two pseudonyms of one person: one in peace; a kill and an outage in the other."""
    base = own_wiki.edit("Owls", "Owls eat mice.")["newrevid"]
    own_wiki.edit("Talk:Bats", "Old talk.")
    posts = [
        wiki_post("nym", "Owls", "Owls eat voles.", action="edit", base_revision=base),
        wiki_post("alter", "Larks", "Larks sing.", action="create"),
        wiki_post("alter", "Talk:Bats", "Bats fly.", action="append", heading="Flight"),
        wiki_post("nym", "Wrens", "Wrens hide.", action="create"),
    ]
    with HeldLine(own_wiki.port) as line:
        accounts = write_accounts(tmp_path)
        outlet = {"kind": "mediawiki", "api": Wiki.address(line.port), "accounts": str(accounts)}
        with running_gateway(tmp_path, line, outlet) as run:
            sent = run.hand_in(posts[:2])
            run.wait_until_released(sent)
            sent += run.suffer(posts[2:], EDIT, own_wiki)
            assert run.parked() == []
    assert run.exact >= 2, "a tick that was missed explains one or two, and not all"

    seen = []
    for number, each in enumerate(sent):
        title, account = each.body["options"]["page"], each.body["options"]["account"]
        run.check_moments(each, title.replace(":", "%3A").encode(), prompt=number < 2)
        made = [revision for revision in own_wiki.history(title) if revision["user"] != "Admin"]
        assert [revision["user"] for revision in made] == [account.title()], "not once, or not by the nym"
        assert seconds(made[0]["timestamp"]) >= int(each.latest), "seen before its tick"
        seen.append((account.title(), title, seconds(made[0]["timestamp"]) * 1_000_000))
    assert own_wiki.text("Owls") == "Owls eat voles."
    assert own_wiki.text("Talk:Bats") == "Old talk.\n\n== Flight ==\n\nBats fly."

    titles = [title for _, title, _ in seen]
    read = [event[:3] for event in read_wiki(own_wiki.api, what="revisions", pages=titles)]
    assert sorted(event for event in read if event[0] != "Admin") == sorted(seen), "the reader differs"


def test_what_was_released_is_found_by_the_readers(wiki, tmp_path):
    """In the recent changes (a wiki lists a change a moment later), the revisions, and a dump."""
    page = new_page(wiki)
    deliver(outlet_to(wiki.port, tmp_path), append(page))
    made = wiki.history(page)[-1]
    expected = ("Nym", page, seconds(made["timestamp"]) * 1_000_000, "0", False)

    wait_for(lambda: expected in set(read_wiki(wiki.api)), "it is among the recent changes", 20)
    assert expected in set(read_wiki(wiki.api, what="revisions", pages=[page]))
    dumped = read_wiki_dump(wiki.dump(tmp_path / "dump.xml"))
    assert expected in set(dumped)
    assert dumped.faults.count == 0


def wiki_post(account, page, text, **options):
    return {"target": page, "content": text, "options": {"account": account, "page": page, **options}}


def seconds(text):
    return int(datetime.fromisoformat(text).timestamp())
