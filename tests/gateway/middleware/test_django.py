"""Held views of a real Django site, under a clock moved by hand."""

import io
import re
import signal
import threading
from urllib.parse import urlencode

import pytest

from gateway.middleware import django_site  # isort: skip - it configures Django, which the rest needs

from django.conf import settings as site_settings
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connections
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.test import Client, RequestFactory

from gateway.middleware.holding import let_out, quick, raw_bytes, wait_until
from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.middleware.django import HoldPostsMiddleware, app_hold, check_order, read_settings
from tarry.keep.errors import Unavailable

PATHS = ["/papers/{paper}/reviews", "/exempt", "/later", "/odd/{how}", "/nowhere"]
CSRF, AUTH, OURS = site_settings.MIDDLEWARE[1:]


@pytest.fixture(scope="module", autouse=True)
def _database(tmp_path_factory):
    connections["default"].settings_dict["NAME"] = str(tmp_path_factory.mktemp("site") / "site.db")
    call_command("migrate", verbosity=0)
    yield
    connections.close_all()


@pytest.fixture
def open_site(tmp_path, monkeypatch):
    """Opens the site, with settings of its own."""

    def open_it(**others):
        told = {**vars(quick(tmp_path / "a", *PATHS)), **others}
        known = ("database", "key_file", "policy", "paths", "clock", "origin", *others)
        monkeypatch.setattr(site_settings, "TARRY", {name.upper(): told[name] for name in known})
        app_hold.cache_clear()
        return app_hold()

    django_site.SEEN.clear()
    yield open_it
    app_hold.cache_clear()
    User.objects.all().delete()
    Group.objects.all().delete()


@pytest.fixture
def site(open_site):
    return open_site()


def visitor(user=None):
    """A browser, signed in or not, that has seen a page with a form; and the token of that form."""
    client = Client(enforce_csrf_checks=True)
    if user is not None:
        client.force_login(user)
    request = RequestFactory().get("/")
    token = get_token(request)
    client.cookies["csrftoken"] = request.META["CSRF_COOKIE"]
    return client, token


def ann():
    return User.objects.create_user("ann")


def receipt_of(answer):
    assert answer.status_code == 202, answer.content
    return {"Tarry-Receipt": answer.json()["receipt"]}


def test_a_post_is_held_and_its_view_called_at_its_release(site):
    user = ann()
    client, token = visitor(user)
    form = {"text": "I agree. é", "csrfmiddlewaretoken": token}
    answer = client.post("/papers/3/reviews?round=2", form)

    assert set(answer.json()) == {"receipt", "state", "release_at", "earliest_at", "latest_at"}
    assert django_site.SEEN == []
    let_out(site)
    (call,) = django_site.SEEN
    assert (call["paper"], call["form"]["text"], call["request"].GET["round"]) == ("3", "I agree. é", "2")
    request = call["request"]
    assert (request.user, request.tarry_user) == (user, str(user.pk))
    assert len(request.tarry_release) == 32
    assert client.get("/_tarry/receipt", headers=receipt_of(answer)).json()["state"] == "released"


def test_a_form_with_files_is_held_whole(site):
    """Django's CSRF check reads such a form, and would leave nothing of it."""
    client, token = visitor(ann())
    file = SimpleUploadedFile("review.txt", bytes(range(256)))
    client.post("/papers/3/reviews", {"csrfmiddlewaretoken": token, "file": file})
    let_out(site)

    assert django_site.SEEN[0]["files"] == {"file": bytes(range(256))}


def test_nothing_of_the_arrival_reaches_the_view(site):
    """The whole environment of a released call: what was sealed, and what is the same for everybody."""
    client, token = visitor(ann())
    telling = {
        "User-Agent": "Netscape/4.0",
        "X-Forwarded-For": "192.0.2.7",
        "X-Request-Id": "req-00017",
        "Referer": "http://testserver/papers/3",
        "Accept-Language": "de-CH",
        "X-CSRFToken": token,
    }
    client.post("/papers/3/reviews", b"hi", content_type="text/plain", headers=telling)
    let_out(site)
    request = django_site.SEEN[0]["request"]

    told = {name: text for name, text in request.environ.items() if name != "wsgi.input"}
    assert told == {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/papers/3/reviews",
        "QUERY_STRING": "",
        "CONTENT_TYPE": "text/plain",
        "CONTENT_LENGTH": "2",
        "SERVER_NAME": "forum.example.org",
        "SERVER_PORT": "443",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "forum.example.org",
        "wsgi.url_scheme": "https",
    }
    assert request.COOKIES == {}
    assert not hasattr(request, "session")


