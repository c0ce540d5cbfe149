"""The webhook: what a real server receives is the release, signed, and nothing else."""

import base64
import hmac
import json
import socket
import ssl
import subprocess
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import HttpReceiver, says
from contracts.keeping import as_long_as
from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.releaser import MOST_ATTEMPTS
from tarry.places.webhook.outlet import Webhook, verify_webhook
from tarry.testing.outlets import SOONEST, OutletCase, OutletKeeping, OutletSuite, opened, release_of

SECRET = bytes(range(32))
LONG_S, SOON_S = 20, 0.3
HOSTILE = 'x\r\nHost: evil.example\r\n\r\nGET / HTTP/1.1\r\nTarry-Id: "}\u2028\x00'


class HookWorld:
    """A server on this machine."""

    content = "Liebe Grüße\r\nAnn".encode()

    def __init__(self, folder):
        self.receiver = HttpReceiver()
        self.options = {"thread": 7, "mood": {"name": "fröhlich"}}
        self.url = f"http://127.0.0.1:{self.receiver.port}/hook?key=1"
        self.outlet = Webhook(self.url, SECRET, space="reviews", timeout_s=LONG_S)

    def sent(self):
        """Every byte of each request; the port of this world is no part of it."""
        here, anywhere = f"127.0.0.1:{self.receiver.port}".encode(), b"127.0.0.1:80"
        return [(each.head.replace(here, anywhere), each.body) for each in self.receiver.received]

    def close(self):
        """Stop the server."""
        self.receiver.stop()


def answers(*answer):
    """The server answers otherwise."""
    return lambda world: setattr(world.receiver, "answer", says(*answer))


class TestWebhook(OutletSuite):
    """The webhook meets the contract of outlets."""

    case = OutletCase(
        world=HookWorld,
        undeliverable=[
            {"big": "x" * 16_384},
            {"nested": ["ü" * 3000]},
            {f"option {number}": 0 for number in range(63)},
            {7: "a number is no name"},
            {"bytes": b""},
            {"nan": float("nan")},
            {"set": {1}},
        ],
        troubles={
            "does not listen": (lambda world: world.receiver.stop(), Unreachable),
            "hangs up": (lambda world: setattr(world.receiver, "answer", b""), Unreachable),
            **{
                f"answers {code}": (answers(code), Unreachable)
                for code in (408, 425, 429, 500, 501, 503, 599)
            },
            **{f"answers {code}": (answers(code), Unreachable) for code in (101, 103, 600, 999)},
            **{f"answers {code}": (answers(code), Refused) for code in (300, 301, 302, 303, 304, 307, 308)},
            **{
                f"answers {code}": (answers(code), Refused)
                for code in (400, 401, 403, 404, 410, 413, 422, 451)
            },
        },
    )


@pytest.fixture
def world(tmp_path):
    """A server and a webhook."""
    with opened(HookWorld, tmp_path / "world") as world:
        yield world


# --- what is sent --------------------------------------------------------------------------------


def test_the_request_is_the_release_and_nothing_else(world):
    """One POST with exactly these headers, none of which is a time, and the release as JSON."""
    world.outlet.deliver(release_of(world, at=Fraction(3_534_451_321, 2)))

    (request,) = world.receiver.received
    assert request.line == "POST /hook?key=1 HTTP/1.1"
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{world.receiver.port}",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(request.body)),
        "User-Agent": "tarry",
        "Connection": "close",
        "Content-Type": "application/json",
        "Tarry-Id": "5a" * 16,
        "Tarry-Signature": f"sha256={hmac.new(SECRET, request.body, 'sha256').hexdigest()}",
    }
    assert json.loads(request.body) == {
        "id": "5a" * 16,
        "space": "reviews",
        "target": "a target",
        "at": "2026-01-01T00:01:00.500000Z",
        "content": "Liebe Grüße\r\nAnn",
        "options": {"thread": 7, "mood": {"name": "fröhlich"}},
    }


JSON = {"content_type": "application/json"}


