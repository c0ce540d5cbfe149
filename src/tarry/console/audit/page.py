"""The audit page: an operator uploads a history, chooses columns, and sees what `tarry audit` finds.

What is chosen goes from a form to the plain values that a child process gets.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarry.console.audit.jobs import Audits, Job
from tarry.console.audit.process import ChildLimits
from tarry.console.audit.samples import ROUTES as SAMPLE_ROUTES
from tarry.console.audit.samples import SAMPLES
from tarry.console.audit.shown import FILES, chosen_policy_file, for_pages, result_values, sent_file
from tarry.console.audit.upload import drain, receive
from tarry.console.pages import check_origin, page, read_form, require, texts
from tarry.console.sessions import NotSignedIn, Session, check_csrf, signed_in
from tarry.core import errors
from tarry.core.exact import parse_duration, parse_number
from tarry.core.policy import Policy
from tarry.core.policy_file import chosen_policy, read_policy, write_policy
from tarry.gateway.http_service import HttpService
from tarry.keep.store import moment

__all__ = ["HABITS", "ROUTES", "UNITS", "USUAL", "add_audits", "read_choices"]


_NEEDED = ("polars", "numba", "altair", "vl_convert")


def add_audits(app: Starlette) -> None:
    """Give an app a place for audits; what a server that crashed has left of them is deleted now.

    >>> from tarry.gateway.app import create_app
    >>> from tarry.gateway.config import Config
    >>> from tarry.gateway.testing import small_gateway
    >>> app = create_app(small_gateway())
    >>> app.state.config = Config()
    >>> add_audits(app)
    >>> app.state.audits.of("somebody's session")
    []
    >>> app.state.service.close()
    """
    config = app.state.config
    app.state.audits = audits = Audits(
        ChildLimits(seconds=config.audit_seconds, memory_bytes=config.audit_memory_bytes)
    )
    app.state.service.closers.append(audits.close)


async def _read(_: HttpService, request: Request) -> Response:
    """The samples for everybody, and beside them what is one's own, or where to sign in."""
    values: dict[str, Any] = {
        "samples": SAMPLES,
        "session": None,
        "is_possible": _is_possible(),
        "most": request.app.state.config.audit_bytes,
        "jobs": [],
        "is_deleted": False,
        "then": "/audit",
        "problem": "",
    }
    with contextlib.suppress(NotSignedIn):
        values["session"] = session = signed_in(request)
        values["jobs"] = request.app.state.audits.of(session.csrf)
        values["is_deleted"] = "deleted" in request.query_params
    return page(request, "audit.html", values)


async def _for_operators(
    handler: Callable[[Request, Session, Audits], Awaitable[Response]], _: HttpService, request: Request
) -> Response:
    """Checks the session first. A form that is refused is read to its end, or its sender sees no answer."""
    try:
        return await handler(request, signed_in(request), request.app.state.audits)
    except NotSignedIn:  # before anything of theirs is read
        raise
    except errors.TarryError:
        if request.method == "POST":
            await drain(request)
        raise


async def _upload(request: Request, session: Session, audits: Audits) -> Response:
    require(_is_possible(), 409, "audit", "needs_study")
    check_origin(request)
    job = audits.new(session.csrf, session.token.id)
    try:
        path = await receive(
            request, job.upload_folder, request.app.state.config.audit_bytes, partial(check_csrf, session)
        )
    except BaseException:
        audits.forget(job)
        raise
    audits.look(job, path)
    return RedirectResponse(f"/audit/jobs/{job.id}", 303)


async def _job(request: Request, session: Session, audits: Audits) -> Response:
    return _job_page(request, session, audits, audits.find(session.csrf, request.path_params["job"]))


async def _state(request: Request, session: Session, audits: Audits) -> Response:
    """The progress of a job, for a page that stays open."""
    job = audits.find(session.csrf, request.path_params["job"])
    line, part = _stage_of(job, audits.place(job))
    return JSONResponse({"state": job.state, "line": line, "part": part})


async def _run(request: Request, session: Session, audits: Audits) -> Response:
    job, fields = await _form_of_job(request, session, audits)
    require(job.state == "ready", 409, "audit", "not_ready")
    columns = [column["name"] for column in job.look.get("columns", ())]
    job.fields = {name: value for name, value in fields.items() if name != "csrf"}
    try:
        audits.run(job, read_choices(fields, columns, _spaces(request, session)))
    except errors.BadInput as error:
        return _job_page(request, session, audits, job, str(error))
    return RedirectResponse(f"/audit/jobs/{job.id}", 303)


