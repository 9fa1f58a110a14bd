"""Uploaded treebanks, read from memory within limits, and filtered.

A reader gets bytes, never a path, and opens no file that an upload names. Every word sets a bit in each constituent
above it, so one endless tree could fill the memory: ``MeteredFile`` bounds the bytes of a tree.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from discotree.errors import TreebankError
from discotree.integrations.web.limits import Limits, RequestRefused, why_too_large
from discotree.integrations.web.schemas import TreebankFilter, Upload
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.formats import PEEK
from discotree.treebanks.source import Source, stop
from discotree.trees.punctuation import is_punctuation
from discotree.trees.tree import Node, Tree

MAX_PROBLEMS = 10
UNNAMED = "upload"


class MeteredFile(io.BytesIO):
    """A file that refuses the request when one tree takes up too much of it."""

    def __init__(self, content: bytes, max_tree_bytes: int) -> None:
        super().__init__(content)
        self.max_tree_bytes = max_tree_bytes
        self.tree_start = 0

    def next_tree(self) -> None:
        self.tree_start = self.tell()

    def _metered(self, piece: bytes) -> bytes:
        if self.tell() - self.tree_start > self.max_tree_bytes:
            raise RequestRefused(413, f"found no complete tree within {self.max_tree_bytes:,} bytes")
        return piece

    def read(self, size: int | None = -1, /) -> bytes:
        return self._metered(super().read(size))

    def readline(self, size: int | None = -1, /) -> bytes:
        return self._metered(super().readline(size))

    def __next__(self) -> bytes:
        return self._metered(super().__next__())


@dataclass
class UploadedTreebank:
    """The trees of an upload that can be read and shown, and the problems with the others."""

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
    """Return the format that the upload states, or else the one that its name and content suggest."""
    name = upload.format or guess_format(upload.name, upload.content[:PEEK].encode())
    if name not in TEXT_FORMATS:  # an upload is text, even if its name says .parquet
        message = f"the format is unclear: set it to one of {', '.join(TEXT_FORMATS)}"
        raise TreebankError(message, upload.name or UNNAMED)
    return name


def read_leniently(upload: Upload, limits: Limits) -> UploadedTreebank:
    """Read all trees that can be read and shown."""
    treebank = UploadedTreebank(upload_format(upload))
    for tree in _read(upload, treebank.format, limits, treebank):
        if len(treebank.trees) == limits.treebank_trees:
            treebank.is_complete = False
            break
        if problem := why_too_large(tree, limits):
            treebank.skip(problem)
        else:
            treebank.trees.append(tree)
    return treebank


def read_strictly(upload: Upload, limits: Limits) -> list[Tree]:
    """Read all trees; a broken one is a TreebankError, too many are refused."""
    trees: list[Tree] = []
    for tree in _read(upload, upload_format(upload), limits):
        if len(trees) == limits.treebank_trees:
            message = f"more than {limits.treebank_trees:,} trees: use discotree evaluate on the command line"
            raise RequestRefused(413, message)
        if problem := why_too_large(tree, limits):
            raise RequestRefused(413, problem)
        trees.append(tree)
    return trees


def read_one(upload: Upload, limits: Limits) -> Tree:
    """Read an upload of exactly one tree."""
    trees = read_strictly(upload, limits)
    if len(trees) != 1:
        raise TreebankError(f"expected one tree, found {len(trees)}", upload.name or UNNAMED)
    return trees[0]


def _read(upload: Upload, format: str, limits: Limits, lenient: UploadedTreebank | None = None) -> Iterator[Tree]:
    stream = MeteredFile(upload.content.encode(), limits.tree_bytes)

    def skip(error: TreebankError) -> None:
        stream.next_tree()
        (lenient.skip if lenient else stop)(error)

    name = upload.name or UNNAMED
    is_empty = True
    for tree in TEXT_FORMATS[format].read(Source(name, stream, "utf-8", skip)):
        is_empty = False
        stream.next_tree()
        if format == "json" and not _is_encodable(tree):
            skip(TreebankError(f"sentence {tree.id}: the text contains a lone surrogate", name))
        else:
            yield tree if tree.id else replace(tree, id="1")
    if is_empty and not (lenient and lenient.broken):
        raise TreebankError(f"contains no tree: is its format really {format}?", name)


def _is_encodable(tree: Tree) -> bool:
    """Tell whether UTF-8 can encode a tree; JSON escapes can spell lone surrogates, which it cannot."""
    texts = [tree.id, tree.comment, *chain.from_iterable(tree.tokens), *(edge.label for edge in tree.secondary)]
    texts += chain.from_iterable((node.label, node.function) for node in tree.nodes())
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def gap_counts(tree: Tree, punctuation: bool = False) -> list[int]:
    """Return the number of gaps of every constituent, in the order of ``Tree.nodes``.

    Only words make a gap; with ``punctuation``, any token does.
    """
    if punctuation:
        return [node.block_degree - 1 for node in tree.nodes()]
    words = sum(1 << position for position, token in enumerate(tree.tokens) if not is_punctuation(token))
    return [_count_gaps(node, words) if node.is_discontinuous else 0 for node in tree.nodes()]


def _count_gaps(node: Node, words: int) -> int:
    """Count the gaps of a node among ``words``, the set of positions that are not punctuation."""
    gaps = 0
    rest = node.mask & words
    while rest:
        outside = words & ~node.mask & -(rest & -rest)  # other words, after the first of the rest
        rest = rest & -(outside & -outside) if outside else 0
        gaps += bool(rest)
    return gaps


def hits(tree: Tree, gaps: Sequence[int], criteria: TreebankFilter) -> list[int] | None:
    """Return the constituents that a filter looks for, None if the tree does not pass it.

    Label and gaps are asked of one and the same constituent. A filter with neither looks for no constituent.
    """
    if (
        len(tree) < criteria.min_words
        or (criteria.max_words and len(tree) > criteria.max_words)
        or (criteria.contains and criteria.contains.casefold() not in " ".join(tree.words).casefold())
    ):
        return None
    if not criteria.label and not criteria.gap_degree:
        return []
    found = [
        number
        for number, (node, gap_count) in enumerate(zip(tree.nodes(), gaps, strict=True))
        if gap_count >= criteria.gap_degree and criteria.label in ("", node.label)
    ]
    return found or None
