"""Trees as ``nltk.Tree`` and back, and treebanks with the interface of NLTK's corpus readers.

    TreePrettyPrinter(to_nltk(tree), list(tree.words))

NLTK has one convention for trees with crossing branches: leaves are positions, and the words are kept beside the tree.
A round trip preserves labels, unaries, the root and, as a node over every word, tags. Functions of constituents are
preserved as parts of their labels (NP-SBJ). Lemmas, morphology, functions of words, secondary edges and ids are lost.
"""

import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from discotree.errors import ConfigError, TreebankError, TreeError, requires_extra
from discotree.treebanks import files, read
from discotree.trees.transforms import join_functions, split_functions
from discotree.trees.tree import NONE, ROOT, Node, Token, Tree

with requires_extra("nltk"):
    import nltk.tree  # type: ignore[import-untyped]
    from nltk.collections import AbstractLazySequence, LazyConcatenation, LazyMap  # type: ignore[import-untyped]

__all__ = ["TreebankReader", "from_nltk", "to_nltk"]

Leaves = Literal["positions", "words"]


def to_nltk(
    tree: Tree,
    leaves: Leaves = "positions",
    *,
    tags: bool = True,
    functions: bool = False,
    kind: Callable[[str, list[Any]], Any] = nltk.tree.Tree,
) -> Any:
    """Return the tree as a ``nltk.Tree`` or another class, such as ``nltk.ParentedTree``.

    ``leaves`` are positions or, for a continuous tree only, words. With ``tags`` every word has a node above it with
    its tag; with ``functions`` the labels of constituents include their functions.
    """
    if leaves not in get_args(Leaves):
        raise ConfigError(f"leaves: expected {' or '.join(get_args(Leaves))}, got {leaves!r:.50}")
    if leaves == "words" and tree.is_discontinuous:
        raise TreeError(f"sentence {tree.id}: a discontinuous tree cannot have words as leaves; use leaves='positions'")
    root = join_functions(tree).root if functions else tree.root
    result: list[Any] = []
    stack: list[tuple[Node | int, list[Any], list[Any] | None]] = [(root, result, None)]
    while stack:
        node, siblings, children = stack.pop()
        if isinstance(node, int):
            leaf = node if leaves == "positions" else tree.tokens[node].form
            siblings.append(kind(tree.tokens[node].tag or NONE, [leaf]) if tags else leaf)
        elif children is None:  # first visit: build the children, then come back
            children = []
            stack.append((node, siblings, children))
            stack.extend((child, children, None) for child in reversed(node.children))
        else:
            siblings.append(kind(node.label, children))
    return result[0]


def from_nltk(
    tree: Any,
    sentence: Sequence[str | Token] | None = None,
    *,
    tags: bool = True,
    functions: bool = False,
    id: str = "",
) -> Tree:
    """Return the Tree of an NLTK tree: one of positions with its sentence, or one with words as leaves.

    With ``tags``, a node over a single leaf is the tag of that word. A sentence of Tokens keeps what NLTK cannot
    hold. The root may have an empty label, as in the Penn Treebank.
    """
    if not isinstance(tree, nltk.tree.Tree):
        raise TypeError(f"expected an nltk.Tree, got {tree!r:.50}")
    if isinstance(sentence, str):
        raise TypeError(f"expected the sentence as a list of words, got the string {sentence!r:.50}")
    tokens = [word if isinstance(word, Token) else Token(word) for word in sentence or ()]

    def position(leaf: object, tag: str | None = None) -> int:
        """Return the position of a leaf, and set the tag of its token."""
        if isinstance(leaf, str):
            if sentence is not None:
                raise TreeError(f"leaf {leaf!r} is a word; with a sentence, leaves must be positions")
            tokens.append(Token(leaf))
            leaf = len(tokens) - 1
        elif not isinstance(leaf, int) or isinstance(leaf, bool):
            raise TreeError(f"expected a word or a position as leaf, got {leaf!r:.50}")
        elif sentence is None:
            raise TreeError(f"leaf {leaf} is a position; without a sentence, leaves must be words")
        elif not 0 <= leaf < len(tokens):
            raise TreeError(f"leaf {leaf} is outside the sentence of {len(tokens)} words")
        if tag is not None:
            tokens[leaf] = tokens[leaf]._replace(tag=tag)
        return leaf

    top: list[Node] = []
    stack: list[tuple[Any, Iterator[Any], list[Any], list[Any]]] = [(tree, iter(tree), [], top)]
    while stack:
        current, remaining, children, siblings = stack[-1]
        for child in remaining:
            if not isinstance(child, nltk.tree.Tree):
                children.append(position(child))
            elif tags and len(child) == 1 and not isinstance(child[0], nltk.tree.Tree):
                children.append(position(child[0], _label(child) or NONE))
            else:
                stack.append((child, iter(child), [], children))
                break
        else:
            stack.pop()
            siblings.append(Node(_label(current) or (NONE if stack else ROOT), children))
    result = Tree(tuple(tokens), top[0], id)
    return split_functions(result) if functions else result