def test_the_language_is_kept_only_where_the_operator_says_so(open_site):
    hold = open_site(keep_language=True)
    client, token = visitor(ann())
    client.post("/papers/3/reviews", headers={"Accept-Language": "de-CH", "X-CSRFToken": token})
    let_out(hold)

    assert django_site.SEEN[0]["request"].headers["Accept-Language"] == "de-CH"


def test_a_site_below_a_folder_makes_its_addresses_there(open_site):
    hold = open_site(origin="https://forum.example.org/talk")
    client, token = visitor(ann())
    client.post("/papers/3/reviews", headers={"X-CSRFToken": token})
    let_out(hold)

    (call,) = django_site.SEEN
    assert call["request"].build_absolute_uri() == "https://forum.example.org/talk/papers/3/reviews"
    assert call["address"] == "/talk/papers/3/reviews"


# --- who may ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/papers/3/reviews", "/exempt", "/later"])
def test_a_post_without_its_token_is_refused_by_django(site, path):
    """A view that is exempt too: it may check by itself, but is not asked before the release."""
    client, token = visitor(ann())

    assert client.post(path).status_code == 403
    assert (
        client.post(path, headers={"X-CSRFToken": token, "Origin": "https://evil.example"}).status_code
        == 403
    )
    assert site.gate.posts() == []
    assert client.post(path, headers={"X-CSRFToken": token}).status_code == 202


def test_without_a_user_a_call_is_refused_or_left_to_the_site(open_site):
    open_site()
    client, token = visitor()
    assert client.post("/papers/3/reviews", headers={"X-CSRFToken": token}).status_code == 401
    open_site(anonymous="pass")
    client, token = visitor()
    assert client.post("/papers/3/reviews", headers={"X-CSRFToken": token}).status_code == 302  # to sign in


def test_other_calls_go_through(site):
    client, token = visitor(ann())
    answers = [client.get("/exempt"), client.get("/odd/204"), client.post("/none")]

    assert [answer.status_code for answer in answers] == [201, 204, 404]
    assert client.post("/nowhere", headers={"X-CSRFToken": token}).status_code == 404
    assert site.gate.posts() == []


@pytest.mark.parametrize("limit", [{}, {"DATA_UPLOAD_MAX_MEMORY_SIZE": 5}])
def test_a_body_that_is_too_large_is_refused(open_site, monkeypatch, limit):
    hold = open_site(most_bytes=10)
    client, token = visitor(ann())

    def post(size):
        body = {"data": b"." * size, "content_type": "text/plain", "headers": {"X-CSRFToken": token}}
        return client.post("/odd/200", **body).status_code

    assert post(10) == 202
    for name, value in limit.items():
        monkeypatch.setattr(site_settings, name, value, raising=False)
    assert post(11 if not limit else 8) == 413
    assert len(hold.gate.posts()) == 1


def test_a_body_that_somebody_else_has_taken_is_told(site):
    request = RequestFactory().post("/odd/200", {"file": SimpleUploadedFile("a", b"b")})
    assert request.POST is not None

    with pytest.raises(NotPossible, match="another middleware has read the body"):
        HoldPostsMiddleware(print)(request)


# --- receipts ---------------------------------------------------------------------------------------


def test_a_receipt_takes_a_call_back(site):
    client, token = visitor(ann())
    mine = receipt_of(client.post("/papers/3/reviews", headers={"X-CSRFToken": token}))

    assert client.delete("/_tarry/receipt", headers=mine).json()["state"] == "withdrawn"
    assert client.delete("/_tarry/receipt", headers=mine).status_code == 409
    assert client.get("/_tarry/receipt").status_code == 404
    assert client.put("/_tarry/receipt", headers=mine).status_code == 405
    let_out(site)
    assert django_site.SEEN == []


