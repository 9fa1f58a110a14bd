"""Reading and filtering uploaded treebanks.

Readers receive bytes, never a path, so an upload cannot make them open a file.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from discotree.errors import TreebankError
from discotree.queries.match import TreeView
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.arrow import check_encodable
from discotree.treebanks.formats import PEEK
from discotree.treebanks.source import Source, stop
from discotree.trees.tree import Tree
from discotree.web.limits import Limits, RequestRefused, size_problem
from discotree.web.schemas import TreebankFilter, Upload

MAX_PROBLEMS = 10
UNNAMED = "upload"


@dataclass
class UploadedTreebank:
    """The trees of an upload that can be read and shown, and the problems of the others."""

    format: str
    trees: list[Tree] = field(default_factory=list)
    broken: int = 0
    problems: list[str] = field(default_factory=list)
    is_complete: bool = True

    def skip(self, problem: object) -> None:
        self.broken += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(str(problem))


def upload_format(upload: Upload) -> str:
    """Return the format that an upload states, or else detect it from the name and the content."""
    name = upload.format or guess_format(upload.name, upload.content[:PEEK].encode())
    if name not in TEXT_FORMATS:  # an upload is text, even if its name ends in .parquet
        message = f"cannot detect the format; set format to one of {', '.join(TEXT_FORMATS)}"
        raise TreebankError(message, upload.name or UNNAMED)
    return name


def read_upload(upload: Upload, limits: Limits, strict: bool = False) -> UploadedTreebank:
    """Read all trees that can be read and shown; if ``strict``, raise an error for broken, large or too many trees."""
    name, format = upload.name or UNNAMED, upload_format(upload)
    treebank = UploadedTreebank(format)
    skip = stop if strict else treebank.skip
    is_empty = True
    for tree in TEXT_FORMATS[format].read(Source(name, io.BytesIO(upload.content.encode()), "utf-8", skip)):
        is_empty = False
        try:
            check_encodable(tree)  # the escapes of JSON can contain lone surrogates
        except TreebankError as error:
            skip(error)
            continue
        tree = tree if tree.id else replace(tree, id="1")
        problem = size_problem(tree, limits)
        if len(treebank.trees) == limits.treebank_trees:
            treebank.is_complete = False
            problem = f"the treebank has more than {limits.treebank_trees:,} trees; use the command discotree evaluate"
        if problem and strict:
            raise RequestRefused(413, problem)
        if not treebank.is_complete:
            break
        if problem:
            treebank.skip(problem)
        else:
            treebank.trees.append(tree)
    if is_empty and not treebank.broken:
        raise TreebankError(f"contains no tree in the format {format}; check the format", name)
    return treebank


def read_one(upload: Upload, limits: Limits) -> Tree:
    """Read an upload of exactly one tree."""
    trees = read_upload(upload, limits, strict=True).trees
    if len(trees) != 1:
        raise TreebankError(f"expected one tree, found {len(trees)}", upload.name or UNNAMED)
    return trees[0]


def gap_counts(tree: Tree, punctuation: bool = False) -> list[int]:
    """Return the number of gaps of every constituent, in the order of ``Tree.nodes``.

    Only words make a gap; with ``punctuation``, any token does.
    """
    view = TreeView(tree)
    return [view.gap_degree(address, punctuation) for address in range(view.terminals, view.size)]


def matching_constituents(tree: Tree, gaps: Sequence[int], criteria: TreebankFilter) -> list[int] | None:
    """Return the numbers of the constituents that match a filter, or None if the tree does not pass it.

    One constituent must match both label and gaps. For a filter without either, the list is empty.
    """
    if (
        len(tree) < criteria.min_words
        or (criteria.max_words and len(tree) > criteria.max_words)
        or (criteria.contains and criteria.contains.casefold() not in " ".join(tree.words).casefold())
    ):
        return None
    if not criteria.label and not criteria.gap_degree:
        return []
    matching = [
        number
        for number, (node, gap_count) in enumerate(zip(tree.nodes(), gaps, strict=True))
        if gap_count >= criteria.gap_degree and criteria.label in ("", node.label)
    ]
    return matching or None
