"""Upper bounds on what one request may ask for, and the error that refuses a request."""

from dataclasses import dataclass

from discotree.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class Limits:
    """Every number is a maximum, except ``retry_seconds``."""

    body_bytes: int = 16 * 2**20
    # Parsing
    request_characters: int = 200_000
    request_sentences: int = 1000
    request_words: int = 10_000
    sentence_words: int = 1000  # for drawing, too
    k_best_sentence_words: int = 200
    queued_words: int = 20_000  # per model
    # Uploaded treebanks and trees
    treebank_trees: int = 20_000
    tree_bytes: int = 2**19
    tree_positions: int = 1_000_000  # summed over the constituents of a tree
    tree_constituents: int = 5000  # drawing time grows with their square
    response_positions: int = 20_000_000  # summed over the trees of a response
    queued_uploads: int = 16
    # The server
    clients: int = 1000  # connected at the same time
    timeout_seconds: float = 60.0  # from request to response
    retry_seconds: int = 2  # the Retry-After of a 503


class RequestRefused(Exception):
    """A request that the server does not answer, with an HTTP status and, for a 503, a time to retry after."""

    def __init__(self, status: int, message: str, retry_seconds: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_seconds = retry_seconds


def count_positions(tree: Tree) -> int:
    """Return the number of words summed over all constituents, which is what a tree takes up as a record."""
    return sum(node.mask.bit_count() for node in tree.nodes())


def why_too_large(tree: Tree, limits: Limits) -> str:
    """Return the reason why a tree is too large to show, or an empty string."""
    if len(tree) > limits.sentence_words:
        return f"sentence {tree.id} has {len(tree):,} words; at most {limits.sentence_words:,} can be shown"
    if count_positions(tree) > limits.tree_positions or sum(1 for _ in tree.nodes()) > limits.tree_constituents:
        return f"sentence {tree.id} has too many nested constituents to show"
    return ""
