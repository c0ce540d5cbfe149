# ruff: noqa: INP001 - run, and not imported
"""A tiny forum in FastAPI whose posts are held, and appear later.

    python examples/fastapi_forum.py

Sign in, post to two threads, and see both posts appear at moments of their own. In each thread you have
another pseudonym; that one person is behind both is what the delays hide.

It needs FastAPI: `pip install '.[gateway]' fastapi` in a checkout, or the .venv that
`scripts/test --version` makes.
"""

import argparse
import hmac
import secrets
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from tarry import Policy
from tarry.gateway.middleware.asgi import HoldPosts
from tarry.gateway.middleware.held import HoldSettings

THREADS = ("cats", "dogs")
#: Seconds, to be watched. A real forum's are minutes and hours: docs/choosing.md.
POLICY = Policy(epsilon="1", gap="3s", window="1s", tick="0.5s")
SECRET = secrets.token_bytes(32)
POSTS: list[tuple[str, str, str]] = []  # thread, pseudonym, text: in the order of release
PAGE = """<!doctype html><meta charset="utf-8"><title>Forum</title><h1>A forum that tarries</h1>
<form method="post" action="/sign-in"><input name="name" value="{name}"><button>Sign in</button></form>
{threads}"""
THREAD = """<h2>{thread}</h2>{posts}
<form method="post" action="/threads/{thread}/posts"><input name="text"><button>Post</button></form>"""


def signature(*words: str) -> str:
    """Something that only this server can write."""
    return hmac.new(SECRET, "\0".join(words).encode(), "sha256").hexdigest()


def signed_in(request: Request) -> str | None:
    """Who is signed in, by a cookie that this server has signed."""
    name, _, signed = request.cookies.get("user", "").rpartition(".")
    return name if name and hmac.compare_digest(signed, signature("user", name)) else None


async def field(request: Request, name: str) -> str:
    """A field of a form."""
    return parse_qs((await request.body()).decode()).get(name, [""])[0]


def forum() -> FastAPI:
    """The forum as it was before: it knows of `request.state.tarry_user`, and of nothing else of tarry."""
    app = FastAPI()

    @app.get("/", response_class=HTMLResponse)
    async def read(request: Request) -> str:
        threads = ""
        for thread in THREADS:
            mine = [f"<p><b>{who}</b>: {escape(text)}</p>" for where, who, text in POSTS if where == thread]
            threads += THREAD.format(thread=thread, posts="".join(mine))
        return PAGE.format(name=escape(signed_in(request) or ""), threads=threads)

    @app.post("/sign-in")
    async def sign_in(request: Request) -> RedirectResponse:
        name = "".join(filter(str.isalnum, await field(request, "name")))
        answer = RedirectResponse("/", 303)
        answer.set_cookie("user", f"{name}.{signature('user', name)}", httponly=True, samesite="lax")
        return answer

    @app.post("/threads/{thread}/posts")
    async def post(thread: str, request: Request) -> RedirectResponse:
        pseudonym = signature("pseudonym", thread, request.state.tarry_user)[:6]
        POSTS.append((thread, pseudonym, await field(request, "text")))
        return RedirectResponse("/", 303)

    return app


def main() -> None:
    """Serve the forum on this machine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--folder", type=Path, help="where posts wait; a new one each time, unless named")
    arguments = parser.parse_args()
    if arguments.folder:
        serve(arguments.folder, arguments.port)
        return
    with TemporaryDirectory(prefix="forum-") as folder:  # gone at the end, with the key in it
        serve(Path(folder), arguments.port)


def serve(folder: Path, port: int) -> None:
    """Serve it until Ctrl-C; what waits, waits in a folder."""
    settings = HoldSettings(
        database=folder / "held.db",
        key_file=folder / "held.key",  # on a real server: somewhere else
        policy=POLICY,
        paths=["/threads/{thread}/posts"],
        origin=f"http://127.0.0.1:{port}",
    )
    app = HoldPosts(forum(), settings, user=signed_in)
    print(f"A forum at http://127.0.0.1:{port}; its posts wait in {folder}", flush=True)  # noqa: T201 - its address
    # No access log: it would tell who posted when.
    uvicorn.run(app, port=port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
