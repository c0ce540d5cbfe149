"""A Django site for the tests: real settings, real users, a real database in a file.

Importing this configures Django for the whole process; nothing else in the tests uses it.
"""

import django
from django.conf import settings

if not settings.configured:
    settings.configure(
        SECRET_KEY="only for tests",  # noqa: S106 - signs nothing outside of them
        ALLOWED_HOSTS=["testserver", "forum.example.org"],
        ROOT_URLCONF="gateway.middleware.django_site",
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "", "ATOMIC_REQUESTS": True}
        },
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
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        USE_TZ=True,
        TARRY={},
    )
    django.setup()

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

SEEN = []  # what views have been told


@csrf_protect
@login_required
def review(request, paper):
    """A usual view: it reads a form and answers with a redirect."""
    files = {name: file.read() for name, file in request.FILES.items()}
    address = reverse("review", args=[paper])
    told = {"paper": paper, "form": request.POST.dict(), "files": files, "address": address}
    SEEN.append(told | {"request": request})
    return HttpResponseRedirect(address)


@csrf_exempt
def exempt(request):
    """One that checks by itself, as API frameworks do; the name of its user as well."""
    SEEN.append({"user": request.user.get_username()})
    return HttpResponse(status=201)


@transaction.non_atomic_requests  # Django wants that of asynchronous views
@login_required
async def later(request):
    """An asynchronous one."""
    SEEN.append({"user": (await request.auser()).get_username(), "body": request.body})
    return HttpResponse()


def odd(request, how):
    """One that has done half of its work when it fails."""
    Group.objects.create(name=how)
    if how == "forbids":
        raise PermissionDenied("user 17")
    if how == "raises":
        raise LookupError("user 17")
    return HttpResponse(status=int(how))


urlpatterns = [
    path("papers/<str:paper>/reviews", review, name="review"),
    path("exempt", exempt),
    path("later", later),
    path("odd/<str:how>", odd),
]
