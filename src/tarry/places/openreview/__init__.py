"""OpenReview: comments and reviews on it, and those that are there."""

from tarry.core.plugins import Option
from tarry.keep.form import Form, FormField
from tarry.keep.outlet import OutletKind
from tarry.places.accounts import ACCOUNTS
from tarry.readers.kind import ReaderKind

__all__ = ["OUTLET", "READER"]

OUTLET = OutletKind(
    name="openreview",
    outlet="tarry.places.openreview.outlet:OpenReview",
    delivery="exactly once",
    words="OpenReview",
    at_home=True,
    option=Option(
        flag="openreview",
        metavar="URL",
        help="post notes at this OpenReview (its API 2), with --accounts",
        rule="address",
        name="api",
    ),
    options=(ACCOUNTS,),
    what_of=lambda options: f"note on {options['forum']}",
    bound_to=("api",),
    form=Form(
        fields=(
            FormField(name="account", kind="account", required=True),
            FormField(name="forum", required=True),
            FormField(name="invitation", required=True),
            FormField(name="signature", required=True),
            FormField(name="replyto"),
            FormField(name="text", kind="content", required=True),
            FormField(name="field"),
        ),
        make="tarry.places.openreview.form:make_post",
    ),
)
READER = ReaderKind(
    name="openreview",
    summary="the address of an OpenReview API, or a JSON export of its notes",
    read="tarry.places.openreview.reader:read_openreview",
    options=(
        Option(flag="invitation", metavar="ID", help="the notes that answer it"),
        Option(flag="login", metavar="FILE", help="a private file with user:password", rule="login file"),
    ),
    in_files=True,
)
