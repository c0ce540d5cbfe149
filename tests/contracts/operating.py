"""An operator at a shell: the commands of a gateway, run here or as processes of their own."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

from tarry.cli.main import main
from tarry.gateway.database import open_store

__all__ = ["FAST", "SLOW", "Operator"]

#: Slow enough that nothing leaves during a test.
SLOW = 'epsilon = 1\ngap = "1h"\nwindow = "10m"\ntick = "1m"\n'
#: Everything leaves within a second.
FAST = 'epsilon = 6\ngap = "0.4s"\nwindow = "0.2s"\ntick = "0.1s"\n'
DEADLINE_S = 60


class Operator:
    """Works in a folder of its own, on a database of its own; the environment says where."""

    def __init__(self, folder, database, capsys):
        self.folder, self.database, self._capsys = folder, database, capsys
        self.key = folder / "key"
        self._processes = []

    def file(self, name, text):
        """A file in the folder."""
        path = Path(self.folder, name)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def say(self, *words):
        """Run a command here: its exit code and what it printed."""
        code = main([str(word) for word in words])
        out, err = self._capsys.readouterr()
        return code, out, err

    def ask(self, *words):
        """The answer of a command that does what it is told, as JSON."""
        code, out, err = self.say(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    def tell(self, *words):
        """The answer of a command that does what it is told, for people."""
        code, out, err = self.say(*words)
        assert (code, err) == (0, "")
        return out

    def refusal(self, *words):
        """The one sentence of a command that does nothing."""
        code, out, err = self.say(*words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        return err.strip()

    def add_space(self, name="talk", policy=SLOW, *words):
        """A new space."""
        return self.ask("space", "add", name, "--policy", self.file(f"{name}.toml", policy), *words)

    def look(self, question):
        """What the database answers."""
        store = open_store(self.database)
        try:
            with store.transaction("reading") as transaction:
                return question(transaction)
        finally:
            store.close()

    def change(self, do):
        """One change of the database, in a transaction that is alone."""
        store = open_store(self.database)
        try:
            with store.transaction("closing") as transaction:
                do(transaction)
        finally:
            store.close()

    def process(self, *words):
        """A command in a process of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tarry", *words],
            env=dict(os.environ),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def end(self):
        """End what a test has left running."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=DEADLINE_S)

    @staticmethod
    def call(address, token=None, body=None):
        """One HTTP request; the JSON of its answer."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, headers)  # noqa: S310 - our own server
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:  # noqa: S310 - likewise
            return json.load(answer)
