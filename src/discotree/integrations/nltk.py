"""Trees for NLTK, and back: ``to_nltk``, ``from_nltk``, and treebanks as NLTK's corpora are read.

    TreePrettyPrinter(to_nltk(tree), list(tree.words))

NLTK has one convention for trees with crossing branches: leaves are the positions of the words, which stand beside the
tree. Labels, unaries, the root and, over every word, its tag go there and come back exactly; the functions of phrases
as part of their labels (NP-SBJ). Lemmas, morphology, the functions of words, secondary edges and ids have no place.
"""

import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from discotree.errors import TreebankError, TreeError, requires_extra
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
    """The tree as NLTK has it, a ``nltk.Tree`` or of another kind, such as ``nltk.ParentedTree``.

    ``leaves`` are positions, or words where no phrase is discontinuous. With ``tags`` there is a node over every word
    that is its tag; with ``functions`` those of phrases are part of the labels.
    """
    _check_leaves(leaves)
    if leaves == "words" and tree.is_discontinuous:
        raise TreeError(f"sentence {tree.id}: a discontinuous tree cannot have words as leaves, only positions")
    root = join_functions(tree).root if functions else tree.root
    below: list[Any] = []
    stack: list[tuple[Node | int, list[Any], list[Any] | None]] = [(root, below, None)]
    while stack:
        child, siblings, done = stack.pop()
        if isinstance(child, int):
            leaf = child if leaves == "positions" else tree.tokens[child].form
            siblings.append(kind(tree.tokens[child].tag or NONE, [leaf]) if tags else leaf)
        elif done is None:  # its children first
            done = []
            stack.append((child, siblings, done))
            stack.extend((grandchild, done, None) for grandchild in reversed(child.children))
        else:
            siblings.append(kind(child.label, done))
    return below[0]


def _check_leaves(leaves: str) -> None:
    if leaves not in get_args(Leaves):
        raise TreeError(f"leaves are {' or '.join(get_args(Leaves))}, not {leaves!r:.50}")


def from_nltk(
    tree: Any,
    sentence: Sequence[str | Token] | None = None,
    *,
    tags: bool = True,
    functions: bool = False,
    id: str = "",
) -> Tree:
    """The inverse of ``to_nltk``: a tree of positions with its sentence, or one with words as leaves.

    With ``tags``, a node over one leaf and nothing else is its tag. A sentence of Tokens keeps what NLTK has no place
    for. The root may do without a label, as in the Penn Treebank.
    """
    if not isinstance(tree, nltk.tree.Tree):
        raise TreeError(f"expected a tree of NLTK, got {tree!r:.50}")
    if isinstance(sentence, str):
        raise TreeError(f"a sentence is a list of words, not a string: {sentence!r:.50}")
    words = _Words(sentence)
    root = _node(tree, words, tags)
    result = Tree(words.all(), root, id)
    return split_functions(result) if functions else result


class _Words:
    """The sentence, with the leaves as they turn up: all of them positions in it, or all of them its words."""

    def __init__(self, sentence: Sequence[str | Token] | None) -> None:
        self.given = sentence is not None
        self.tokens = [word if isinstance(word, Token) else Token(word) for word in sentence or ()]
        self.seen: set[int] = set()

    def position(self, leaf: object, tag: str | None) -> int:
        position = self.add(leaf) if isinstance(leaf, str) else self.look_up(leaf)
        if tag is not None:
            self.tokens[position] = self.tokens[position]._replace(tag=tag)
        return position

    def add(self, word: str) -> int:
        if self.given:
            raise TreeError(f"the leaf {word!r} is a word: with a sentence beside the tree, leaves are positions")
        self.tokens.append(Token(word))
        return len(self.tokens) - 1

    def look_up(self, leaf: object) -> int:
        if not isinstance(leaf, int) or isinstance(leaf, bool):
            raise TreeError(f"a leaf has to be a word or a position, not {leaf!r:.50}")
        if not self.given:
            raise TreeError(
                f"the leaf {leaf} is a position, another one is a word"
                if self.tokens
                else f"the leaf {leaf} is a position: give the sentence, too"
            )
        if not 0 <= leaf < len(self.tokens):
            raise TreeError(f"the leaf {leaf} is outside the sentence, which has {len(self.tokens)} words")
        if leaf in self.seen:
            raise TreeError(f"the leaf {leaf} ({self.tokens[leaf].form!r}) is there twice")
        self.seen.add(leaf)
        return int(leaf)

    def all(self) -> tuple[Token, ...]:
        for position, token in enumerate(self.tokens if self.given else ()):
            if position not in self.seen:
                raise TreeError(f"no leaf is the position {position} ({token.form!r})")
        return tuple(self.tokens)


