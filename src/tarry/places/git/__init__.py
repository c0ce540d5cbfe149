"""Git repositories: pushes to them, and their histories."""

from tarry.core.plugins import Option
from tarry.keep.form import Form, FormField
from tarry.keep.outlet import OutletKind
from tarry.readers.kind import ReaderKind

__all__ = ["OUTLET", "READER"]

OUTLET = OutletKind(
    name="git",
    outlet="tarry.places.git.outlet:Git",
    delivery="exactly once",
    words="a git remote",
    at_home=True,
    what_of=lambda options: f"{options['branch']} to {options['remote']}",
    form=Form(
        fields=(
            FormField(name="repository", required=True),
            FormField(name="remote"),
            FormField(name="branch"),
            FormField(name="redate", kind="switch"),
        ),
        make="tarry.places.git.form:make_post",
    ),
)
READER = ReaderKind(
    name="git",
    summary="a git repository",
    read="tarry.places.git.reader:read_git",
    options=(
        Option(flag="by", metavar="TARGET", help="the target is the repository (default) or the path"),
        Option(flag="clock", metavar="CLOCK", help="the author's (default) or the committer's"),
    ),
    tells_bots=True,
)