async def _delete(request: Request, session: Session, audits: Audits) -> Response:
    job, _ = await _form_of_job(request, session, audits)
    await asyncio.to_thread(audits.forget, job)
    return RedirectResponse("/audit?deleted", 303)


async def _form_of_job(request: Request, session: Session, audits: Audits) -> tuple[Job, Mapping[str, str]]:
    job, fields = audits.find(session.csrf, request.path_params["job"]), await read_form(request)
    check_csrf(session, fields)
    return job, fields


async def _file(request: Request, session: Session, audits: Audits) -> Response:
    """A report to read, or a file to save."""
    job = audits.find(session.csrf, request.path_params["job"])
    if request.path_params["file"] == "policy" and "choice" in request.query_params:
        return chosen_policy_file(request, job.answer)
    name, kind, saved_as = FILES.get(request.path_params["file"], ("", "", ""))
    require(job.state == "done" and (job.folder / name).is_file(), 404, "audit", "no_such_file")
    content = await asyncio.to_thread((job.folder / name).read_bytes)
    return sent_file(request, content, kind, saved_as, f"/audit/jobs/{job.id}")


def _spaces(request: Request, session: Session) -> dict[str, str]:
    """The policies of the spaces that this session looks after."""
    spaces = request.app.state.service.gateway.catalog.spaces.values()
    return {space.name: space.version.text for space in spaces if session.may("operate", space.name)}


def _job_page(request: Request, session: Session, audits: Audits, job: Job, problem: str = "") -> Response:
    """The page of a job; with a problem of the form that was just sent, if there is one."""
    line, part = _stage_of(job, audits.place(job))
    values = {
        "session": session,
        "job": job,
        "line": line,
        "part": part,
        "problem": for_pages(problem or job.problem),
        "for_pages": for_pages,
        "expires_at": moment(int(job.expires_at)),
        "form": {**USUAL, **job.look.get("guess", {}), **job.fields},
        "is_first": not job.fields,
        "habits": HABITS,
        "units": UNITS,
        "spaces": _spaces(request, session) if job.state == "ready" else {},
        "files": [name for name, (stored, _, _) in FILES.items() if (job.folder / stored).is_file()],
    }
    if job.state == "done":
        values |= result_values(request, job.answer, f"/audit/jobs/{job.id}")
        values["may_use"] = session.may("spaces")
    return page(request, "audit_job.html", values, status=422 if problem else 200)


def _is_possible() -> bool:
    return all(find_spec(name) is not None for name in _NEEDED)


# --- how far a job is -----------------------------------------------------------------------------------

_STAGES = ("reading", "measuring", "advising", "comparing", "writing")


def _stage_of(job: Job, place: int) -> tuple[str, float | None]:
    """The progress of a job in words, and the part of its step that is done (None: not known)."""
    sentences = texts()["audit"]
    if place:
        return sentences["waiting"].format(place=place), None
    if job.state == "looking":
        return sentences["looking"], None
    stage = job.progress.get("stage", _STAGES[0])
    line = sentences["step"].format(
        number=_STAGES.index(stage) + 1, all=len(_STAGES), what=sentences["stages"][stage]
    )
    done, total = job.progress.get("done"), job.progress.get("all")
    return line, (done / total if done and total else None)


# --- choices: from a form to plain values ---------------------------------------------------------------

#: Other systems' habits that can be put beside, as `tarry compare --baseline` names them.
HABITS = (
    "hotcrp",
    "rounding:1d",
    "backdated",
    "mix:1h",
    "threshold:100",
    "pool",
    "poisson:1h",
    "jitter:1d",
    "end",
)
UNITS = ("", "s", "ms", "us", "ns", "iso")
#: The form before anybody has changed it.
USUAL = {
    "window": "5m",
    "epsilons": "0.5, 1, 2",
    "cutoffs": "10s, 1m, 5m, 10m, 30m, 1h, 2h",
    "busy": "",
    "unit": "",
    "policies": "",
}
_ROLES = ("actor", "target", "time")
_POLICY_CHOICES = ("epsilon", "gap", "window", "tick", "weight", "labels", "law", "cover", "delta")
_LONGEST_LINE = 200
_EXAMPLE = "write it like epsilon=1, gap=11m"
_MOST = {"cutoffs": 30, "epsilons": 5, "policies": 5}


