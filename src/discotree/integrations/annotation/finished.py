"""The trees that are accepted or corrected, in any treebank format."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from discotree.encoding.head_rules import HeadRules
from discotree.errors import DiscotreeError, TreebankError, first_line
from discotree.integrations.annotation.lines import FINISHED
from discotree.integrations.annotation.project import Project
from discotree.treebanks import write
from discotree.trees.tree import Tree

DELAY_SECONDS = 1.0  # between a step and the file, so that many steps are written once
MAX_SHARE = 0.1  # at most so much of the time goes into writing, however large the file is


def finished_trees(project: Project) -> Iterator[Tree]:
    """Yield the finished trees in the order of the input, with the comments of annotators."""
    for number in range(1, len(project) + 1):
        with project.mutex:
            record = project.tree(number) if project.statuses[number - 1] in FINISHED else None
            comments = project.comments(number)
        if record is None:
            continue
        tree = Tree.from_dict(record)
        if comments:
            text = "; ".join(" ".join(comment.split()) for comment in [tree.comment, *comments] if comment)
            tree = replace(tree, comment=text)
        yield tree


def write_finished(
    project: Project, path: str, format: str | None = None, heads: HeadRules | None = None
) -> tuple[int, list[str]]:
    """Write the finished trees; return how many, and why others cannot be written in this format."""
    errors: list[TreebankError] = []
    count = write(finished_trees(project), path, format, heads=heads, on_error=errors.append)
    return count, [first_line(error) for error in errors]


class FinishedFile:
    """A treebank that follows the annotation: written soon after a step, and at the beginning and the end."""

    def __init__(self, project: Project, path: str, format: str | None, heads: HeadRules | None) -> None:
        self.project = project
        self.path = path
        self.format = format
        self.heads = heads
        self.problem = ""  # what is wrong with the file
        self.delay_seconds = DELAY_SECONDS
        self.changed = threading.Event()
        self.closing = threading.Event()
        self.write()
        self.thread = threading.Thread(target=self._follow, name="annotation output", daemon=True)
        self.thread.start()

    def write(self) -> None:
        begin = time.monotonic()
        _, problems = write_finished(self.project, self.path, self.format, self.heads)
        self.delay_seconds = max(DELAY_SECONDS, (time.monotonic() - begin) / MAX_SHARE)
        self.problem = f"{self.path}: {len(problems):,} trees are left out: {problems[0]}" if problems else ""

    def _follow(self) -> None:
        is_last = False
        while not is_last:
            self.changed.wait()
            self.closing.wait(self.delay_seconds)
            self.changed.clear()
            is_last = self.closing.is_set()  # asked before writing: a step during the last but one must not be missed
            try:
                self.write()
            except DiscotreeError as error:
                self.problem = first_line(error)

    def close(self) -> None:
        """Write the last steps."""
        self.closing.set()
        self.changed.set()
        self.thread.join()
