"""List the modules of discotree whose functions run during a command.

    python tools/flow.py parse "What are you looking at?" --model en
    python tools/flow.py annotate sentences.txt        (edit a tree in the browser, then press Ctrl-C)

Functions that run while modules are imported count; work in other processes does not.
"""

import inspect
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import discotree

PACKAGE = str(Path(discotree.__file__).parent) + os.sep


def main() -> None:
    modules = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_flags & inspect.CO_OPTIMIZED:
            modules.add(code.co_filename.removeprefix(PACKAGE).removesuffix(".py"))

    threading.setprofile(record)
    sys.setprofile(record)
    from discotree.cli import main as run

    try:
        run()
    finally:
        sys.setprofile(None)
        print(f"{len(modules)} modules:", *sorted(modules), file=sys.stderr)


if __name__ == "__main__":
    main()