def _node(tree: Any, words: _Words, tags: bool) -> Node:
    """The node of an NLTK tree and all below it, without recursion; a tree inside itself is an error."""
    path = {id(tree)}
    top: list[Node | int] = []
    stack: list[tuple[Any, Iterator[Any], list[Node | int], list[Node | int]]] = [(tree, iter(tree), [], top)]
    while stack:
        current, children, below, siblings = stack[-1]
        for child in children:
            if not isinstance(child, nltk.tree.Tree):
                below.append(words.position(child, None))
            elif tags and len(child) == 1 and not isinstance(child[0], nltk.tree.Tree):
                below.append(words.position(child[0], _label(child) or NONE))
            else:
                if id(child) in path:
                    raise TreeError(f"node {_label(child)!r} is part of itself")
                path.add(id(child))
                stack.append((child, iter(child), [], below))
                break
        else:
            stack.pop()
            path.remove(id(current))
            siblings.append(Node(_label(current) or (NONE if stack else ROOT), below))
    (node,) = top
    assert isinstance(node, Node)
    return node


def _label(tree: Any) -> str:
    label = tree.label()
    if not isinstance(label, str):
        raise TreeError(f"a label has to be a string, not {label!r:.50}")
    return str(label)


class TreebankReader:
    """Treebanks in any format that ``read`` knows, with the methods of NLTK's corpus readers.

    ``root`` is a folder, or one file or archive. Of a folder, ``fileids`` are the names of files in a list or, as NLTK
    has it, one regular expression for whole names. Ids are those that ``read`` gives in the folder. Everything is read
    when it is asked for, tree by tree; nothing is kept. It is not one of NLTK's own readers because those refuse files
    outside NLTK's data folder.
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
        """``leaves``, ``tags`` and ``functions`` are those of ``to_nltk``, for ``parsed_sents``."""
        _check_leaves(leaves)
        self._root = Path(root)
        self._stems = _chosen(self._root, fileids, format)
        self._read = partial(read, format=format, encoding=encoding)
        self._to_nltk = partial(to_nltk, leaves=leaves, tags=tags, functions=functions)

    def fileids(self) -> list[str]:
        return list(self._stems)

    def trees(self, fileids: str | Iterable[str] | None = None) -> Any:
        """The trees as discotree has them, as a lazy sequence like all that follow; here, ``fileids`` are names."""
        names = [fileids] if isinstance(fileids, str) else self._stems if fileids is None else fileids
        return _Trees(list(map(self._file, names)))

    def parsed_sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(self._to_nltk, self.trees(fileids))

    def sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(_sentence, self.trees(fileids))

    def tagged_sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(_tagged, self.trees(fileids))

    def words(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyConcatenation(self.sents(fileids))

    def tagged_words(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyConcatenation(self.tagged_sents(fileids))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {str(self._root)!r}>"

    def _file(self, name: str) -> Callable[[], Iterator[Tree]]:
        if name not in self._stems:
            raise _no_file(self._root, name, self._stems)
        path = self._root / name if self._root.is_dir() else self._root
        return partial(self._read, path, stem=self._stems[name])


def _chosen(root: Path, fileids: str | Iterable[str] | None, format: str | None) -> dict[str, str]:
    """The files of a corpus, each with what goes in front of its ids: that depends on what else is in the folder."""
    if not os.path.exists(root):
        raise TreebankError("there is no such file or folder", str(root))
    if not root.is_dir():
        if fileids is not None and ([fileids] if isinstance(fileids, str) else list(fileids)) != [root.name]:
            raise TreebankError("it is no folder, so there are no files to choose", str(root))
        return {root.name: ""}
    known = files(root, format)
    if fileids is None:
        if not known:
            raise TreebankError("holds no treebank file by its name: name the format, too", str(root))
        return known
    if isinstance(fileids, str):
        return {name: known[name] for name in _matching(root, fileids, known)}
    names = list(fileids)
    for name in names:
        if not (root / name).is_file():
            raise _no_file(root, name, known)
    return {name: known.get(os.path.normpath(name), name) for name in names}


def _matching(root: Path, pattern: str, names: Collection[str]) -> list[str]:
    """The names that a regular expression matches; a name stands for itself whatever is in it."""
    if pattern in names:
        return [pattern]
    try:
        found = [name for name in names if re.fullmatch(pattern, Path(name).as_posix())]
    except re.error as error:
        raise TreebankError(f"{pattern!r} is no regular expression: {error}", str(root)) from None
    if not found:
        raise TreebankError(f"no file matches {pattern!r}; there are {', '.join(names) or 'none':.200}", str(root))
    return found


def _no_file(root: Path, name: str, names: Iterable[str]) -> TreebankError:
    there = f"there are {', '.join(names) or 'none':.200}"
    return TreebankError(f"there is no file {name!r} (a name is expected here, not a pattern); {there}", str(root))


class _Trees(AbstractLazySequence):  # type: ignore[misc]
    """The trees of some files, one after the other; read again whenever they are wanted."""

    def __init__(self, files: list[Callable[[], Iterator[Tree]]]) -> None:
        self._files = files
        self._length: int | None = None

    def iterate_from(self, start: int) -> Iterator[Tree]:
        return islice(chain.from_iterable(read() for read in self._files), start, None)

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self.iterate_from(0))
        return self._length


def _sentence(tree: Tree) -> list[str]:
    return list(tree.words)


def _tagged(tree: Tree) -> list[tuple[str, str]]:
    return [(token.form, token.tag) for token in tree.tokens]