def read_choices(
    fields: Mapping[str, str], columns: Sequence[str], spaces: Mapping[str, str]
) -> dict[str, Any]:
    """The choices of a form; `spaces` are the policy files that may be compared, by their names.

    >>> fields = {**USUAL, "actor": "user", "target": "page", "time": "at", "policies": "epsilon=1, gap=9m"}
    >>> choices = read_choices(fields, ["user", "page", "at"], {})
    >>> choices["epsilons"], list(choices["policies"])
    (['0.5', '1', '2'], ['epsilon=1, gap=9m'])
    """
    form = {**USUAL, **fields}
    chosen: dict[str, Any] = {role: form.get(role, "") for role in _ROLES}
    for role, name in chosen.items():
        if name not in columns:
            problem = f"the file has no column {name[:40]!r}" if name else "no column is chosen"
            raise errors.BadInput(f"{problem} for the {role}", "choose one of the file's")
    if len({*chosen.values()}) < len(_ROLES):
        columns_chosen = ", ".join(f"{role} = {name[:40]}" for role, name in chosen.items())
        raise errors.BadInput(
            f"actor, target and time must be three different columns, not {columns_chosen}"
        )
    parse_duration(form["window"].strip(), "the window")
    cutoffs, epsilons = (_listed(name, form[name]) for name in ("cutoffs", "epsilons"))
    for text in cutoffs:
        parse_duration(text, "a cutoff")
    for text in epsilons:
        Policy(epsilon=parse_number(text, "epsilon"), gap="1h", window="5m")  # it says what is allowed
    unit = form["unit"]
    errors.require(unit in UNITS, f"unknown unit of times {unit[:20]!r}", "choose s, ms, us, ns or iso")
    busy = form["busy"].strip()
    errors.require(
        not busy or (busy.isascii() and busy.isdecimal() and len(busy) < 10 and int(busy)),
        f"the most events of an actor must be a whole number from 1, not {busy[:20]!r}",
    )
    errors.require(
        not {"without_bots", "with_bots"} <= form.keys(),
        "bots must either be left out or counted, not both",
        "choose one",
    )
    return {
        **chosen,
        "window": form["window"].strip(),
        "cutoffs": cutoffs,
        "is_usual": cutoffs == _listed("cutoffs", USUAL["cutoffs"]),
        "epsilons": epsilons,
        "unit": form["unit"] or None,
        "busy": int(busy) if busy else None,
        "without_bots": True if "without_bots" in form else False if "with_bots" in form else None,
        "collapse": "collapse" in form,
        "habits": [habit for habit in HABITS if f"habit {habit}" in form],
        "policies": _policies(form, spaces),
    }


def _listed(name: str, text: str) -> list[str]:
    values = [part.strip() for part in text.split(",") if part.strip()]
    errors.require(
        1 <= len(values) <= _MOST[name],
        f"{name} must be 1 to {_MOST[name]} values with commas between, not {len(values)}",
    )
    return list(dict.fromkeys(values))


def _policies(form: Mapping[str, str], spaces: Mapping[str, str]) -> dict[str, str]:
    """Policy files by what tables call them: those of spaces, and those written here."""
    files = {f"space {name}": text for name, text in spaces.items() if f"space {name}" in form}
    lines = [line.strip() for line in form["policies"].splitlines() if line.strip()]
    if too_long := next((line for line in lines if len(line) > _LONGEST_LINE), None):
        raise errors.BadInput(f"a policy must have at most {_LONGEST_LINE} characters, not {len(too_long)}")
    errors.require(
        len(lines) <= _MOST["policies"],
        f"the policies to compare must be at most {_MOST['policies']}, not {len(lines)}",
    )
    files |= {line: write_policy(_policy(line)) for line in lines}
    for text in files.values():
        read_policy(text)
    return files


def _policy(line: str) -> Policy:
    """A policy on one line: epsilon=1, gap=11m."""
    chosen: dict[str, str] = {}
    for part in line.split(","):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        errors.require(
            sign and name in _POLICY_CHOICES and name not in chosen,
            f"a policy must choose among {', '.join(_POLICY_CHOICES)}, each once, not {part[:40]!r}",
            _EXAMPLE,
        )
        chosen[name] = value
    for name in ("epsilon", "gap"):
        errors.require(name in chosen, f"the policy {line[:80]!r} has no {name}", _EXAMPLE)
    return chosen_policy(chosen)


ROUTES = [("GET", "/audit", _read), *SAMPLE_ROUTES] + [
    (method, path, partial(_for_operators, handler))
    for method, path, handler in (
        ("POST", "/audit", _upload),
        ("GET", "/audit/jobs/{job}", _job),
        ("GET", "/audit/jobs/{job}/state", _state),
        ("POST", "/audit/jobs/{job}/run", _run),
        ("POST", "/audit/jobs/{job}/delete", _delete),
        ("GET", "/audit/jobs/{job}/{file}", _file),
    )
]
