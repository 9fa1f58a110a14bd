"""Starts the command line. Until its modules are imported, Ctrl-C ends the process at once, without a traceback."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def _exit(_signal: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


def main() -> None:
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored
    if is_default:
        signal.signal(signal.SIGINT, _exit)
    from discotree.cli import main as run

    if is_default:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
