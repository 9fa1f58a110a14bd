"""Upper bounds on what one request, one client and the whole server may take, and the error that refuses a request."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discotree.trees.tree import Tree

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Every number is a maximum, except ``retry_seconds`` and ``pace_bytes_per_second``."""

    body_bytes: int = 16 * MIB
    # Parsing
    request_characters: int = 200_000
    request_sentences: int = 1000
    request_words: int = 10_000
    sentence_words: int = 1000  # for drawing, too
    k_best_sentence_words: int = 100  # memory grows with their square
    word_characters: int = 1000
    queued_words: int = 20_000  # per model
    client_queued_words: int = 10_000  # per model and client
    # Uploaded treebanks and trees
    treebank_trees: int = 20_000
    tree_bytes: int = 2**19
    tree_positions: int = 1_000_000  # summed over the constituents of a tree
    tree_constituents: int = 5000  # drawing time grows with their square
    tree_edges: int = 1000  # secondary ones; drawing time grows with their square
    drawing_cells: int = 16_000_000  # columns times lines of a drawing as text
    # Responses
    response_positions: int = 4_000_000  # summed over the trees of a response
    response_bytes: int = 32 * MIB
    # Worker processes: drawing, uploads, long texts
    worker_jobs: int = 2
    worker_large_jobs: int = 1  # jobs with a body above small_body_bytes
    worker_seconds: float = 20.0  # processor time: a busy machine makes no job too large
    worker_bytes: int = 320 * MIB  # memory of one job
    search_seconds: float = 5.0  # processor time after which a search stops and says where to go on
    queued_jobs: int = 64
    client_queued_jobs: int = 32
    # Bodies in memory, of requests and of responses; small ones are not counted
    small_body_bytes: int = 2**16
    bodies_bytes: int = 48 * MIB
    client_bodies_bytes: int = 32 * MIB
    responses_bytes: int = 48 * MIB
    client_responses_bytes: int = 32 * MIB
    # Connections
    connections: int = 2000  # the longest idle one makes room for a new one
    header_seconds: float = 10.0  # until the headers of the next request are complete
    pace_seconds: float = 10.0  # for a body or a response, plus one second per pace_bytes_per_second
    pace_bytes_per_second: int = 32 * 1024
    timeout_seconds: float = 60.0  # from request to response
    retry_seconds: int = 2  # the Retry-After of a 503


class RequestRefused(Exception):
    """A request that the server does not answer, with an HTTP status and, for a 503, a time to retry after.

    ``fields`` stand beside the message in the response.
    """

    def __init__(
        self, status: int, message: str, retry_seconds: int = 0, fields: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_seconds = retry_seconds
        self.fields = fields or {}


def count_positions(tree: Tree) -> int:
    """Return the number of words summed over all constituents, which is what a tree takes up as a record."""
    return sum(node.mask.bit_count() for node in tree.nodes())


def why_too_large(tree: Tree, limits: Limits) -> str:
    """Return the reason why a tree is too large to show, or an empty string."""
    if len(tree) > limits.sentence_words:
        return f"sentence {tree.id} has {len(tree):,} words; at most {limits.sentence_words:,} can be shown"
    if count_positions(tree) > limits.tree_positions or sum(1 for _ in tree.nodes()) > limits.tree_constituents:
        return f"sentence {tree.id} has too many nested constituents to show"
    if len(tree.secondary) > limits.tree_edges:
        return (
            f"sentence {tree.id} has {len(tree.secondary):,} secondary edges; "
            f"at most {limits.tree_edges:,} can be shown"
        )
    texts = [text for token in tree.tokens for text in token]
    texts += [text for node in tree.nodes() for text in (node.label, node.function)]
    longest = max(map(len, texts))
    if longest > limits.word_characters:
        return (
            f"sentence {tree.id} has a word or label of {longest:,} characters; "
            f"at most {limits.word_characters:,} can be shown"
        )
    return ""


def check_drawing(trees: Iterable[Tree], functions: bool, limits: Limits) -> None:
    """Refuse trees that would fill too many lines and columns as text."""
    cells = 0
    for tree in trees:
        columns = sum(
            max(len(token.form), len(token.tag) + functions * len(token.function)) + 2 for token in tree.tokens
        )
        columns += max(len(node.label) + functions * len(node.function) for node in tree.nodes())
        cells += columns * 2 * (_depth(tree) + 2)
    if cells > limits.drawing_cells:
        raise RequestRefused(413, "the drawing would be too large: ask for svg, or for fewer trees")


def _depth(tree: Tree) -> int:
    """Return the number of constituents on the longest path from the root to a word."""
    depths = {id(tree.root): 1}
    for node in tree.nodes():  # parents come before their children
        for child in node.children:
            if not isinstance(child, int):
                depths[id(child)] = depths[id(node)] + 1
    return max(depths.values())
