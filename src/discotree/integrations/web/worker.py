"""The process that runs tasks: it forks a child for every job.

A child has a deadline and a memory limit of its own, and takes everything it has read and cached with it when it ends.
Forking needs a process without threads, so this one imports neither the web framework nor torch:

    python -m discotree.integrations.web.worker SOCKET

The socket's first message is the pickled ``Setup``. Each further one carries the file descriptor of a job's own
socket: its child reads the job from there and writes its process id and then the outcome.
"""

import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discotree.errors import DiscotreeError
from discotree.integrations.web import search_tasks, tasks
from discotree.integrations.web.conversion import convert_trees
from discotree.integrations.web.limits import MIB, RequestRefused

TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task
    for task in (
        tasks.read_parse_request,
        tasks.render,
        tasks.draw,
        convert_trees,
        tasks.filter_treebank,
        tasks.compare_treebanks,
        search_tasks.check_query,
        search_tasks.find_examples,
        search_tasks.search_treebank,
        search_tasks.count_matches,
    )
}
NUMBER = struct.Struct("!Q")  # precedes a message: its length


def main() -> None:
    """Serve jobs until the other end of the socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which closes the socket
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    control = socket.socket(fileno=int(sys.argv[1]))
    with control.makefile("rb") as file:
        setup = pickle.loads(_receive(file))
    control.sendall(b"\1")  # ready: every module is imported
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _run_child(setup, socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


def _run_child(setup: tasks.Setup, job: socket.socket) -> None:
    """Run one job and end the process, whatever happens."""
    code = 1
    try:
        os.setpgid(0, 0)  # the server ends this group, and so the programs that a job starts
        # The signal of either timer ends the process. The server ends jobs that nobody waits for, if it lives itself.
        signal.setitimer(signal.ITIMER_PROF, setup.limits.worker_seconds)
        signal.setitimer(signal.ITIMER_REAL, setup.limits.timeout_seconds)
        limit_memory(setup.limits.worker_bytes)
        limit_programs(setup.limits.worker_seconds)
        job.sendall(NUMBER.pack(os.getpid()))
        with job.makefile("rb") as file:
            name, arguments = pickle.loads(_receive(file))
        outcome = pickle.dumps(_outcome(setup, name, arguments))
        job.sendall(NUMBER.pack(len(outcome)) + outcome)
        code = 0
    finally:
        os._exit(code)


def _receive(file: Any) -> bytes:
    (length,) = NUMBER.unpack(file.read(NUMBER.size))
    return bytes(file.read(length))


def _outcome(setup: tasks.Setup, name: str, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        return "result", TASKS[name](setup, *arguments)
    except RequestRefused as error:
        return "refused", (error.status, error.message, 0, error.fields)
    except DiscotreeError as error:
        return "refused", (422, str(error))
    except MemoryError:
        return "refused", (413, f"this needs more than {setup.limits.worker_bytes / MIB:g} MiB of memory: ask for less")
    except Exception:
        return "failed", traceback.format_exc()


def limit_memory(extra_bytes: int) -> None:
    """Let this process allocate that much more than it has now, where the system can enforce it."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        maximum = pages * resource.getpagesize() + extra_bytes
        resource.setrlimit(resource.RLIMIT_AS, (maximum, maximum))
    except (ImportError, OSError, ValueError):  # not Linux: the deadline and the limits of the request remain
        pass


def limit_programs(seconds: float) -> None:
    """Let a program that this process starts, such as rsvg-convert, run no longer, and tell us when it fails."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else every exit status reads 0
    try:
        import resource

        maximum = int(seconds) + 1  # timers are not inherited, this is
        resource.setrlimit(resource.RLIMIT_CPU, (maximum, maximum))
    except (ImportError, OSError, ValueError):
        pass


if __name__ == "__main__":
    main()
