"""The audit: an operator drops a history, chooses columns, and sees what `tarry audit` finds."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.console.audit_choices import HABITS, UNITS, USUAL, read_choices
from tarry.console.audit_jobs import Audits, Job
from tarry.console.audit_upload import drain, receive
from tarry.console.audit_words import for_pages, stage_words
from tarry.console.forms import check_origin, read_form
from tarry.console.pages import error_page, page
from tarry.console.sessions import NotSignedIn, Session, check_csrf, signed_in
from tarry.console.texts import texts
from tarry.core.errors import BadInput, TarryError
from tarry.gateway.problems import BadRequest, refuse
from tarry.keep.clock import moment

__all__ = ["ROUTES", "add_audits"]

_NEEDED = ("polars", "numba", "altair", "vl_convert")
# What the report allows itself, and no more: its style is inside it, and nothing in it runs.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)

_Handler = Callable[[Request, Session], Awaitable[Response]]


class _File(NamedTuple):
    stored: str
    kind: str
    saved_as: str


_FILES = {
    "report": _File("report.html", "text/html; charset=utf-8", "tarry-audit.html"),
    "comparison": _File("comparison.html", "text/html; charset=utf-8", "tarry-comparison.html"),
    "figures": _File("figures.json", "application/json", "tarry-figures.json"),
    "policy": _File("policy.toml", "application/toml", "policy.toml"),
}


def add_audits(app: Starlette) -> None:
    """Give an app a place for audits; what a server that crashed has left of them is deleted now.

    >>> from tarry.console.settings import ConsoleSettings
    >>> app = Starlette()
    >>> app.state.settings = ConsoleSettings()
    >>> add_audits(app)
    >>> app.state.audits.of("somebody's session")
    []
    """
    app.state.audits = audits = Audits(app.state.settings)
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: Any) -> AsyncIterator[Any]:
        async with inner(running) as state:
            try:
                yield state
            finally:
                await asyncio.to_thread(audits.close)

    app.router.lifespan_context = lifespan


def _for_operators(handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
    """Asks who it is first. Whatever goes wrong is a page with one sentence and a way back that works."""

    async def endpoint(request: Request) -> Response:
        number = request.path_params.get("job")
        try:
            return await handler(request, signed_in(request))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except NotSignedIn:
            return RedirectResponse("/desk/sign-in?then=/audit", 303)  # nothing is read of who is not
        except TarryError as error:
            refusal = refuse(error)
            status, sentence = refusal.status_code, msgspec.json.decode(refusal.body)["detail"]
            back = f"/audit/jobs/{number}" if number and status not in {403, 404} else "/audit"
            answer = error_page(request, status, sentence, back)
        if request.method == "POST":
            await drain(request)
        return answer

    return endpoint


async def _read(request: Request, session: Session) -> Response:
    audits: Audits = request.app.state.audits
    values = {
        "session": session,
        "is_possible": _is_possible(),
        "most": request.app.state.settings.audit_bytes,
        "jobs": audits.of(session.csrf),
        "is_deleted": "deleted" in request.query_params,
    }
    return page(request, "audit.html", values)


async def _upload(request: Request, session: Session) -> Response:
    audits: Audits = request.app.state.audits
    if not _is_possible():
        raise BadRequest(409, texts()["audit"]["needs_study"])
    check_origin(request)
    job = audits.new(session.csrf, session.token.id)
    try:
        path = await receive(
            request,
            audits.upload_folder(job),
            request.app.state.settings.audit_bytes,
            lambda fields: check_csrf(session, fields),
        )
    except BaseException:
        audits.forget(job)
        raise
    audits.look(job, path)
    return RedirectResponse(f"/audit/jobs/{job.id}", 303)


async def _job(request: Request, session: Session) -> Response:
    job = _own(request, session)
    return page(request, "audit_job.html", _values(request, session, job))


async def _state(request: Request, session: Session) -> Response:
    """How far a job is, for a page that stays open."""
    job = _own(request, session)
    line, part = stage_words(job, request.app.state.audits.place(job))
    return JSONResponse({"state": job.state, "line": line, "part": part})


async def _run(request: Request, session: Session) -> Response:
    audits: Audits = request.app.state.audits
    job, fields = _own(request, session), await read_form(request)
    check_csrf(session, fields)
    if job.state != "ready":
        raise BadRequest(409, texts()["audit"]["not_ready"])
    columns = [column["name"] for column in job.look.get("columns", ())]
    job.fields = {name: value for name, value in fields.items() if name != "csrf"}
    try:
        choices = read_choices(fields, columns, _policies(request, session))
    except BadInput as error:
        values = {**_values(request, session, job), "problem": for_pages(str(error))}
        return page(request, "audit_job.html", values, status=422)
    audits.run(job, choices)
    return RedirectResponse(f"/audit/jobs/{job.id}", 303)


async def _delete(request: Request, session: Session) -> Response:
    job, fields = _own(request, session), await read_form(request)
    check_csrf(session, fields)
    await asyncio.to_thread(request.app.state.audits.forget, job)
    return RedirectResponse("/audit?deleted", 303)


async def _file(request: Request, session: Session) -> Response:
    """A report to look at, or anything to take away."""
    job, file = _own(request, session), _FILES.get(request.path_params["file"])
    stored = None if file is None or job.state != "done" else job.folder / file.stored
    if file is None or stored is None or not stored.is_file():
        raise BadRequest(404, texts()["audit"]["no_such_file"])
    is_page = file.kind.startswith("text/html")
    headers = {"Content-Security-Policy": _REPORT_POLICY} if is_page else {}
    if not is_page or "save" in request.query_params:
        headers["Content-Disposition"] = f'attachment; filename="{file.saved_as}"'
    content = await asyncio.to_thread(stored.read_bytes)
    return Response(content, media_type=file.kind, headers=headers)


def _own(request: Request, session: Session) -> Job:
    audits: Audits = request.app.state.audits
    return audits.find(session.csrf, request.path_params["job"])


def _policies(request: Request, session: Session) -> dict[str, str]:
    """The policies of the spaces that this session looks after."""
    spaces = request.app.state.door.gateway.book.spaces.values()
    return {space.name: space.version.text for space in spaces if session.may("operate", space.name)}


def _values(request: Request, session: Session, job: Job) -> dict[str, Any]:
    audits: Audits = request.app.state.audits
    line, part = stage_words(job, audits.place(job))
    return {
        "session": session,
        "job": job,
        "line": line,
        "part": part,
        "problem": for_pages(job.problem),
        "tell": for_pages,
        "expires_at": moment(int(job.expires_at)),
        "given": {**USUAL, **job.look.get("guess", {}), **job.fields},
        "is_first": not job.fields,
        "habits": HABITS,
        "units": UNITS,
        "spaces": _policies(request, session) if job.state == "ready" else {},
        "files": [name for name, file in _FILES.items() if (job.folder / file.stored).is_file()],
    }


def _is_possible() -> bool:
    return all(find_spec(name) is not None for name in _NEEDED)


ROUTES = [
    Route(path, _for_operators(handler), methods=[method])
    for path, method, handler in (
        ("/audit", "GET", _read),
        ("/audit", "POST", _upload),
        ("/audit/jobs/{job}", "GET", _job),
        ("/audit/jobs/{job}/state", "GET", _state),
        ("/audit/jobs/{job}/run", "POST", _run),
        ("/audit/jobs/{job}/delete", "POST", _delete),
        ("/audit/jobs/{job}/{file}", "GET", _file),
    )
]
