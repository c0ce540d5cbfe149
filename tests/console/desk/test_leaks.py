"""Nothing on the desk changes at an arrival, nor at a label, an erasure or a release: the hour tells."""

import re

import pytest

from contracts.at_desk import AtDesk
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy

OTHER = Policy(epsilon="1", gap="9m", window="2m", tick="1m")
MINUTES = Policy(epsilon="2", gap="4m", window="2m", tick="1m")
PAGES = ("/desk", "/desk/health", "/desk/promise/talk/1", "/desk/space", "/desk/space/talk", "/audit")


def seen(desk) -> dict[str, tuple[object, ...]]:
    """Every byte that an operator is sent, but for the session's own mark."""
    answers = {path: desk.http.get(path) for path in PAGES}
    return {
        path: (
            answer.status_code,
            sorted(answer.headers.items()),
            re.sub(rb'name="csrf" value="\w+"', b"", answer.content),
        )
        for path, answer in answers.items()
    }


def preview(desk):
    """What a change of policy would cost, as it is shown now."""
    csrf = re.search(r'name="csrf" value="(\w+)"', desk.http.get("/desk/space/talk").text)[1]
    sent = {"csrf": csrf, "act": "preview", "title": "Talk", "policy": write_policy(OTHER)}
    answer = desk.http.post("/desk/space/talk", data=sent)
    assert answer.status_code == 200
    return re.sub(r'name="csrf" value="\w+"', "", answer.text)


@pytest.fixture
def desks():
    """Two gateways, of which one will be quiet; their operators see everything."""
    with (one := AtDesk(policy=MINUTES)).http, (other := AtDesk(policy=MINUTES)).http:
        for desk in (one, other):
            desk.pass_ticks(6, seconds=60)  # the hour before is told by now
            desk.sign_in("admin")
            desk.pages = seen(desk)
        yield one, other


def test_until_the_hour_is_over_no_byte_tells_of_posts(desks):
    """Admitted, labelled, withdrawn, released, charged and erased meanwhile, in minutes of their own."""
    busy, quiet = desks
    for minute in range(6, 60):
        if minute % 3 == 0:
            busy.post("ann", f"p{minute}")
            told = busy.post("ann", f"q{minute}", space="wiki")
            busy.post(f"b{minute}", "p1")
            if minute % 2:
                busy.http.delete("/v1/receipt", headers={"Tarry-Receipt": told["receipt"]})
        for desk in desks:
            assert seen(desk) == desk.pages, minute
            desk.pass_ticks(1, seconds=60)
        if minute % 10 == 0:
            assert preview(busy) == preview(quiet), minute  # it moves with the clock alone
    assert len(busy.http.get("/v1/spaces/talk/feed").json()["items"]) > 20

    for _ in range(10):
        for desk in desks:
            desk.pass_ticks(1, seconds=60)
    assert seen(busy)["/desk"] != seen(quiet)["/desk"]  # what was counted is told now
    told = {line["label"]: line["words"] for line in busy.http.get("/desk/health").json()["lines"]}
    assert told["Accepted"] == "54 posts in the hour from"
    assert told["Ledger"].startswith("1 account is beyond what is promised")