def test_json_arrives_as_json(world):
    """As in a feed: whoever receives it need not parse twice, nor know of the option."""
    release = release_of(
        world, content='{"note": "é", "score": [3]}'.encode(), options={"mood": "glad"} | JSON
    )
    world.outlet.deliver(release)

    told = json.loads(world.receiver.received[0].body)
    assert (told["content"], told["options"]) == ({"note": "é", "score": [3]}, {"mood": "glad"})


@pytest.mark.parametrize("content", [b"[1", b"1e999", b"[NaN]", b"[" * 100_000, b""])
def test_what_is_said_to_be_json_and_is_not_arrives_as_text(world, content):
    world.outlet.deliver(release_of(world, content=content, options=JSON))

    told = json.loads(world.receiver.received[0].body)
    assert (told["content"], told["options"]) == (content.decode(), JSON)


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
def test_any_answer_of_the_second_hundred_is_success(world, code):
    """What else the server says does not matter."""
    world.receiver.answer = says(code, "Whatever", body=b"" if code == 204 else b"no")

    world.outlet.deliver(release_of(world))

    assert len(world.receiver.received) == 1


def test_every_try_sends_the_same_bytes(world):
    """Through a real releaser: three failures of three kinds and a success, all of them one request."""
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    for answer in (says(503), b"", says(429)):
        world.receiver.answer = answer
        assert keeping.releaser.release() == 0
        assert keeping.status.state == "waiting"
        keeping.tick(10)
        keeping.releaser.sweep()
    world.receiver.answer = says(200)

    assert keeping.releaser.release() == 1
    assert keeping.status.state == "released"
    assert len(world.sent()) == 4
    assert len(set(world.sent())) == 1


@pytest.mark.parametrize(
    ("answer", "sent"),
    [(says(500), True), (says(503), True), (b"", True), (b"no HTTP\r\n", True), (says(429), False)],
    ids=["broken", "overloaded", "no answer", "nonsense", "too many"],
)
def test_whether_it_may_have_arrived_is_told(world, answer, sent):
    """Behind a proxy's answer, or none, the receiver may have it; who has too many has not taken it."""
    world.receiver.answer = answer

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world))
    assert trouble.value.sent is sent


def test_a_receiver_that_is_not_there_has_nothing(world):
    """Nobody listens: it may be changed."""
    world.receiver.stop()

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world))
    assert not trouble.value.sent


def test_a_receiver_that_stays_away_parks_the_post_in_the_end(world):
    """It is tried twelve times, and never dropped."""
    world.receiver.answer = says(500, "Oh no")
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    for _ in as_long_as(lambda: keeping.status.state == "waiting"):
        keeping.releaser.release()
        keeping.clock.sleep(301)
        keeping.releaser.sweep()

    assert len(world.sent()) == MOST_ATTEMPTS
    told = "the webhook answered 500 Internal Server Error; it may have left all the same: look, then"
    assert keeping.status.state == "parked"
    assert keeping.status.problem.startswith(told)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (says(410, "Gone"), "the webhook answered 410 Gone: look why, then retry or withdraw this"),
        (
            says(404, "\x1b[2J\x9bNo\tsuch", body=b"words"),
            "the webhook answered 404 Not Found: look why, then retry or withdraw this",
        ),
        (
            says(302, "Found", "Location: http://elsewhere.example/"),
            "the webhook answered 302 Found: redirects are not followed, give the final address",
        ),
    ],
    ids=["gone", "not found", "redirect"],
)
def test_a_refused_release_is_parked_at_once(world, answer, problem):
    """One try, and a person reads why in one line."""
    world.receiver.answer = answer
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()

    assert keeping.releaser.release() == 0
    assert (keeping.status.state, keeping.status.problem) == ("parked", problem)
    assert len(world.sent()) == 1


def test_a_redirect_is_not_followed(world):
    """Wherever it points, nothing is sent there."""
    with HttpReceiver() as elsewhere:
        for code in (301, 302, 303, 307, 308):
            world.receiver.answer = says(code, "Go", f"Location: http://127.0.0.1:{elsewhere.port}/")
            with pytest.raises(Refused, match="redirects are not followed, give the final address"):
                world.outlet.deliver(release_of(world))

    assert elsewhere.received == []
    assert len(world.receiver.received) == 5


