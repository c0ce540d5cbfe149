"""What a script finds, as plain values."""

import json

from tarry.paper.finding import Finding, Table


def test_a_finding_survives_json():
    """Tables go out with their titles and headers; charts stay behind."""
    table = Table(title="two", header=("a", "b"), rows=((1, None), (2.5, "x")))
    found = Finding(name="n", title="t", says=("s",), tables={"one": table})
    read = json.loads(json.dumps(found.as_json()))

    assert read["tables"]["one"] == {"title": "two", "header": ["a", "b"], "rows": [[1, None], [2.5, "x"]]}
    assert table.column("b") == [None, "x"]
