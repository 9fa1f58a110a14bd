"""Treebanks with the interface of NLTK's corpus readers."""

import os.path
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any

from nltk.collections import AbstractLazySequence, LazyConcatenation, LazyMap  # type: ignore[import-untyped]

from discotree.errors import TreebankError
from discotree.integrations.nltk.convert import Leaves, check_leaves, to_nltk
from discotree.treebanks import files, read
from discotree.trees.tree import Tree


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
        check_leaves(leaves)
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
        return LazyMap(_words, self.trees(fileids))

    def tagged_sents(self, fileids: str | Iterable[str] | None = None) -> Any:
        return LazyMap(_tagged_words, self.trees(fileids))

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
        raise TreebankError("there is no such file or folder", str(root))
    if not root.is_dir():
        if fileids is not None and ([fileids] if isinstance(fileids, str) else list(fileids)) != [root.name]:
            raise TreebankError("fileids choose files in a folder, and this is a file", str(root))
        return {root.name: ""}
    known = files(root, format)
    if fileids is None:
        if not known:
            raise TreebankError("found no file with the suffix of a treebank: give the format, too", str(root))
        return known
    if isinstance(fileids, str):
        return {name: known[name] for name in _matching(root, fileids, known)}
    names = list(fileids)
    for name in names:
        if not (root / name).is_file():
            raise _no_such_file(root, name, known)
    return {name: known.get(os.path.normpath(name), name) for name in names}


def _matching(root: Path, pattern: str, names: Collection[str]) -> list[str]:
    """Return the names that a regular expression matches, or the one name that equals it."""
    if pattern in names:
        return [pattern]
    try:
        matching = [name for name in names if re.fullmatch(pattern, Path(name).as_posix())]
    except re.error as error:
        raise TreebankError(f"{pattern!r} is not a regular expression: {error}", str(root)) from None
    if not matching:
        raise TreebankError(f"no file matches {pattern!r}; there are {', '.join(names) or 'none':.200}", str(root))
    return matching


def _no_such_file(root: Path, name: str, names: Iterable[str]) -> TreebankError:
    hint = f"give a name, not a pattern; there are {', '.join(names) or 'none':.200}"
    return TreebankError(f"there is no file {name!r}: {hint}", str(root))


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


def _words(tree: Tree) -> list[str]:
    return list(tree.words)


def _tagged_words(tree: Tree) -> list[tuple[str, str]]:
    return [(token.form, token.tag) for token in tree.tokens]
