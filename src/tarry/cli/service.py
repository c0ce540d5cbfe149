"""The keeper as a user service of systemd."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tarry.cli.show import print_json
from tarry.keep.home import places

__all__ = ["install_service", "remove_service", "service_path", "unit"]

_NAME = "tarry-keeper.service"


def unit(python: str, environment: Mapping[str, str]) -> str:
    """The text of the service, in an environment that says where the store is.

    >>> "keeper" in unit("/usr/bin/python3", {})
    True
    """
    place = "".join(
        f'Environment="{name}={_escaped(value)}"\n' for name, value in places(environment).items()
    )
    return f"""[Unit]
Description=tarry keeper: lets delayed acts out at their time

[Service]
# -P: it starts in the home folder, and no file there is meant to be loaded.
ExecStart="{_escaped(python)}" -P -m tarry keeper
{place}# Always: where one runs in the background this one ends at once, and takes its place later.
Restart=always
RestartSec=5
UMask=0077
# A command that is being run is not cut off with the keeper.
KillMode=mixed
TimeoutStopSec=600

[Install]
WantedBy=default.target
"""


def install_service(*, as_json: bool) -> int:
    """Write the unit and start it; where systemd is not to be had, say what to do."""
    path = service_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unit(sys.executable, os.environ), encoding="utf-8")
    started = _systemctl("daemon-reload") and _systemctl("enable", "--now", _NAME)
    then = "and started it" if started else f"; start it with: systemctl --user enable --now {_NAME}"
    return _tell(f"wrote {path} {then}".replace(" ;", ";"), path, started=started, as_json=as_json)


def remove_service(*, as_json: bool) -> int:
    """Stop it and remove the unit."""
    path = service_path()
    _systemctl("disable", "--now", _NAME)
    path.unlink(missing_ok=True)
    return _tell(f"removed {path}", path, started=False, as_json=as_json)


def service_path() -> Path:
    """Where the unit lies, if it was installed.

    >>> service_path().name
    'tarry-keeper.service'
    """
    config = places(os.environ).get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config, "systemd", "user", _NAME)


def _tell(sentence: str, path: Path, *, started: bool, as_json: bool) -> int:
    if as_json:
        print_json({"unit": str(path), "started": started})
    else:
        print(sentence)
    return 0


def _systemctl(*words: str) -> bool:
    if shutil.which("systemctl") is None:
        return False
    ended = subprocess.run(["systemctl", "--user", *words], capture_output=True, check=False)
    return ended.returncode == 0


def _escaped(text: str) -> str:
    """Inside quotes systemd reads backslashes, quotes and percent signs in its own way."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
