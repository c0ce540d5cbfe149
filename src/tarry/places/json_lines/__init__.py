"""Any file of JSON objects."""

from tarry.core.plugins import Option
from tarry.readers.kind import ReaderKind

__all__ = ["READER"]

READER = ReaderKind(
    name="jsonl",
    summary="any file of JSON objects, with the places of actor, target and time",
    read="tarry.places.json_lines.reader:read_json_lines",
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
