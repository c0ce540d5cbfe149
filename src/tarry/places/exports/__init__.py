"""Files that sites give, or that their users save: GitHub, Gerrit, Stack Exchange, and any other JSON."""

from tarry.core.plugins import Option
from tarry.readers.kind import ReaderKind

__all__ = ["GERRIT", "GITHUB", "JSON_LINES", "STACK_EXCHANGE"]

GERRIT = ReaderKind(
    name="gerrit",
    summary="a JSON export of Gerrit's changes",
    read="tarry.places.exports.gerrit:read_gerrit",
    options=(
        Option(
            flag="change",
            metavar="ID",
            help="the change of a file that has only comments, as project~number",
        ),
    ),
    in_files=True,
    tells_bots=True,
)
GITHUB = ReaderKind(
    name="github",
    summary="a JSON export of GitHub's reviews and comments",
    read="tarry.places.exports.github:read_github",
    in_files=True,
    tells_bots=True,
)
STACK_EXCHANGE = ReaderKind(
    name="stack-exchange",
    summary="Posts.xml, Comments.xml or PostHistory.xml of a Stack Exchange dump",
    read="tarry.places.exports.stack_exchange:read_stack_exchange",
    in_files=True,
    tells_bots=True,
)
JSON_LINES = ReaderKind(
    name="jsonl",
    summary="any file of JSON objects, with the places of actor, target and time",
    read="tarry.places.exports.json_lines:read_json_lines",
    options=(
        Option(
            flag="actor",
            metavar="WAY",
            help="where the actor stands in an object, such as user.login or {site}/{user.id}",
            required=True,
        ),
        Option(flag="target", metavar="WAY", help="where the target stands", required=True),
        Option(flag="time", metavar="WAY", help="where the time stands", required=True),
        Option(flag="track", metavar="WAY", help="where the track stands, if there are tracks"),
        Option(
            flag="time-unit",
            metavar="UNIT",
            help="of times that are numbers: s, ms, us, ns, or iso for none (else as they look)",
        ),
        Option(flag="utc", help="times without a zone are UTC", rule="switch"),
    ),
    in_files=True,
)
