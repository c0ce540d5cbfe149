"""Middleware for a Django site.

    MIDDLEWARE = [..., CsrfViewMiddleware, AuthenticationMiddleware, ...,
                  "tarry.gateway.middleware.django.HoldPostsMiddleware"]
    TARRY = {"DATABASE": ..., "KEY_FILE": ..., "POLICY": ..., "PATHS": ["/threads/{thread}/posts"]}

`TARRY` has the fields of `HoldSettings`, in capitals. The middleware stands behind Django's own CSRF check
and behind who signs people in, best at the very end; it refuses to start anywhere else. A POST to a path
that is held never reaches its view when it comes: Django checks its token, it is sealed, and answered with
202 and a receipt. At its release the view is called as `django_call` tells.

Views are called by `manage.py tarry_keeper` (with "tarry.gateway.middleware.django_app" among the installed
apps), or by a thread of the site itself: `app_hold().start_keeper()`.

The user's id lies in the sealed content until release: see `held`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from typing import Any

from django import conf  # not its settings: whoever looks at them configures them
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from django.http.request import RawPostDataException
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.utils.module_loading import import_string

from tarry.core.errors import BadInput, NotPossible
from tarry.gateway.middleware.answers import (
    MOST_FORM_BYTES,
    RECEIPT_HEADER,
    RECEIPT_PATH,
    WITHDRAW_PATH,
    Answer,
    about_receipt,
    admit,
    refusal,
    withdraw_by_form,
)
from tarry.gateway.middleware.django_call import call_view
from tarry.gateway.middleware.held import HeldCall, Hold
from tarry.gateway.middleware.settings import HoldSettings

__all__ = ["HoldPostsMiddleware", "app_hold", "check_order", "read_settings"]

_OURS = "tarry.gateway.middleware.django.HoldPostsMiddleware"
_BEFORE = (
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)
_WHO = "sign in first: a call is held for somebody"


def read_settings(told: Mapping[str, Any]) -> HoldSettings:
    """The settings of a site.

    >>> places = {"DATABASE": "held.db", "KEY_FILE": "held.key", "POLICY": "policy.toml"}
    >>> read_settings({**places, "PATHS": ["/threads/{thread}/posts"]}).most_bytes
    1048576
    >>> read_settings({**places, "PATH": "/"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: TARRY has the keys of HoldSettings, in capitals, found PATH
    """
    known = {each.name.upper(): each.name for each in fields(HoldSettings)}
    if unknown := set(told) - set(known):
        found = ", ".join(sorted(unknown))
        raise BadInput("TARRY", "has the keys of HoldSettings, in capitals", found=found)
    if missing := {"DATABASE", "KEY_FILE", "POLICY", "PATHS"} - set(told):
        raise BadInput("TARRY", f"has {', '.join(sorted(missing))}", found="no such key")
    return HoldSettings(**{known[name]: value for name, value in told.items()})


def check_order(middleware: Sequence[str]) -> None:
    """Refuse a site whose CSRF check or sign-in does not come before us: nobody would check.

    >>> check_order([_OURS, "django.middleware.csrf.CsrfViewMiddleware"])
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: CsrfViewMiddleware has to come before HoldPostsMiddleware in MIDDLEWARE
    """
    before = list(middleware)[: list(middleware).index(_OURS)] if _OURS in middleware else list(middleware)
    for name in _BEFORE:
        if name not in before and not any(_is_kind_of(other, name) for other in before):
            kind = name.rpartition(".")[2]
            raise NotPossible(f"{kind} has to come before HoldPostsMiddleware in MIDDLEWARE")


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
            return self._ask(partial(about_receipt, self.hold, request.method, secret))
        if request.path_info == WITHDRAW_PATH:
            return self._withdraw(request)
        most = self.hold.settings.most_bytes
        if self._target(request) is not None and (refused := _read(request, most)) is not None:
            return _response(refused)
        return self._get_response(request)

    def process_view(
        self, request: Any, _: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Hold a call, now that Django has checked where it comes from."""
        target = self._target(request)
        if target is None:
            return None
        if not request.user.is_authenticated:
            passes = self.hold.settings.anonymous == "pass"
            return None if passes else _response(refusal(401, _WHO, html=_wants_page(request)))
        # A view that is exempt may check by itself, but is not asked before the release.
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
        if not _wants_page(request):
            return self._ask(partial(admit, self.hold, call, target))
        fields = {"csrfmiddlewaretoken": get_token(request)}
        return self._ask(partial(admit, self.hold, call, target, html=True, fields=fields))

    def _withdraw(self, request: Any) -> Any:
        """For the form on our page: Django checks its token."""
        if (refused := _read(request, MOST_FORM_BYTES)) is not None:
            return _response(refused)
        if (forbidden := self._csrf.process_view(request, _not_exempt, (), {})) is not None:
            return forbidden
        return self._ask(partial(withdraw_by_form, self.hold, request.method, request.body))

    def _ask(self, ask: Callable[[], Answer]) -> Any:
        """Leave no connection behind: a server may have a thread for every request."""
        try:
            return _response(ask())
        finally:
            self.hold.vault.store.close()

    def _target(self, request: Any) -> str | None:
        return self.hold.settings.target_of(request.method, request.path_info)


def _read(request: Any, most: int) -> Answer | None:
    """Read the body before the CSRF check does: of a form with files it would leave nothing behind."""
    html = _wants_page(request)
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
        if length <= most and len(request.body) <= most:
            return None
    except ValueError:
        return refusal(400, "Content-Length is a number", html=html)
    except RequestDataTooBig:
        pass
    except RawPostDataException:
        taken = "another middleware has taken the body of this request: it has to come later"
        raise NotPossible(taken) from None
    return refusal(413, f"a body has at most {most} bytes", html=html)


def _response(answer: Answer) -> Any:
    return HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))


def _wants_page(request: Any) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _not_exempt() -> None:
    """Stands for a view that CSRF checks are made for."""


def _is_kind_of(other: str, name: str) -> bool:
    kind, wanted = import_string(other), import_string(name)
    return isinstance(kind, type) and issubclass(kind, wanted)
