"""Trees for NLTK, and back: ``to_nltk``, ``from_nltk``, and treebanks as NLTK's corpora are read.

    TreePrettyPrinter(to_nltk(tree), list(tree.words))

NLTK has one convention for trees with crossing branches: leaves are the positions of the words, which stand beside the
tree. Labels, unaries, the root and, over every word, its tag go there and come back exactly; the functions of phrases
as part of their labels (NP-SBJ). Lemmas, morphology, the functions of words, secondary edges and ids have no place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from discotree.bundled import needed
from discotree.errors import TreebankError, TreeError
from discotree.transforms import join_functions, split_functions
from discotree.tree import NONE, ROOT, Node, Token, Tree
from discotree.treebank import files, read

with needed("nltk"):
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

    ``root`` is a folder, of which files can be chosen by their names (``fileids``), or one file or archive. Everything
    is read when it is asked for, tree by tree; nothing is kept. It is not one of NLTK's own readers because those
    refuse files outside NLTK's data folder.
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
        self._root = Path(root)
        if fileids is None:
            fileids = files(root, format) if self._root.is_dir() else self._root.name
        self._fileids = [fileids] if isinstance(fileids, str) else list(fileids)
        self._read = partial(read, format=format, encoding=encoding)
        self._to_nltk = partial(to_nltk, leaves=leaves, tags=tags, functions=functions)

    def fileids(self) -> list[str]:
        return list(self._fileids)

    def trees(self, fileids: str | Iterable[str] | None = None) -> Any:
        """The trees as discotree has them, as a lazy sequence like all that follow."""
        chosen = [fileids] if isinstance(fileids, str) else self._fileids if fileids is None else fileids
        return _Trees([self._path(name) for name in chosen], self._read)

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

    def _path(self, name: str) -> str:
        if name not in self._fileids:
            raise TreebankError(f"there is no file {name!r}; there are {', '.join(self._fileids)}", str(self._root))
        return str(self._root / name if self._root.is_dir() else self._root)


class _Trees(AbstractLazySequence):  # type: ignore[misc]
    """The trees of some files, one after the other; read again whenever they are wanted."""

    def __init__(self, paths: list[str], read: Callable[[str], Iterator[Tree]]) -> None:
        self._paths = paths
        self._read = read
        self._length: int | None = None

    def iterate_from(self, start: int) -> Iterator[Tree]:
        return islice(chain.from_iterable(map(self._read, self._paths)), start, None)

    def __len__(self) -> int:
        if self._length is None:
            self._length = sum(1 for _ in self.iterate_from(0))
        return self._length


def _sentence(tree: Tree) -> list[str]:
    return list(tree.words)


def _tagged(tree: Tree) -> list[tuple[str, str]]:
    return [(token.form, token.tag) for token in tree.tokens]