def test_a_browser_gets_a_page(site):
    client, token = visitor(ann())
    page = client.post("/papers/3/reviews", headers={"X-CSRFToken": token, "Accept": "text/html"})

    assert (page.status_code, page.headers["Cache-Control"]) == (202, "no-store")
    assert "It will appear at 2026-01-01 00:00:" in page.text


# --- releases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "state", "problem"),
    [
        ("204", "released", None),
        ("302", "released", None),
        ("422", "parked", "the view answered 422"),
        ("500", "parked", "the view answered 500"),
        ("forbids", "parked", "the view raised PermissionDenied"),
        ("raises", "parked", "the view raised LookupError"),
    ],
)
def test_what_a_view_answers_decides(site, caplog, how, state, problem):
    client, token = visitor(ann())
    mine = receipt_of(client.post(f"/odd/{how}", headers={"X-CSRFToken": token}))
    let_out(site)
    told = client.get("/_tarry/receipt", headers=mine).json()

    assert (told["state"], told.get("problem")) == (state, problem)
    if how == "raises":
        assert "the view raised LookupError at middleware/django_site.py:" in caplog.text
        assert "user 17" not in caplog.text
    # A view that raises is rolled back, as ATOMIC_REQUESTS says.
    assert Group.objects.filter(name=how).exists() == (how.isdigit())


def test_an_asynchronous_view_sees_the_user(site):
    client, token = visitor(ann())
    client.post("/later", b"hi", content_type="text/plain", headers={"X-CSRFToken": token})
    let_out(site)

    assert django_site.SEEN == [{"user": "ann", "body": b"hi"}]


@pytest.mark.parametrize("change", [{"is_active": False}, None])
def test_whoever_is_gone_by_then_does_not_act(site, change):
    user = ann()
    client, token = visitor(user)
    mine = receipt_of(client.post("/exempt", headers={"X-CSRFToken": token}))
    User.objects.filter(pk=user.pk).update(**change) if change else user.delete()
    let_out(site)

    told = Client().get("/_tarry/receipt", headers=mine).json()
    assert (told["state"], told["problem"]) == ("parked", "the user of the call is gone, or inactive")
    assert django_site.SEEN == []


def test_the_user_waits_encrypted_and_is_gone_after_the_release(open_site, tmp_path):
    site = open_site(database=tmp_path / "a" / "held.db")
    user = User.objects.create(pk=7_340_912_655_123, username="ann")
    client, token = visitor(user)
    client.post("/exempt", headers={"X-CSRFToken": token})
    assert site.vault.store._mine.connection is None  # a thread that ends leaves none behind
    told = [str(user.pk).encode(), user.pk.to_bytes(6)]

    assert not any(each in raw_bytes(tmp_path / "a") for each in told)
    let_out(site)
    assert django_site.SEEN == [{"user": "ann"}]
    site.vault.store.clear_traces(last=True)
    hashes = [site.vault.keys.actor(str(user.pk)), site.vault.keys.pseudonym(str(user.pk), "/exempt")]
    assert not any(each in raw_bytes(tmp_path / "a") for each in (*told, *hashes))


# --- keepers ----------------------------------------------------------------------------------------


def test_a_keeper_in_a_thread_calls_the_views(site):
    client, token = visitor(ann())
    client.post("/exempt", headers={"X-CSRFToken": token})
    site.start_keeper()
    try:
        wait_until(lambda: django_site.SEEN, meanwhile=lambda: site.settings.clock.sleep(1))
    finally:
        site.stop_keeper()

    assert django_site.SEEN == [{"user": "ann"}]


