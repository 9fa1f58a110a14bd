"""`discotree parse FILE` on two cores and on all of them: speed, the first sentence, and the memory of all processes.

    python benchmarks/cores.py TEXT [--model nl] [--few 5000] [--many 60000] [--workers 0 8]

TEXT has a sentence of tokens on each line. Its sentences are shuffled and repeated until there are enough: --few for
two cores, --many for all. Prints JSON for each run. The rate is that of all sentences after the first tenth; memory is
the resident memory of the command and the mean PSS of its workers, each in the first and in the last tenth. The last
line has the rates as a share of perfect scaling: the rate of two cores, times half of the number of cores.
"""

import argparse
import bz2
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def pages(process: int | str, kind: str) -> float:
    """Return the resident memory (Rss) of a process in MiB, or its proportional share of it (Pss)."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return int(line.split()[1]) / 1024
    return 0.0


def memory(process: int) -> dict[str, Any]:
    try:
        workers = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        shares = [pages(worker, "Pss") for worker in workers]
        mean = round(sum(shares) / len(shares)) if shares else 0
        return {"command_rss_mib": round(pages(process, "Rss")), "workers": len(workers), "worker_pss_mib": mean}
    except (OSError, ValueError):  # a process has just ended
        return {}


def measure(source: Path, sentences: int, cores: list[int], arguments: list[str]) -> dict[str, Any]:
    """Run the command on some cores; its output is read as it comes."""
    command = [sys.executable, "-m", "discotree", "parse", str(source), "--from", "tokens", "--to", "discbracket"]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cores)
    )
    assert process.stdout is not None
    lines, first, tenth = 0, 0.0, (0, 0.0)
    found: dict[str, dict[str, Any]] = {}
    samples = 3  # of the last tenth: workers end in it
    while data := os.read(process.stdout.fileno(), 1 << 20):
        lines += data.count(b"\n")
        now = time.perf_counter() - start
        first = first or now
        if not tenth[0] and lines >= sentences / 10:
            tenth = lines, now
            found["first_tenth"] = memory(process.pid)
        elif samples and lines >= sentences * 0.9:
            samples -= 1
            found["last_tenth"] = memory(process.pid) or found.get("last_tenth", {})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode or lines != sentences:
        sys.exit(f"{lines} of {sentences} sentences, exit code {process.returncode}")
    return {
        "cores": len(cores),
        "options": " ".join(arguments),
        "sentences": sentences,
        "first_sentence_s": round(first, 2),
        "all_s": round(seconds, 2),
        "sentences_per_s": round((lines - tenth[0]) / (seconds - tenth[1])),
        "processor_ms_per_sentence": round(1000 * (used.ru_utime + used.ru_stime) / sentences, 2),
        **found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="plain, or compressed with bzip2")
    parser.add_argument("--model", default="nl")
    parser.add_argument("--few", type=int, default=5000)
    parser.add_argument("--many", type=int, default=60_000)
    parser.add_argument("--workers", type=int, nargs="*", default=[0], help="0: as the command chooses")
    options = parser.parse_args()
    raw = options.text.read_bytes()
    lines = (bz2.decompress(raw) if options.text.suffix == ".bz2" else raw).decode().splitlines()
    random.Random(1).shuffle(lines)
    cores = sorted(os.sched_getaffinity(0))
    usual = ["--device", "cpu", "--model", options.model]
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        for count, some, workers in [
            (options.few, cores[:2], 0),
            *((options.many, cores, workers) for workers in options.workers),
        ]:
            source = Path(folder, f"{count}.txt")
            source.write_text("\n".join((lines * (count // len(lines) + 1))[:count]) + "\n", "utf-8")
            own = ["--workers", str(workers)] if workers else []
            result = measure(source, count, some, [*usual, *own])
            print(json.dumps(result), flush=True)
            rates.append(result["sentences_per_s"])
    print(json.dumps({"share": [round(rate / rates[0] / (len(cores) / 2), 2) for rate in rates[1:]]}))


if __name__ == "__main__":
    main()
