"""Exit codes beside 0, 1 and 2, and the exit of a command whose output nobody reads."""

import os
import sys
from typing import NoReturn

INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
CLOSED_PIPE = 141  # exit code when nobody reads the output any more; shells show it for grep and others, too


def leave_quietly() -> NoReturn:
    """Exit because nobody reads our output any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
    sys.exit(CLOSED_PIPE)
