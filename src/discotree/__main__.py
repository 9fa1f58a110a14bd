"""Starts the command line. Until its modules are imported, Ctrl-C ends the process at once, without a traceback."""

import os
import signal


def main() -> None:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from discotree.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
