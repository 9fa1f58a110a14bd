"""Several trainings at the same time on one device, each in a process of its own.

A small network leaves most of a GPU idle: trainings side by side take little longer than one of them. A process that is
killed is started again, and its training resumes from its checkpoint.
"""

import multiprocessing
import multiprocessing.connection
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from discotree.errors import DiscotreeError, ModelError
from discotree.training.fit import Report

ATTEMPTS = 3
INTERRUPTED = 130  # exit code after Ctrl-C, as shells have it
ERROR = "error"  # the event of a process that gives up
STEP = "step"  # an event that comes too often to be sent


def side_by_side(
    target: Callable[..., None], arguments: Mapping[int, tuple[Any, ...]], jobs: int, report: Report
) -> None:
    """Call a function with each of the arguments, at most ``jobs`` calls at a time, each in a process of its own.

    The function has to be importable by its name. Its last argument is a report; what it reports arrives here. A call
    that raises an error ends all of them; one whose process is killed is repeated.
    """
    waiting, attempts = list(arguments), dict.fromkeys(arguments, 0)
    running: dict[int, tuple[SpawnProcess, Connection]] = {}
    context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_call, args=(target, arguments[number], sender), daemon=True)
                process.start()
                sender.close()  # so that the end of the process ends the pipe
                attempts[number] += 1
                running[number] = process, receiver
            ready = multiprocessing.connection.wait([receiver for _, receiver in running.values()])
            for number, (process, receiver) in list(running.items()):
                if receiver in ready and not _relay(receiver, report):
                    del running[number]
                    process.join()
                    receiver.close()
                    if process.exitcode and attempts[number] == ATTEMPTS:
                        raise ModelError(f"training {number} ended {ATTEMPTS} times with exit code {process.exitcode}")
                    if process.exitcode:
                        waiting.append(number)
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, receiver in running.values():
            process.join()
            receiver.close()


def _relay(receiver: Connection, report: Report) -> bool:
    """Pass on what a process reports next; return whether there may be more."""
    try:
        event, content = receiver.recv()
    except (EOFError, OSError):
        return False
    if event == ERROR:
        raise content
    report(event, content)
    return True


def _call(target: Callable[..., None], arguments: tuple[Any, ...], sender: Connection) -> None:
    """Call the function in the new process; an error of ours, which would come again, is sent to the old one."""

    def send(event: str, metrics: dict[str, float]) -> None:
        if event != STEP:
            sender.send((event, metrics))  # fails where nobody listens any more, and ends this process too

    try:
        target(*arguments, send)
    except DiscotreeError as error:
        sender.send((ERROR, type(error)(str(error))))
    except KeyboardInterrupt:  # the old process tells the user
        sys.exit(INTERRUPTED)