def test_the_command_keeps_until_nothing_waits(site):
    client, token = visitor(ann())
    client.post("/exempt", headers={"X-CSRFToken": token})
    moving = threading.Event()

    def move():
        while not moving.wait(0.01):
            site.settings.clock.sleep(1)

    clock, handler = threading.Thread(target=move), signal.getsignal(signal.SIGTERM)
    clock.start()
    try:
        call_command("tarry_keeper", "--until-empty", stdout=io.StringIO())
    finally:
        moving.set()
        clock.join()

    assert django_site.SEEN == [{"user": "ann"}]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_signal_ends_the_command(site):
    """Sent again and again: the first may come before the command listens."""
    heard = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: heard.set())
    ended = threading.Event()

    def end():
        while not ended.wait(0.02):
            signal.raise_signal(signal.SIGTERM)

    ender = threading.Thread(target=end)
    ender.start()
    try:
        call_command("tarry_keeper", stdout=io.StringIO())
    finally:
        ended.set()
        ender.join()
        signal.signal(signal.SIGTERM, before)


# --- what it refuses to start with ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("middleware", "sentence"),
    [
        ([AUTH, OURS], "CsrfViewMiddleware must come before"),
        ([AUTH, OURS, CSRF], "CsrfViewMiddleware must come before"),
        ([CSRF, OURS, AUTH], "AuthenticationMiddleware must come before"),
    ],
)
def test_it_does_not_start_before_those_who_check(site, monkeypatch, middleware, sentence):
    monkeypatch.setattr(site_settings, "MIDDLEWARE", middleware)

    with pytest.raises(NotPossible, match=re.escape(sentence)):
        HoldPostsMiddleware(print)


def test_a_kind_of_those_who_check_will_do():
    check_order(
        ["django.contrib.auth.middleware.LoginRequiredMiddleware", AUTH, f"{__name__}.MyCsrf", OURS]
    )
    with pytest.raises(NotPossible):
        check_order([AUTH, f"{__name__}.no_class", OURS])


class MyCsrf(CsrfViewMiddleware):
    """A site's own."""


def no_class(get_response):
    """Middleware may be a function."""
    return get_response


def test_settings_that_are_unknown_or_missing_are_told():
    with pytest.raises(
        BadInput, match="unknown key PATH, path in TARRY: use the fields of HoldSettings, in capitals"
    ):
        read_settings({"PATH": [], "path": []})
    with pytest.raises(BadInput, match="TARRY must have the key DATABASE, KEY_FILE, PATHS"):
        read_settings({"POLICY": "policy.toml"})


def test_a_store_that_is_away_is_told_in_a_sentence(open_site, tmp_path):
    site = open_site(database=tmp_path / "a" / "held.db")
    client, token = visitor(ann())
    (tmp_path / "a" / "held.db").rename(tmp_path / "a" / "gone.db")
    answer = client.post("/exempt", headers={"X-CSRFToken": token})

    assert (answer.status_code, "the store cannot be used" in answer.text) == (503, True)
    with pytest.raises(Unavailable):
        site.gate.posts()


# --- the page of a browser ------------------------------------------------------------------------


def test_a_browser_takes_its_call_back_with_the_form_on_the_page(site):
    client, token = visitor(ann())
    accept = {"Accept": "text/html"}
    form = {"text": "I agree.", "csrfmiddlewaretoken": token}
    page = client.post("/papers/3/reviews", form, headers=accept).content.decode()
    (address,) = re.findall('<form method="post" action="([^"]+)">', page)
    fields = dict(re.findall('<input type="hidden" name="([^"]+)" value="([^"]+)">', page))

    assert set(fields) == {"csrfmiddlewaretoken", "receipt"}
    sent = {"data": urlencode(fields), "content_type": "application/x-www-form-urlencoded"}
    without = {**sent, "data": urlencode({"receipt": fields["receipt"]})}
    assert client.post(address, **without).status_code == 403
    answer = client.post(address, **sent, headers={"Origin": "http://testserver"})
    assert (answer.status_code, "It will not appear." in answer.content.decode()) == (200, True)
    assert client.post(address, **sent).status_code == 409
    assert client.get(address).status_code == 405
    assert client.post(address, {"x": "." * 5000}).status_code == 413
    let_out(site)
    assert django_site.SEEN == []