def _label(tree: Any) -> str:
    label = tree.label()
    if not isinstance(label, str):
        raise TreeError(f"expected a string as label, got {label!r:.50}")
    return str(label)


class TreebankReader:
    """Treebanks in any format, with the methods of NLTK's corpus readers.

    ``root`` is a folder, a file or an archive. In a folder, ``fileids`` chooses files: a list of names or, as in NLTK,
    one regular expression for whole names. Ids are those that ``read`` gives in the folder. Trees are read on demand,
    one by one, and not kept. This class does not inherit from NLTK's readers, which refuse files outside NLTK's data
    folder.
    """

    def __init__(
        self,
        root: str | PathLike[str],
        fileids: str | Iterable[str] | None = None,
        format: str | None = None,
        *,
        encoding: str | None = None,
        leaves: Leaves = "positions",
        tags: bool = True,
        functions: bool = False,
    ) -> None:
        """Choose files; ``leaves``, ``tags`` and ``functions`` are those of ``to_nltk``, for ``parsed_sents``."""
        self._root = Path(root)
        self._stems = _choose_files(self._root, fileids, format)
        self._read = partial(read, format=format, encoding=encoding)
        self._to_nltk = partial(to_nltk, leaves=leaves, tags=tags, functions=functions)

    def fileids(self) -> list[str]:
        return list(self._stems)

    def trees(self, fileids: str | Iterable[str] | None = None) -> Any:
        """Return the Trees of all files, or of one or more named ones, as a lazy sequence like the other methods."""
        names = [fileids] if isinstance(fileids, str) else self._stems if fileids is None else fileids
        return _LazyTrees(list(map(self._reader, names)))

    def parsed_sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(self._to_nltk, self.trees(fileids))

    def sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(lambda tree: list(tree.words), self.trees(fileids))

    def tagged_sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(lambda tree: [token[:2] for token in tree.tokens], self.trees(fileids))

    def words(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyConcatenation(self.sents(fileids))

    def tagged_words(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyConcatenation(self.tagged_sents(fileids))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {str(self._root)!r}>"

    def _reader(self, name: str) -> Callable[[], Iterator[Tree]]:
        if name not in self._stems:
            raise _no_such_file(self._root, name, self._stems)
        path = self._root / name if self._root.is_dir() else self._root
        return partial(self._read, path, stem=self._stems[name])


def _choose_files(root: Path, fileids: str | Iterable[str] | None, format: str | None) -> dict[str, str]:
    """Return the names of the files, each with the prefix of its ids, which depends on the whole folder."""
    if not os.path.exists(root):
        raise TreebankError("no such file or folder", str(root))
    if not root.is_dir():
        if fileids is not None and ([fileids] if isinstance(fileids, str) else list(fileids)) != [root.name]:
            raise TreebankError("fileids selects files in a folder, but this is a file", str(root))
        return {root.name: ""}
    known = files(root, format)
    if fileids is None:
        if not known:
            raise TreebankError("no file has the suffix of a treebank; pass the format", str(root))
        return known
    if isinstance(fileids, str):
        try:
            pattern = re.compile(fileids)
        except re.error as error:
            raise TreebankError(f"{fileids!r} is not a regular expression: {error}", str(root)) from None
        matching = {name: stem for name, stem in known.items() if pattern.fullmatch(Path(name).as_posix())}
        if not matching:
            raise TreebankError(f"no file matches {fileids!r}; {_contents(known)}", str(root))
        return matching
    names = list(fileids)
    for name in names:
        if not (root / name).is_file():
            raise _no_such_file(root, name, known)
    return {name: known.get(os.path.normpath(name), name) for name in names}


def _no_such_file(root: Path, name: str, names: Iterable[str]) -> TreebankError:
    return TreebankError(f"no file {name!r}: expected a file name, not a pattern; {_contents(names)}", str(root))


def _contents(names: Iterable[str]) -> str:
    return f"the folder has {', '.join(names) or 'no treebanks':.200}"


class _LazyTrees(AbstractLazySequence):  # type: ignore[misc]
    """The trees of files, one file after the other, read again on every access."""

    def __init__(self, readers: list[Callable[[], Iterator[Tree]]]) -> None:
        self._readers = readers
        self._length: int | None = None

    def iterate_from(self, start: int) -> Iterator[Tree]:
        return islice(chain.from_iterable(reader() for reader in self._readers), start, None)

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self.iterate_from(0))
        return self._length
