"""Middleware for a Django site.

    MIDDLEWARE = [..., CsrfViewMiddleware, AuthenticationMiddleware, ...,
                  "tarry.gateway.middleware.django.HoldPostsMiddleware"]
    TARRY = {"DATABASE": ..., "KEY_FILE": ..., "POLICY": ..., "PATHS": ["/threads/{thread}/posts"]}

`TARRY` has the fields of `HoldSettings`, in capitals. The middleware stands behind Django's own CSRF check
and its sign-in, best at the very end; it refuses to start anywhere else. A POST to a held path never
reaches its view when it arrives: Django checks its token, it is sealed, and answered with 202 and
a receipt.

At its release the view is called. It has `request.user`, loaded now, `request.tarry_user` (the id) and
`request.tarry_release` (a random id, the same for the same call). The site's middleware is not run: there
is no session, no message store (`messages.success(..., fail_silently=True)`), no language and no address of
the arrival. ATOMIC_REQUESTS applies. Where the user is gone or inactive by now, the call is parked.

Views are called by `manage.py tarry_keeper` (with "tarry.gateway.middleware.django_app" among the installed
apps), or by a thread of the site itself: `app_hold().start_keeper()`.

The user's id lies in the sealed content until release: see `held`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from io import BytesIO
from typing import Any
from urllib.parse import SplitResult

from asgiref.sync import async_to_sync, iscoroutinefunction
from django import conf  # not its settings: reading them configures them
from django.contrib.auth import get_user_model
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.http import HttpResponse
from django.http.request import RawPostDataException
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.urls import resolve, set_script_prefix
from django.utils.module_loading import import_string

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.middleware.answers import (
    MOST_FORM_BYTES,
    RECEIPT_HEADER,
    RECEIPT_PATH,
    SIGN_IN,
    WITHDRAW_PATH,
    HeldAnswer,
    about_receipt,
    admit,
    refusal,
    withdraw_by_form,
)
from tarry.gateway.middleware.held import PORTS, HeldCall, Hold, HoldSettings
from tarry.keep.errors import Refused

__all__ = ["HoldPostsMiddleware", "app_hold", "call_view", "check_order", "fresh_environ", "read_settings"]

_OURS = "tarry.gateway.middleware.django.HoldPostsMiddleware"
_BEFORE = (
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)


def read_settings(values: Mapping[str, Any]) -> HoldSettings:
    """The settings of a site.

    >>> places = {"DATABASE": "held.db", "KEY_FILE": "held.key", "POLICY": "policy.toml"}
    >>> read_settings({**places, "PATHS": ["/threads/{thread}/posts"]}).most_bytes
    1048576
    >>> read_settings({**places, "PATH": "/"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown key PATH in TARRY: use the fields of HoldSettings, in capitals
    """
    known = {each.name.upper(): each.name for each in fields(HoldSettings)}
    if unknown := ", ".join(sorted(set(values) - set(known))):
        raise BadInput(f"unknown key {unknown} in TARRY", "use the fields of HoldSettings, in capitals")
    if missing := ", ".join(sorted({"DATABASE", "KEY_FILE", "POLICY", "PATHS"} - set(values))):
        raise BadInput(f"TARRY must have the key {missing}")
    return HoldSettings(**{known[name]: value for name, value in values.items()})


def check_order(middleware: Sequence[str]) -> None:
    """Refuse a site whose CSRF check or sign-in does not come before us: nobody would check.

    >>> check_order([_OURS, "django.middleware.csrf.CsrfViewMiddleware"])
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: CsrfViewMiddleware must come before HoldPostsMiddleware in MIDDLEWARE
    """
    before = list(middleware)[: list(middleware).index(_OURS)] if _OURS in middleware else list(middleware)
    for name in _BEFORE:
        if name not in before and not any(_is_kind_of(other, name) for other in before):
            raise NotPossible(
                f"{name.rpartition('.')[2]} must come before HoldPostsMiddleware in MIDDLEWARE"
            )


@cache
def app_hold() -> Hold:
    """The held calls of this site, made once for all of its middleware and keepers in this process."""
    settings = read_settings(conf.settings.TARRY)
    return Hold(settings, partial(call_view, settings.address))


class HoldPostsMiddleware:
    """Holds the calls of a site.

    >>> HoldPostsMiddleware.async_capable  # Django runs it in a thread where a site is asynchronous
    False
    """

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        check_order(conf.settings.MIDDLEWARE)
        self._get_response, self.hold = get_response, app_hold()
        self._csrf = CsrfViewMiddleware(get_response)

    def __call__(self, request: Any) -> Any:
        """Let everything through; what is held stops at `process_view`, behind Django's CSRF check."""
        if request.path_info == RECEIPT_PATH:
            secret = request.headers.get(RECEIPT_HEADER)
            return self._respond(partial(about_receipt, self.hold, request.method, secret))
        if request.path_info == WITHDRAW_PATH:
            return self._withdraw(request)
        refused = None if self._target(request) is None else _read(request, self.hold.settings.most_bytes)
        return self._get_response(request) if refused is None else _response(refused)

    def process_view(
        self, request: Any, _: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Hold a call, now that Django has checked where it comes from."""
        target = self._target(request)
        if target is None:
            return None
        if not request.user.is_authenticated:
            passes = self.hold.settings.anonymous == "pass"
            return None if passes else _response(refusal(401, SIGN_IN, html=_wants_page(request)))
        # A view that is exempt may check by itself, but is not called before the release.
        if (forbidden := self._csrf.process_view(request, _not_exempt, args, kwargs)) is not None:
            return forbidden
        call = HeldCall(
            method=request.method,
            path=request.path_info,
            query=request.META.get("QUERY_STRING", ""),
            content_type=request.META.get("CONTENT_TYPE", ""),
            body=request.body,
            user=str(request.user.pk),
            language=request.headers.get("Accept-Language", "") if self.hold.settings.keep_language else "",
        )
        html = _wants_page(request)
        fields = {"csrfmiddlewaretoken": get_token(request)} if html else None
        return self._respond(partial(admit, self.hold, call, target, html=html, fields=fields))

    def _withdraw(self, request: Any) -> Any:
        """For the form on our page: Django checks its token."""
        if (refused := _read(request, MOST_FORM_BYTES)) is not None:
            return _response(refused)
        if (forbidden := self._csrf.process_view(request, _not_exempt, (), {})) is not None:
            return forbidden
        return self._respond(partial(withdraw_by_form, self.hold, request.method, request.body))

    def _respond(self, step: Callable[[], HeldAnswer]) -> Any:
        """Leave no connection behind: a server may have a thread for every request."""
        try:
            return _response(step())
        finally:
            self.hold.vault.store.close()

    def _target(self, request: Any) -> str | None:
        return self.hold.settings.target_of(request.method, request.path_info)


def _read(request: Any, most: int) -> HeldAnswer | None:
    """Read the body before the CSRF check does: of a form with files it would leave nothing behind."""
    html = _wants_page(request)
    try:
        if int(request.META.get("CONTENT_LENGTH") or 0) <= most and len(request.body) <= most:
            return None
    except ValueError:
        return refusal(400, "Content-Length must be a number", html=html)
    except RequestDataTooBig:
        pass
    except RawPostDataException:
        raise NotPossible(
            "another middleware has read the body of this request: put it behind HoldPostsMiddleware"
        ) from None
    return refusal(413, f"a body must have at most {most} bytes", html=html)


def _response(answer: HeldAnswer) -> Any:
    return HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))


def _wants_page(request: Any) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _not_exempt() -> None:
    """Stands for a view that CSRF checks are made for."""


def _is_kind_of(other: str, name: str) -> bool:
    kind, base = import_string(other), import_string(name)
    return isinstance(kind, type) and issubclass(kind, base)


# --- calling a view without a server: a request made anew from what was sealed ---------------------


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
        "SERVER_PORT": str(address.port or PORTS[address.scheme]),
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
        raise Refused("the user of the call is gone, or inactive")
    return user
