"""Signals for processes that tests start."""

import signal


def heed_interrupts() -> None:
    """Let Ctrl-C work in a new process, also where the shell that runs the tests ignores it (in the background)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
