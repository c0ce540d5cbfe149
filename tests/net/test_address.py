"""Addresses of servers: what can be none is refused before anything is sent."""

import pytest

from tarry.core.errors import BadInput
from tarry.net.address import Address, read_address


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("http://forum.example", (False, "forum.example", 80, "/")),
        ("HTTPS://Forum.Example/", (True, "forum.example", 443, "/")),
        ("https://forum.example:8443/a/b?c=d&e", (True, "forum.example", 8443, "/a/b?c=d&e")),
        ("http://forum.example?c=%20d", (False, "forum.example", 80, "/?c=%20d")),
        ("http://forum.example//a", (False, "forum.example", 80, "//a")),
        ("http://127.0.0.1:80/@x", (False, "127.0.0.1", 80, "/@x")),
        ("http://[2001:db8::1]:81/", (False, "2001:db8::1", 81, "/")),
        ("http://my_host-1.internal.", (False, "my_host-1.internal.", 80, "/")),
    ],
)
def test_an_address_is_read(url, read):
    """The URL tells where to connect and what to ask for."""
    tls, host, port, path = read

    assert read_address(url) == Address(tls=tls, host=host, port=port, path=path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "forum.example",
        "//forum.example/",
        "ftp://forum.example/",
        "file:///etc/passwd",
        "http:///path",
        "http://",
        "http://:80/",
        "http://forum.example:0/",
        "http://forum.example:65536/",
        "http://forum.example:http/",
        "http://user@forum.example/",
        "http://user:password@forum.example/",
        "http://user:pass/word@forum.example/",
        "http://@forum.example/",
        "http://good.example\\@forum.example/",
        "http://forum.example/#",
        "http://forum.example/#top",
        "http://forum.example/a b",
        " http://forum.example/",
        "http://forum.example/\r\nHost: evil.example",
        "http://forum.exa\tmple/",
        "http://forum.example/\x00",
        "http://forum.example/ü",
        "http://bücher.example/",
        "http://a..b/",
        "http://-a.example/",
        "http://a%2fb/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 127}example/",
        "http://[::1/",
        "http://[forum.example]/",
        "http://[fe80::1%25eth0]/",
        "http://[::1]x/",
        "http://x[::1]/",
    ],
)
def test_what_is_no_address_is_refused(url):
    """With one sentence that shows no password."""
    with pytest.raises(BadInput, match=r"^the address ") as told:
        read_address(url)
    assert "pass" not in str(told.value).removesuffix("must hold no user or password: leave them out")
    assert str(told.value).isprintable()
