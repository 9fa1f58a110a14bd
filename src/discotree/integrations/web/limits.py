"""How much one request may ask for, and what is answered when it is too much."""

from dataclasses import dataclass

from discotree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Limits:
    body: int = 16 * 2**20  # bytes of a request
    characters: int = 200_000  # to parse in one request
    sentences: int = 1000  # to parse in one request
    sentence_words: int = 1000  # of one sentence, to parse or to draw
    sentence_words_k: int = 200  # of one sentence of which several trees are wanted
    words: int = 10_000  # to parse in one request
    queued_words: int = 20_000  # that wait for one model
    trees: int = 20_000  # of an uploaded treebank
    tree_bytes: int = 2**19  # of one tree in an uploaded treebank
    positions: int = 1_000_000  # of one tree: the words of all its constituents together
    constituents: int = 5000  # of one tree: the time to draw it grows with their square
    all_positions: int = 20_000_000  # of the trees in one answer
    clients: int = 1000  # at the same time
    desk: int = 16  # uploads that wait for their turn
    seconds: float = 60.0  # from a request to its answer
    retry: int = 2  # seconds after which somebody who was turned away may ask again


class Refused(Exception):
    """A request that is not answered, with the HTTP status that says why."""

    def __init__(self, status: int, message: str, retry: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry = retry


def positions_of(tree: Tree) -> int:
    """How many words all constituents have together: what a tree takes up when it is written out."""
    return sum(node.mask.bit_count() for node in tree.nodes())


def oversize(tree: Tree, limits: Limits) -> str:
    """Why a tree is too large to be shown; nothing if it is not."""
    if len(tree) > limits.sentence_words:
        return f"sentence {tree.id} has {len(tree):,} words; at most {limits.sentence_words:,} can be shown"
    if positions_of(tree) > limits.positions or sum(1 for _ in tree.nodes()) > limits.constituents:
        return f"sentence {tree.id} has too many constituents, one inside the other, to be shown"
    return ""
