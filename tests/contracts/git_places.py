"""Real git repositories: one to work in, and bare ones to push to."""

import os
import subprocess

__all__ = ["Repository", "everything_in", "new_bare"]

#: Long before any release.
LONG_AGO = "1700000000 +0200"


class Repository:
    """A working repository with a remote named origin."""

    def __init__(self, folder, remote):
        self.path, self.home = folder, folder.parent
        self.path.mkdir()
        self("init", "--quiet", "--initial-branch=main")
        self("config", "user.name", "Änn Other")
        self("config", "user.email", "ann@nym.example")
        self("remote", "add", "origin", f"file://{remote}")

    def __call__(self, *words, date=LONG_AGO, stdin=b""):
        """Run git as its owner would; what it prints."""
        told = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_NOSYSTEM": "1"}
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C", **told}
        ran = subprocess.run(
            ["git", *words], cwd=self.path, env=environment, input=stdin, capture_output=True, check=True
        )
        return ran.stdout.decode("utf-8", "replace").strip()

    def commit(self, text, date=LONG_AGO):
        """Commit a file; the name of the commit."""
        (self.path / "file").write_text(text)
        self("add", "file")
        self("commit", "--quiet", "-m", f"Say {text}", date=date)
        return self.at("HEAD")

    def at(self, name):
        """What a name stands for."""
        return self("rev-parse", "--verify", name)

    def log(self, what, shown="%s|%an <%ae> %ad|%cn <%ce> %cd"):
        """The history of something, newest first."""
        return self("log", "--topo-order", f"--format={shown}", "--date=raw", what).splitlines()


def new_bare(folder):
    """An empty repository that can be pushed to."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", folder], check=True)
    return folder


def everything_in(bare):
    """Every branch and every object of a repository, sorted."""
    ask = ["git", "-C", bare]
    refs = subprocess.run([*ask, "for-each-ref"], check=True, capture_output=True).stdout
    batch = ["cat-file", "--batch-all-objects", "--batch"]
    objects = subprocess.run([*ask, *batch], check=True, capture_output=True).stdout
    return [part for part in (refs, objects) if part]
