"""How long the command takes to start, against a bare interpreter, in one run.

python bench/start.py
"""

import subprocess
import sys
from statistics import median

from _measure import arguments, interleaved

PLAN = ["plan", "--epsilon", "1", "--gap", "11m", "--json"]


def run(*words):
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def main():
    rounds = 1 if arguments(__doc__).tiny else 25
    contestants = {
        "python -c pass": lambda: run("-c", "pass"),
        "tarry --help": lambda: run("-m", "tarry", "--help"),
        "tarry plan": lambda: run("-m", "tarry", *PLAN),
        "python -c 'import numpy'": lambda: run("-c", "import numpy"),
    }
    seconds = interleaved(contestants, rounds)
    base = seconds["python -c pass"]
    print(f"{'':<28}{'x python -c pass':>18}")
    for name, times in seconds.items():
        print(f"{name:<28}{median(t / b for t, b in zip(times, base, strict=True)):>18.2f}")
    modules = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tarry", "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    print(f"\ntarry --help imports numpy: {'numpy' in modules}")


if __name__ == "__main__":
    sys.exit(main())
