# ruff: noqa: INP001 - run, and not imported
"""A tiny forum in Django, in one file, whose posts are held, and appear later.

    python examples/django_forum.py --port 8000

Sign in, post to two threads, and see both posts appear at moments of their own. In each thread you have
another pseudonym; that one person is behind both is what the delays hide. With other words it is the site's
`manage.py`: the keeper may run in a process of its own with `python examples/django_forum.py tarry_keeper`,
if both are told the same --folder.

It needs Django beside tarry: `pip install '.[fast]' django` in a checkout, or the .venv that
`scripts/test --version` makes there.
"""

import argparse
import atexit
import shutil
import sys
from pathlib import Path
from tempfile import mkdtemp

import django
from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_required
from django.core.management import call_command, execute_from_command_line
from django.db import connection, models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import get_token
from django.urls import path
from django.utils.crypto import salted_hmac
from django.utils.html import format_html, format_html_join

from tarry import Policy
from tarry.gateway.middleware.django import app_hold

FLAGS = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
FLAGS.add_argument("--port", type=int, default=8000)
FLAGS.add_argument("--folder", type=Path, help="where posts wait; a new one each time, unless named")
CHOSEN, WORDS = FLAGS.parse_known_args()
FOLDER = CHOSEN.folder or Path(mkdtemp(prefix="forum-"))
if CHOSEN.folder is None:
    atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)  # gone at the end, with the key in it
PORT = str(CHOSEN.port)
THREADS = ("cats", "dogs")
#: Seconds, to be watched. A real forum's are minutes and hours: docs/choosing.md.
POLICY = Policy(epsilon="1", gap="3s", window="1s", tick="0.5s")

settings.configure(
    DEBUG=False,
    SECRET_KEY="an example's, and no secret",  # noqa: S106 - a real site has one of its own
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "forum.db"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "tarry.gateway.middleware.django_app",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "tarry.gateway.middleware.django.HoldPostsMiddleware",
    ],
    # No access log: it would tell who posted when. Ours stays: it tells of calls that nobody could make.
    LOGGING={
        "version": 1,
        "disable_existing_loggers": False,
        "loggers": {"django.server": {"level": "CRITICAL"}},
    },
    TARRY={
        "DATABASE": FOLDER / "held.db",
        "KEY_FILE": FOLDER / "held.key",  # on a real server: somewhere else
        "POLICY": POLICY,
        "PATHS": ["/threads/{thread}/posts"],
        "ORIGIN": f"http://127.0.0.1:{PORT}",
    },
)
django.setup()  # models want it done before them

PAGE = """<!doctype html><meta charset="utf-8"><title>Forum</title><h1>A forum that tarries</h1>
<form method="post" action="/sign-in">{token}<input name="name" value="{name}">
<button>Sign in</button></form>{threads}"""
THREAD = """<h2>{0}</h2>{1}
<form method="post" action="/threads/{0}/posts">{2}<input name="text"><button>Post</button></form>"""


class Post(models.Model):
    """A post. Its number and its time are those of the release, without any change to the forum."""

    thread = models.CharField(max_length=20)
    pseudonym = models.CharField(max_length=6)
    text = models.TextField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """A single file is no app."""

        app_label = "forum"

    def __str__(self) -> str:
        """As it is shown."""
        return f"{self.pseudonym}: {self.text}"


def read(request: HttpRequest) -> HttpResponse:
    """The threads, with a form each."""
    token = format_html('<input type="hidden" name="csrfmiddlewaretoken" value="{}">', get_token(request))
    shown = {
        thread: format_html_join("", "<p>{}</p>", ((post,) for post in Post.objects.filter(thread=thread)))
        for thread in THREADS
    }
    threads = format_html_join("", THREAD, ((thread, posts, token) for thread, posts in shown.items()))
    return HttpResponse(format_html(PAGE, token=token, name=request.user.get_username(), threads=threads))


def sign_in(request: HttpRequest) -> HttpResponse:
    """Anybody is whoever they say: this is an example of something else."""
    name = "".join(filter(str.isalnum, request.POST["name"]))
    login(request, get_user_model().objects.get_or_create(username=name)[0])
    return HttpResponseRedirect("/")


@login_required
def post(request: HttpRequest, thread: str) -> HttpResponse:
    """A view as it was before: it knows nothing of tarry."""
    pseudonym = salted_hmac(thread, str(request.user.pk)).hexdigest()[:6]
    Post.objects.create(thread=thread, pseudonym=pseudonym, text=request.POST["text"])
    return HttpResponseRedirect("/")


urlpatterns = [path("", read), path("sign-in", sign_in), path("threads/<str:thread>/posts", post)]


def main() -> None:
    """Serve the forum on this machine, with a keeper beside it."""
    call_command("migrate", verbosity=0)
    if "forum_post" not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Post)
    print(f"A forum at http://127.0.0.1:{PORT}; its posts wait in {FOLDER}", flush=True)  # noqa: T201 - its address
    app_hold().start_keeper()
    try:
        call_command("runserver", f"127.0.0.1:{PORT}", "--noreload", "--skip-checks")
    finally:
        app_hold().stop_keeper()


if __name__ == "__main__":
    if WORDS:
        execute_from_command_line([sys.argv[0], *WORDS])
    else:
        main()
