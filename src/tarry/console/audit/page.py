"""The audit page: an operator uploads a history, chooses columns, and sees what `tarry audit` finds."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.console.assets import texts
from tarry.console.audit.choices import HABITS, UNITS, USUAL, read_choices
from tarry.console.audit.jobs import Audits, Job
from tarry.console.audit.process import ChildLimits
from tarry.console.audit.upload import drain, receive
from tarry.console.pages import check_origin, error_page, page, read_form
from tarry.console.sessions import NotSignedIn, Session, check_csrf, signed_in
from tarry.core.errors import BadInput, TarryError
from tarry.gateway.problems import BadRequest, refuse
from tarry.keep.store import moment

__all__ = ["ROUTES", "add_audits", "for_pages"]


_NEEDED = ("polars", "numba", "altair", "vl_convert")
# What the report allows itself, and no more: its style is inside it, and nothing in it runs.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox"
)

_Handler = Callable[[Request, Session], Awaitable[Response]]


class _ResultFile(NamedTuple):
    stored: str
    kind: str
    saved_as: str


_FILES = {
    "report": _ResultFile("report.html", "text/html; charset=utf-8", "tarry-audit.html"),
    "comparison": _ResultFile("comparison.html", "text/html; charset=utf-8", "tarry-comparison.html"),
    "figures": _ResultFile("figures.json", "application/json", "tarry-figures.json"),
    "policy": _ResultFile("policy.toml", "application/toml", "policy.toml"),
}


def add_audits(app: Starlette) -> None:
    """Give an app a place for audits; what a server that crashed has left of them is deleted now.

    >>> from tarry.console.site import ConsoleSettings
    >>> app = Starlette()
    >>> app.state.settings = ConsoleSettings()
    >>> add_audits(app)
    >>> app.state.audits.of("somebody's session")
    []
    """
    settings = app.state.settings
    limits = ChildLimits(seconds=settings.audit_seconds, memory_bytes=settings.audit_memory_bytes)
    app.state.audits = audits = Audits(limits)
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
    """Checks the session first. An error is a page with one sentence and a way back that works."""

    async def endpoint(request: Request) -> Response:
        number = request.path_params.get("job")
        try:
            return await handler(request, signed_in(request))
        except NotSignedIn:
            return RedirectResponse("/desk/sign-in?then=/audit", 303)  # before anything of theirs is read
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
    job = _job_of(request, session)
    return page(request, "audit_job.html", _values(request, session, job))


async def _state(request: Request, session: Session) -> Response:
    """The progress of a job, for a page that stays open."""
    job = _job_of(request, session)
    line, part = _stage_of(job, request.app.state.audits.place(job))
    return JSONResponse({"state": job.state, "line": line, "part": part})


async def _run(request: Request, session: Session) -> Response:
    audits: Audits = request.app.state.audits
    job, fields = _job_of(request, session), await read_form(request)
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
    job, fields = _job_of(request, session), await read_form(request)
    check_csrf(session, fields)
    await asyncio.to_thread(request.app.state.audits.forget, job)
    return RedirectResponse("/audit?deleted", 303)


async def _file(request: Request, session: Session) -> Response:
    """A report to read, or a file to save."""
    job, file = _job_of(request, session), _FILES.get(request.path_params["file"])
    stored = None if file is None or job.state != "done" else job.folder / file.stored
    if file is None or stored is None or not stored.is_file():
        raise BadRequest(404, texts()["audit"]["no_such_file"])
    is_page = file.kind.startswith("text/html")
    headers = {"Content-Security-Policy": _REPORT_POLICY} if is_page else {}
    if not is_page or "save" in request.query_params:
        headers["Content-Disposition"] = f'attachment; filename="{file.saved_as}"'
    content = await asyncio.to_thread(stored.read_bytes)
    return Response(content, media_type=file.kind, headers=headers)


def _job_of(request: Request, session: Session) -> Job:
    audits: Audits = request.app.state.audits
    return audits.find(session.csrf, request.path_params["job"])


def _policies(request: Request, session: Session) -> dict[str, str]:
    """The policies of the spaces that this session looks after."""
    spaces = request.app.state.service.gateway.catalog.spaces.values()
    return {space.name: space.version.text for space in spaces if session.may("operate", space.name)}


def _values(request: Request, session: Session, job: Job) -> dict[str, Any]:
    audits: Audits = request.app.state.audits
    line, part = _stage_of(job, audits.place(job))
    return {
        "session": session,
        "job": job,
        "line": line,
        "part": part,
        "problem": for_pages(job.problem),
        "for_pages": for_pages,
        "expires_at": moment(int(job.expires_at)),
        "form": {**USUAL, **job.look.get("guess", {}), **job.fields},
        "is_first": not job.fields,
        "habits": HABITS,
        "units": UNITS,
        "spaces": _policies(request, session) if job.state == "ready" else {},
        "files": [name for name, file in _FILES.items() if (job.folder / file.stored).is_file()],
    }


def _is_possible() -> bool:
    return all(find_spec(name) is not None for name in _NEEDED)


# --- sentences made of parts ----------------------------------------------------------------------------

_STAGES = ("reading", "measuring", "advising", "comparing", "writing")
_OPTIONS = (
    (re.compile(r" with --(?:actor|target|time) NAME"), ""),
    (re.compile(r"\bgive --time (?!unit)"), "choose "),
    (re.compile(r"--time-unit"), "the unit of times"),
    (re.compile(r" \(--track\)"), ""),
)


def for_pages(sentence: str) -> str:
    """A sentence without the options of a shell, for somebody who has a form.

    >>> for_pages("no column for the actor: name one with --actor NAME")
    'no column for the actor: name one'
    """
    for pattern, instead in _OPTIONS:
        sentence = pattern.sub(instead, sentence)
    return sentence


def _stage_of(job: Job, place: int) -> tuple[str, float | None]:
    """The progress of a job in words, and the part of its step that is done (None: not known)."""
    sentences = texts()["audit"]
    if place:
        return sentences["waiting"].format(place=place), None
    if job.state == "looking":
        return sentences["looking"], None
    stage = job.progress.get("stage", _STAGES[0])
    number = _STAGES.index(stage) + 1
    line = sentences["step"].format(number=number, all=len(_STAGES), what=sentences["stages"][stage])
    done, total = job.progress.get("done"), job.progress.get("all")
    return line, (done / total if done and total else None)


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