def test_a_server_that_drips_does_not_hold_the_worker(world):
    """A try ends after its timeout, whatever the server does."""

    def drip(file, stopping):
        file.write(b"HTTP/1.1 200 OK")
        for _ in range(300):
            if not stopping.wait(SOON_S / 10):
                file.write(b"!")

    world.receiver.answer = drip
    began = time.monotonic()

    with pytest.raises(Unreachable, match=r"did not answer within 0\.3 seconds"):
        Webhook(world.url, SECRET, timeout_s=SOON_S).deliver(release_of(world))
    assert SOON_S * 0.9 <= time.monotonic() - began < SOON_S + 5


# --- whatever a post holds -----------------------------------------------------------------------

texts = some.text(max_size=50) | some.just(HOSTILE)
json_values = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
options_of_posts = some.dictionaries(
    texts | some.sampled_from(["url", "host", "Host", "headers", "method", "path", "Tarry-Id"]),
    json_values,
    max_size=4,
)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """One world for many examples."""
    with opened(HookWorld, tmp_path_factory.mktemp("lasting") / "world") as world:
        yield world


@given(content=some.binary(max_size=200) | texts.map(str.encode), target=texts, options=options_of_posts)
def test_anything_that_is_posted_arrives_as_it_was(lasting, content, target, options):
    """Content, target and options can be read back from the body, and the head is always the same."""
    lasting.receiver.received.clear()
    lasting.outlet.check(options)
    lasting.outlet.deliver(release_of(lasting, content=content, target=target, options=options))

    (request,) = lasting.receiver.received
    told = json.loads(request.body)
    assert (told["target"], told["options"], told["space"]) == (target, options, "reviews")
    assert content == (
        told["content"].encode() if "content" in told else base64.b64decode(told["content_base64"])
    )
    assert verify_webhook(SECRET, request.body, request.headers["Tarry-Signature"])
    assert request.body.isascii()
    assert head_without_body_marks(request) == (
        "POST /hook?key=1 HTTP/1.1",
        {
            "Host": f"127.0.0.1:{lasting.receiver.port}",
            "Accept-Encoding": "identity",
            "User-Agent": "tarry",
            "Connection": "close",
            "Content-Type": "application/json",
            "Tarry-Id": "5a" * 16,
        },
    )


def head_without_body_marks(request):
    """The head, but for the length of the body and its signature."""
    headers = dict(request.headers)
    assert int(headers.pop("Content-Length")) == len(request.body)
    assert headers.pop("Tarry-Signature").startswith("sha256=")
    return request.line, headers


# --- signatures ----------------------------------------------------------------------------------


@given(body=some.binary(), other=some.binary(), signature=some.text())
def test_only_the_right_signature_is_right(body, other, signature):
    """Of another body, another secret or no secret at all it is wrong, and no text is an error."""
    right = f"sha256={hmac.new(SECRET, body, 'sha256').hexdigest()}"

    assert verify_webhook(SECRET, body, right)
    assert verify_webhook(SECRET, other, right) == (other == body)
    assert not verify_webhook(SECRET[::-1], body, right)
    assert not verify_webhook(SECRET, body, signature)
    assert not verify_webhook(SECRET, body, right.removeprefix("sha256="))
    assert not verify_webhook(SECRET, body, right[:-1])


@given(body=some.binary())
def test_the_secret_may_be_given_as_it_is_printed(body):
    """`tarry space secret` prints hex, and a text is taken for that."""
    signature = f"sha256={hmac.new(SECRET, body, 'sha256').hexdigest()}"

    assert verify_webhook(SECRET.hex(), body, signature)
    assert not verify_webhook(SECRET[::-1].hex(), body, signature)


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes..", None])
def test_a_secret_that_can_be_guessed_is_refused(secret):
    """By the sender and by the receiver: an empty one would let everybody sign."""
    with pytest.raises(BadInput, match="the secret of a webhook must have 16 bytes or more"):
        Webhook("https://forum.example/", secret)
    with pytest.raises(BadInput, match="the secret of a webhook must have 16 bytes or more"):
        verify_webhook(secret, b"{}", "sha256=")


