"""Calling a view of a Django site without a server: a request made anew from what was sealed.

The view finds `request.user`, loaded now, `request.tarry_user` (the id) and `request.tarry_release` (a
random id, the same for the same call). The site's middleware is not run: there is no session, no message
store (`messages.success(..., fail_silently=True)`), no language and no address of the arrival.
ATOMIC_REQUESTS holds. Where the user is gone or inactive by now, the call is parked.
"""

from io import BytesIO
from typing import Any
from urllib.parse import SplitResult

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.contrib.auth import get_user_model
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.urls import resolve, set_script_prefix

from tarry.gateway.middleware.held import HeldCall
from tarry.keep.errors import Refused

__all__ = ["call_view", "fresh_environ"]

_PORTS = {"http": 80, "https": 443}
_GONE = "the user of the call is gone, or inactive"


def fresh_environ(address: SplitResult, call: HeldCall) -> dict[str, Any]:
    """The environment of a released call: nothing in it comes from the arrival but what was sealed.

    >>> from urllib.parse import urlsplit
    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17")
    >>> environ = fresh_environ(urlsplit("https://forum.example.org"), call)
    >>> sorted(name for name in environ if name.startswith("HTTP_"))
    ['HTTP_HOST']
    """
    environ = {
        "REQUEST_METHOD": call.method,
        "SCRIPT_NAME": address.path,
        "PATH_INFO": call.path.encode().decode("latin-1"),  # as PEP 3333 has it
        "QUERY_STRING": call.query,
        "CONTENT_TYPE": call.content_type,
        "CONTENT_LENGTH": str(len(call.body)),
        "SERVER_NAME": address.hostname,
        "SERVER_PORT": str(address.port or _PORTS[address.scheme]),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": address.netloc,
        "wsgi.url_scheme": address.scheme,
        "wsgi.input": BytesIO(call.body),
    }
    return {**environ, "HTTP_ACCEPT_LANGUAGE": call.language} if call.language else environ


def call_view(address: SplitResult, call: HeldCall, release: str) -> int:
    """Call a view of the site in this thread, as the user of the call; the status of its answer."""
    close_old_connections()
    try:
        set_script_prefix(f"{address.path}/")
        request = _request(address, call, release)
        match = request.resolver_match = resolve(call.path)
        view = BaseHandler().make_view_atomic(match.func)
        if iscoroutinefunction(view):
            view = async_to_sync(view)
        return int(view(request, *match.args, **match.kwargs).status_code)
    finally:
        close_old_connections()


def _request(address: SplitResult, call: HeldCall, release: str) -> Any:
    request = WSGIRequest(fresh_environ(address, call))
    user = request.user = _user(call.user)

    async def auser() -> Any:  # what asynchronous views ask
        return user

    request.auser, request.tarry_user, request.tarry_release = auser, call.user, release
    request._dont_enforce_csrf_checks = True  # noqa: SLF001 - Django's name; they were made when it came
    return request


def _user(key: str) -> Any:
    user = get_user_model()._default_manager.filter(pk=key).first()  # noqa: SLF001 - documented by Django
    if user is None or not user.is_active:
        raise Refused(_GONE)
    return user
