"""A venue at a pretended OpenReview, for tests of the outlet that posts there."""

import json

from contracts.http_receiver import says
from contracts.openreview_server import VENUE, OpenReviewServer, Person
from tarry.places.accounts import Accounts
from tarry.places.openreview.outlet import OpenReview

COMMENT = f"{VENUE}/Submission3/-/Official_Comment"
REVIEW = f"{VENUE}/Submission3/-/Official_Review"
OLD = "an old word"
ANN = Person("s3cret word", "~Ann_Lee1", (f"{VENUE}/Submission3/Reviewer_abcd",))
AT = 1_767_225_660  # of `release_of`
LOGIN, FIND, POST = "POST /login", "GET /notes", "POST /notes/edits"


class ReviewWorld:
    """A venue with one paper, and one of its reviewers."""

    content = "I agree with Reviewer 2.\n\nViele Grüße ☃".encode()

    def __init__(self, folder):
        fields = {"comment", "title", "rating", "keywords"}
        self.api = OpenReviewServer(
            people={"ann@example.org": ANN},
            invitations={COMMENT: fields, REVIEW: fields},
            forums={"paper3"},
        )
        self.file = folder / "accounts.toml"
        self.write_account()
        self.outlet = OpenReview(Accounts(self.file), timeout_s=20)
        self.options = {
            "account": "ann",
            "invitation": COMMENT,
            "signature": ANN.signatures[0],
            "forum": "paper3",
            "readers": ["everyone"],
        }

    def write_account(self, **changes):
        """The accounts file, with one account."""
        told = {"login": "ann@example.org", "password": ANN.password, "at": self.api.url, **changes}
        lines = [f"{name} = {json.dumps(value)}" for name, value in told.items()]
        self.file.touch(mode=0o600)
        self.file.write_text("\n".join(["[ann]", *lines]))

    def sent(self):
        """What was posted and taken, byte for byte: to log in and to look is to deliver nothing."""
        taken = len(self.api.notes)
        return [each.body for each in self.api.asked(POST)][:taken]

    def close(self):
        """Stop the server; whatever it answered was as published."""
        self.api.stop()
        assert self.api.broken == []


class WireWorld(ReviewWorld):
    """The same, with every byte of every request."""

    def sent(self):
        """The port of this world is no part of it."""
        here = self.api.url.removeprefix("http://").encode()
        return [(each.head.replace(here, b"here"), each.body) for each in self.api.received]


def answers(way, status, *headers, **told):
    """The server answers one kind of request otherwise."""
    said = says(status, "Said", *headers, body=json.dumps(told).encode() if told else b"")
    return lambda world: world.api.instead.update({way: lambda file: file.write(said)})
