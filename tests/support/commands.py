"""Run commands of discotree in one process, which saves their start: JSON in, JSON out.

The Python of a fresh virtual environment runs this file, so it needs nothing but discotree and the standard library.
"""

import io
import json
import resource
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import discotree as dt
from discotree.cli import main


def run(arguments: list[str]) -> dict[str, Any]:
    """Return what a command prints and its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.argv = ["discotree", *arguments]
    code: object = None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
            code = 1
    printed = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return {"code": code or 0, "out": printed[0], "err": printed[1]}


def trees(path: str, format: str) -> list[dict[str, Any]]:
    """Return the trees of a file; an invalid tree is an error."""
    return [
        {"id": tree.id, "words": tree.words, "nodes": [(node.label, node.positions) for node in tree.nodes()]}
        for tree in dt.read(path, format)
    ]


if __name__ == "__main__":
    answers = []
    for command in json.load(sys.stdin):
        answer = run(command["arguments"])
        answers.append(answer | {"trees": trees(*command["read"]) if command["read"] else []})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB
    json.dump({"answers": answers, "peak": peak}, sys.stdout)