@pytest.mark.parametrize("secret", ["", "0f" * 15, "a text that is long enough"])
def test_a_text_that_is_no_secret_in_hex_is_refused(secret):
    with pytest.raises(BadInput, match="the secret of a webhook must have 16 bytes or more"):
        Webhook("https://forum.example/", secret)
    with pytest.raises(
        BadInput, match=r"the secret of a webhook must (have 16 bytes or more|be bytes or hex)"
    ):
        verify_webhook(secret, b"{}", "sha256=")


def test_a_secret_is_not_shown():
    """Neither by the webhook's own text nor by an error about it."""
    secret = b"fifteen s3cret."
    with pytest.raises(BadInput) as told:
        Webhook("https://forum.example/", secret)

    assert "s3cret" not in str(told.value)
    assert "s3cret" not in repr(Webhook("https://forum.example/", secret * 2))


# --- what an operator gives ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "ftp://forum.example",
        "https://",
        "https://ann:pw@forum.example",
        "https://forum.example/#",
        "https://a\nb",
    ],
)
def test_a_bad_address_is_refused_at_once(url):
    """`tests/net/test_address.py` has them all."""
    with pytest.raises(BadInput, match="the address of a webhook"):
        Webhook(url, SECRET)


@pytest.mark.parametrize("timeout_s", [0, -1, 30.1, float("inf"), float("nan")])
def test_a_try_that_may_take_for_ever_is_refused(timeout_s):
    """A try is given at most half a minute."""
    with pytest.raises(BadInput, match="the timeout of a webhook must be above 0 and at most 30 s"):
        Webhook("https://forum.example/", SECRET, timeout_s=timeout_s)


def test_the_largest_options_are_accepted(world):
    """64 names, and 16 KiB to the byte."""
    world.outlet.check({str(number): 0 for number in range(64)})
    world.outlet.check({"x": "y" * (16_384 - len('{"x": ""}'))})
    with pytest.raises(BadInput, match="must be at most 16384 bytes of JSON, not 16385"):
        world.outlet.check({"x": "y" * (16_385 - len('{"x": ""}'))})


def test_options_that_are_no_object_are_refused(world):
    """A list is none, and neither is an object without a bottom."""
    bottomless = []
    bottomless.append(bottomless)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for options in ([], None, "x", {"a": bottomless}, {"a": deep}):
        with pytest.raises(BadInput, match=r"options (must|cannot) be"):
            world.outlet.check(options)


# --- encryption ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for hooks.example, with its key."""
    folder = tmp_path_factory.mktemp("certificate")
    asked = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key -out certificate -subj /CN=x"
    names = "subjectAltName=DNS:hooks.example"
    subprocess.run([*asked.split(), "-addext", names], check=True, capture_output=True, cwd=folder)
    return folder


@pytest.fixture
def encrypted(certificate, monkeypatch):
    """A server that proves to be hooks.example; every name leads to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate", certificate / "key")
    with HttpReceiver(context) as receiver:
        places = socket.getaddrinfo("127.0.0.1", receiver.port, type=socket.SOCK_STREAM)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)
        yield receiver


def test_the_connection_is_encrypted(encrypted, certificate, world):
    """Below https:// a server that proves its name receives the release."""
    trust = ssl.create_default_context(cafile=certificate / "certificate")
    outlet = Webhook("https://hooks.example/", SECRET, timeout_s=LONG_S, tls=trust)

    outlet.deliver(release_of(world, content=bytes(3_000_000)))

    (request,) = encrypted.received
    assert verify_webhook(SECRET, request.body, request.headers["Tarry-Signature"])
    assert request.headers["Host"] == "hooks.example"


@pytest.mark.parametrize(("host", "trusted"), [("hooks.example", False), ("other.example", True)])
def test_a_server_that_cannot_prove_its_name_gets_nothing(encrypted, certificate, world, host, trusted):
    """A certificate that nobody vouches for, or of another name; it is tried again later."""
    trust = ssl.create_default_context(cafile=certificate / "certificate") if trusted else None
    outlet = Webhook(f"https://{host}/", SECRET, timeout_s=LONG_S, tls=trust)

    with pytest.raises(Unreachable, match="certificate verify failed") as told:
        outlet.deliver(release_of(world))
    assert str(told.value).isprintable()
    assert encrypted.received == []
