"""What an installation costs: size, time to install, and time and memory until something is there.

    python benchmarks/install.py [--extra train] [--model nl]

Builds the wheels of discotree and of a model from this checkout, installs the first with all that it needs into a fresh
virtual environment, then the second, and runs commands. The download of other packages is part of the time to install.
Times of commands are the best of --rounds, after one run that is not counted.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
SENTENCE = "Ik heb het hem niet kunnen zeggen."


def run(*command: str) -> float:
    """Run a command in silence and return its seconds."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def best(command: Sequence[str], rounds: int) -> float:
    run(*command)
    return min(run(*command) for _ in range(rounds))


def first_answer(discotree: str, model: str) -> float:
    """Return the seconds from the start of the server to the tree of a sentence."""
    start = time.perf_counter()
    command = [discotree, "serve", "--model", model, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        body = f'{{"text": "{SENTENCE}", "model": "{model}"}}'.encode()
        request = urllib.request.Request(f"{address}/api/parse", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()
        took = time.perf_counter() - start
        server.terminate()
    return took


def megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extra", default="", help="an extra to install as well")
    parser.add_argument("--model", default="nl")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        pip = [sys.executable, "-m", "pip", "--quiet"]
        venv.create(folder / "venv", symlinks=True)
        programs = folder / "venv" / "bin"
        empty = megabytes(folder / "venv")
        for project in (ROOT, ROOT / "models" / options.model):
            run(*pip, "wheel", "--no-deps", "--wheel-dir", str(folder / project.name), str(project))
            (wheel,) = (folder / project.name).glob("*.whl")
            what = f"{wheel}[{options.extra}]" if options.extra and project == ROOT else str(wheel)
            seconds = run(*pip, "--python", str(programs / "python"), "install", *constraints, what)
            sizes = f"{megabytes(folder / 'venv'):,.1f} MB in all, {wheel.name} {wheel.stat().st_size / 1e6:,.1f} MB"
            print(f"installed in {seconds:.1f} s: {sizes}", flush=True)
        print(f"of this, an empty environment: {empty:,.1f} MB")
        discotree = str(programs / "discotree")
        parse = [discotree, "parse", SENTENCE, "--model", options.model, "--to", "discbracket"]
        for name, command in (("--help", [discotree, "--help"]), ("parse, one sentence", parse)):
            print(f"{name:22}{best(command, options.rounds):6.2f} s", flush=True)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if options.extra == "web":
            times = [first_answer(discotree, options.model) for _ in range(options.rounds + 1)]
            print(f"{'serve, first tree':22}{min(times[1:]):6.2f} s")
        print(f"memory of all that ran, pip included: at most {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
