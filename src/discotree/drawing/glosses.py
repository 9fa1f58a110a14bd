"""Files of glosses: a block of lines for each tree, with an empty line between blocks.

    # 17
    It  came  nothing  interesting
    ‘Nothing interesting came.’

The first line is the tree's id; leave it out in all blocks, and they belong to the trees in their order. Then come a
gloss for each word, and the translation, which may be missing. Glosses are separated by whitespace, or by tabs where
the line has any; ``_`` stands for none. Punctuation may be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from discotree.errors import InputError
from discotree.files.reading import open_binary, readable
from discotree.trees.punctuation import is_punctuation
from discotree.trees.tree import Tree

NO_GLOSS = "_"
ID = "#"


class Block(NamedTuple):
    """Glosses and translation of one tree, and the line where they begin."""

    number: int
    id: str | None
    glosses: tuple[str, ...]
    translation: str


@dataclass(slots=True)
class GlossFile:
    """Blocks of a file. Ask for the glosses of the trees in their order."""

    path: str
    blocks: Sequence[Block]
    used: int = field(default=0, init=False)  # blocks without ids that trees already have

    @classmethod
    def read(cls, path: str) -> "GlossFile":
        """Read a file; what is wrong with it is an InputError with the line."""
        with readable(path), open_binary(path) as stream:
            data = stream.read()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{path}: is not UTF-8") from None
        return cls(path, _blocks(path, text))

    def of(self, tree: Tree) -> tuple[tuple[str, ...], str]:
        """Return the glosses and the translation of a tree, the next one where the blocks have no ids."""
        if self.blocks and self.blocks[0].id is None:
            if self.used == len(self.blocks):
                raise InputError(f"{self.path}: {len(self.blocks)} blocks of glosses, but there are more trees")
            block = self.blocks[self.used]
            self.used += 1
        else:
            found = [block for block in self.blocks if block.id == tree.id]
            if not found:
                raise InputError(f"{self.path}: no glosses for the tree {tree.id!r}; a line '# {tree.id}' begins them")
            block = found[0]
        return _for_words(self.path, block, tree), block.translation


def _blocks(path: str, text: str) -> list[Block]:
    blocks: list[Block] = []
    start, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip():
            start = start if lines else number
            lines.append(line)
        elif lines:
            blocks.append(_block(path, start, lines))
            lines = []
    if len({block.id is None for block in blocks}) > 1:
        bare = next(block for block in blocks if block.id is None)
        raise InputError(f"{path}:{bare.number}: expected '# ID', as other blocks have it")
    return blocks


def _block(path: str, number: int, lines: Sequence[str]) -> Block:
    id = None
    if lines[0].startswith(ID):
        id, lines = lines[0][len(ID) :].strip(), lines[1:]
    if len(lines) > 2:
        raise InputError(f"{path}:{number}: expected a line of glosses and one translation, found {len(lines)} lines")
    line = lines[0] if lines else ""
    glosses = [gloss.strip() for gloss in line.split("\t")] if "\t" in line else line.split()
    shown = tuple(["" if gloss == NO_GLOSS else gloss for gloss in glosses])
    return Block(number, id, shown, lines[1].strip() if len(lines) > 1 else "")


def _for_words(path: str, block: Block, tree: Tree) -> tuple[str, ...]:
    """Return a gloss for each word; punctuation that was left out has none."""
    if not block.glosses or len(block.glosses) == len(tree):
        return block.glosses
    words = [k for k, token in enumerate(tree.tokens) if not is_punctuation(token)]
    if len(block.glosses) != len(words):
        counted = f"the {len(tree)} words of the tree {tree.id!r}, {len(words)} without punctuation"
        raise InputError(f"{path}:{block.number}: {len(block.glosses)} glosses for {counted}")
    glosses = dict(zip(words, block.glosses, strict=True))
    return tuple([glosses.get(k, "") for k in range(len(tree))])
