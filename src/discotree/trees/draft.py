"""A tree under revision: phrases are renamed, dissolved and put around others, and a new tree is built at the end."""

from collections.abc import Iterable, Sequence

from discotree.trees.tree import NONE, Tree


class Draft:
    """The phrases and tags of a tree, open to change.

    A child is a number: the position of a word, or the number of words plus the index of a phrase. Children are in the
    order of their first words. The root is no phrase of the draft and stays as it is.
    """

    def __init__(self, tree: Tree) -> None:
        self.original = tree
        self.words = len(tree.tokens)
        self.tags = [token.tag for token in tree.tokens]
        token_parents, nodes = tree.parents()
        self.labels = [label for label, _, _ in nodes]
        self.functions = [function for _, function, _ in nodes]
        _, *phrases = tree.nodes()  # the root comes first, the rest as in parents()
        begins = [*range(self.words), *((node.mask & -node.mask).bit_length() - 1 for node in phrases)]
        self.children: list[list[int]] = [[] for _ in range(len(nodes) + 1)]  # the root's are the last, [-1]
        parents = [*token_parents, *(parent for _, _, parent in nodes)]
        for child in sorted(range(len(parents)), key=begins.__getitem__):
            self.children[parents[child]].append(child)
        self.top = self.children.pop()

    def is_word(self, child: int) -> bool:
        return child < self.words

    def phrase(self, child: int) -> int:
        """Return the index of a child that is a phrase."""
        return child - self.words

    def name(self, child: int) -> str:
        """Return the tag of a word, the label of a phrase."""
        return self.tags[child] if self.is_word(child) else self.labels[self.phrase(child)]

    def has_one_word(self, child: int) -> bool:
        """Tell whether a child is a phrase over a single word and nothing else."""
        return not self.is_word(child) and [self.is_word(own) for own in self.children[self.phrase(child)]] == [True]

    def dissolve(self, siblings: list[int], child: int) -> None:
        """Put the children of a phrase into its place among its siblings."""
        at = siblings.index(child)
        siblings[at : at + 1] = self.children[self.phrase(child)]

    def wrap(self, siblings: list[int], begin: int, end: int, label: str) -> int:
        """Put a new phrase around the siblings from one index to another; return its index."""
        self.labels.append(label)
        self.functions.append(NONE)
        self.children.append(siblings[begin:end])
        new = len(self.children) - 1
        siblings[begin:end] = [self.words + new]
        return new

    def without(self, words: Iterable[int]) -> Tree | None:
        """Build the tree without these words and without phrases that they leave empty; None if nothing is left."""
        gone = set(words)
        return self._built([position for position in range(self.words) if position not in gone])

    def tree(self) -> Tree:
        """Build the new tree. Secondary edges are left out."""
        built = self._built(range(self.words))
        assert built is not None
        return built

    def _built(self, kept: Sequence[int]) -> Tree | None:
        if not kept:
            return None
        # A phrase that was dissolved still lists its children, so parents are found from the top.
        parents, queue = dict.fromkeys(self.top, -1), [child for child in self.top if not self.is_word(child)]
        for child in queue:  # grows while we walk it
            index = self.phrase(child)
            for own in self.children[index]:
                parents[own] = index
                if not self.is_word(own):
                    queue.append(own)
        used = set()
        for position in kept:
            index = parents[position]
            while index >= 0 and index not in used:
                used.add(index)
                index = parents[self.words + index]
        number = {index: k for k, index in enumerate(sorted(used))} | {-1: -1}
        tree = self.original
        return Tree.from_parents(
            [tree.tokens[position]._replace(tag=self.tags[position]) for position in kept],
            [number[parents[position]] for position in kept],
            [
                (self.labels[index], self.functions[index], number[parents[self.words + index]])
                for index in sorted(used)
            ],
            root=(tree.root.label, tree.root.function),
            id=tree.id,
            comment=tree.comment,
        )
