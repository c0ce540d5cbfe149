"""The OpenAPI page says what the server does: no more, no less."""

import json

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route

from tarry.gateway.app import create_app
from tarry.gateway.operations import OPERATIONS, openapi
from tarry.gateway.problems import _TITLES
from tarry.gateway.testing import small_gateway

LONGEST = 60
WITH_EXAMPLE = [each for each in OPERATIONS if each.takes is not None]


def validator(ref: dict) -> Draft202012Validator:
    """Checks a value against a schema of the page."""
    return Draft202012Validator({**ref, "components": openapi()["components"]})


def given_by(each, status: int) -> Draft202012Validator:
    """Checks an answer."""
    told = openapi()["paths"][each.path][each.method.lower()]["responses"][str(status)]
    ((_, content),) = told["content"].items()
    return validator(content["schema"])


def test_every_route_is_on_the_page_and_every_operation_of_the_page_is_a_route():
    """Method by method."""
    app = create_app(small_gateway())
    routes = {
        (route.path, method)
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods - {"HEAD"}
    }
    app.state.service.close()
    told = {(path, method.upper()) for path, methods in openapi()["paths"].items() for method in methods}

    assert routes == told


def test_every_operation_has_a_name_of_its_own_and_a_sentence():
    """A page is for people."""
    told = [each for methods in openapi()["paths"].values() for each in methods.values()]
    names = [each["operationId"] for each in told]

    assert len(set(names)) == len(names)
    assert all(each["summary"].rstrip().endswith(".") for each in told)


def test_the_page_is_valid_and_the_server_gives_it(site):
    """OpenAPI 3.1, every schema a schema, every reference a reference."""
    page = site.http.get("/openapi.json").json()

    assert page == json.loads(json.dumps(openapi()))
    assert page["openapi"].startswith("3.1")
    for schema in page["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    names = {f"#/components/schemas/{name}" for name in page["components"]["schemas"]}
    assert set(_refs(page)) <= names


def _refs(part):
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _refs(each)


@pytest.mark.parametrize("each", WITH_EXAMPLE, ids=lambda each: each.name)
def test_every_example_fits_its_schema_and_is_accepted(site, each):
    """And the answer fits the schema of answers."""
    if each.name == "choose_delays":
        site.add_space("choice", adoption="opt-out")
    space = "choice" if each.name == "choose_delays" else "talk"
    receipt = {"Tarry-Receipt": site.receipt()} if each.receipt else {}
    path = each.path.format(space=space, post="1")
    answer = site.http.request(each.method, path, json=each.example, headers=receipt)
    body = openapi()["paths"][each.path][each.method.lower()]["requestBody"]["content"]["application/json"]

    assert body["example"] == each.example
    validator(body["schema"]).validate(each.example)
    assert answer.status_code == each.status
    given_by(each, each.status).validate(answer.json())


@pytest.mark.parametrize(
    "each", [each for each in OPERATIONS if each.method == "GET" and each.gives], ids=lambda each: each.name
)
def test_what_can_be_read_fits_its_schema(site, each, broken):
    """Empty, and with something in it."""
    headers = {"Tarry-Receipt": site.receipt(content={"a": 1})}
    path = each.path.format(space="talk")
    for _ in range(2):
        answer = site.http.get(path, headers=headers)
        assert answer.status_code == 200
        given_by(each, 200).validate(answer.json())
        site.pass_ticks(LONGEST)


def test_refusals_fit_the_schema_of_problems(site):
    """All of them are told alike."""
    schema = validator({"$ref": "#/components/schemas/Problem"})
    for path in ("/nowhere", "/v1/receipt", "/v1/spaces/talk/feed?limit=0"):
        schema.validate(site.http.get(path).json())


def test_every_status_on_the_page_has_a_title():
    """No refusal without words."""
    told = {
        int(status)
        for methods in openapi()["paths"].values()
        for each in methods.values()
        for status in each["responses"]
    }

    assert {status for status in told if status >= 400} <= set(_TITLES)


def test_the_page_tells_who_may_do_what():
    """A scope for each token, a receipt where one is needed, nothing where everybody may."""
    for each in OPERATIONS:
        told = openapi()["paths"][each.path][each.method.lower()]
        if each.scope:
            assert told["security"] == [{"token": []}]
            assert each.scope in told["description"]
        elif each.receipt:
            assert told["security"] == [{"receipt": []}]
        else:
            assert "security" not in told


def test_the_page_does_not_change_with_what_is_asked(site):
    """Nor with what has been posted."""
    before = site.http.get("/openapi.json").content
    site.post()

    assert site.http.get("/openapi.json", headers={"Host": "evil.example"}).content == before
