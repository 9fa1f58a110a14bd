"""Sentences → arrays: every distinct word is looked up once, and batches of similar length are made by indexing.

Shapes: B sentences, N words in the longest of them, U distinct words in the batch, C characters in the
longest of those, P pieces in the longest sentence. Heads are columns 0..N as in Scores: 0 is the dummy root.
"""

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discotree.encoding.dependencies import Dependencies
from discotree.encoding.lemmas import composed
from discotree.errors import ModelError
from discotree.network.arrays import F32, I64, Bool
from discotree.network.vocab import UNKNOWN, UNKNOWN_CHAR, Vocab, normalized, targets
from discotree.trees.tree import Token

IGNORED = -100  # the class that no loss counts: padding, labels that are not in the vocabulary, annotation to ignore
HEAD = "head"
LABEL = "label"
MAX_STORED = 1 << 14  # known words: the first ones of a text are the most frequent ones
MAX_PAIRS = 1 << 21  # pairs of words in a batch: a few very long sentences must not fill the memory


@dataclass(frozen=True, eq=False)
class SoftTargets:
    """What teachers expect of the sentences of a batch: for every word the k most probable classes of each head.

    Sentences of a treebank have weights of 0 here, all others have IGNORED as their gold of everything but heads.
    """

    text: Bool  # (B,) whether the sentence has no other gold
    weights: F32  # (B, N) factors of the words in the loss
    ids: dict[str, npt.NDArray[np.int16]]  # (B, N, k) each: head, label, and the auxiliary heads
    steps: dict[str, npt.NDArray[np.uint8]]  # (B, N, k) each: probabilities, up to a factor


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences as arrays of whole numbers, padded on the right."""

    lengths: I64  # (B,)
    words: I64  # (B, N)
    tags: I64  # (B, N)
    chars: I64  # (U, C) of the distinct words
    form: I64  # (B, N) index of the distinct word
    pieces: I64  # (B, P) sub-words; (B, 0) without any
    first: I64  # (B, N) index of each word's first piece
    last: I64  # (B, N) index of its last piece
    gold: dict[str, I64] = field(default_factory=dict)  # (B, N) each: head, label, and the auxiliary heads
    soft: SoftTargets | None = None

    def __len__(self) -> int:
        return len(self.lengths)


FormEntry = tuple[int, bytes, bytes]
"""The id of a word, its characters and its pieces; both are whole numbers in the machine's format (``array("i")``)."""


class Forms:
    """A table of distinct words, which grows: their ids, characters and pieces."""

    def __init__(
        self,
        vocab: Vocab,
        max_chars: int,
        pieces: Callable[[str], Sequence[int]] | None = None,
        stored: dict[str, FormEntry] | None = None,
    ) -> None:
        """``stored`` is a table of known words that gets new ones: no other words, so that no text of users is kept."""
        self.vocab = vocab
        self.max_chars = max_chars
        self.pieces = pieces
        self.stored = {} if stored is None else stored
        self.index: dict[str, int] = {}
        self._entries: list[FormEntry] = []
        self._arrays: tuple[I64, I64, I64, I64, I64] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def lookup(self, form: str) -> int:
        number = self.index.get(form)
        if number is None:
            number = self.index[form] = len(self.index)
            self._entries.append(self.stored.get(form) or self._new_entry(form))
            self._arrays = None
        return number

    def _new_entry(self, form: str) -> FormEntry:
        whole = composed(form)
        chars, words = self.vocab.chars.ids, self.vocab.words.ids
        entry = (
            words.get(normalized(whole), UNKNOWN),
            array("i", [chars.get(char, UNKNOWN_CHAR) for char in whole[: self.max_chars]]).tobytes(),
            array("i", self.pieces(whole) if self.pieces else ()).tobytes(),
        )
        if whole in words and len(self.stored) < MAX_STORED:
            self.stored[form] = entry
        return entry

    def arrays(self) -> tuple[I64, I64, I64, I64, I64]:
        """Return the ids of the words (F,), their characters (F, C), their lengths (F,), and their pieces.

        The pieces of all words are in one array, and the last array has the offsets of each word's pieces (F+1,).
        """
        if self._arrays is None:
            words, all_chars, all_pieces = zip(*self._entries, strict=True) if self._entries else ((), (), ())
            flat_chars, char_starts = _flat(all_chars)
            counts = np.diff(char_starts)
            chars = np.zeros((len(self), counts.max(initial=1)), np.int64)
            chars[np.arange(chars.shape[1]) < counts[:, None]] = flat_chars
            self._arrays = (np.array(words, np.int64), chars, counts, *_flat(all_pieces))
        return self._arrays


def _flat(rows: Sequence[bytes]) -> tuple[I64, I64]:
    """Return the numbers of all rows, and the offsets of each row (rows+1,)."""
    numbers = np.frombuffer(b"".join(rows), np.intc).astype(np.int64)
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)) // np.intc().itemsize, out=starts[1:])
    return numbers, starts


class Corpus:
    """Many sentences as flat arrays; any batch of them is made by indexing."""

    def __init__(self, sentences: Sequence[Sequence[Token]], forms: Forms, tags: Sequence[Sequence[str]] = ()) -> None:
        self.table = forms
        self.lengths = np.array([len(tokens) for tokens in sentences], np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        words = [token[0] for tokens in sentences for token in tokens]
        for word in dict.fromkeys(words):
            forms.lookup(word)
        self.forms = np.fromiter(map(forms.index.__getitem__, words), np.int64, self.starts[-1])
        known = forms.vocab.tags.ids
        self.tags = np.zeros(self.starts[-1], np.int64)
        if tags:
            if [len(row) for row in tags] != self.lengths.tolist():
                raise ModelError("the tags do not fit the words: expected one tag for every word")
            self.tags[:] = [known.get(tag, UNKNOWN) for row in tags for tag in row]
        self.gold: dict[str, I64] = {}
        self.annotated: dict[str, Bool] = {}  # (S,) sentences that have the gold of a head

    @classmethod
    def numbered(cls, forms: Sequence[str], form: I64, lengths: I64, table: Forms) -> "Corpus":
        """Return sentences whose words are given by their numbers among distinct ones."""
        corpus = cls((), table)
        corpus.lengths = lengths.astype(np.int64)
        corpus.starts = np.concatenate([[0], np.cumsum(corpus.lengths)])
        corpus.forms = np.array([table.lookup(word) for word in forms], np.int64)[form]
        corpus.tags = np.zeros(len(corpus.forms), np.int64)
        return corpus

    def __len__(self) -> int:
        return len(self.lengths)

    def learn(self, trees: Sequence[Dependencies], ignored: Sequence[Collection[str]] = ()) -> None:
        """Set the trees of these sentences as the gold standard of training.

        ``ignored`` holds for every sentence the auxiliary heads that learn nothing from it.
        """
        vocab = self.table.vocab
        alphabets = {LABEL: vocab.labels, **vocab.outputs}
        self.gold[HEAD] = np.array([head + 1 for tree in trees for head in tree.heads], np.int64)
        for name, alphabet in alphabets.items():
            symbols = (symbol for tree in trees for symbol in (tree.labels if name == LABEL else targets(tree, name)))
            self.gold[name] = np.array([alphabet.ids.get(symbol, IGNORED) for symbol in symbols], np.int64)
            self.annotated[name] = np.array([name not in heads for heads in ignored] or [True] * len(trees), np.bool_)
            self.gold[name][~np.repeat(self.annotated[name], self.lengths)] = IGNORED

    def batch(self, sentences: I64) -> Batch:
        """Return the batch of the sentences with these numbers."""
        lengths = self.lengths[sentences]
        n = int(lengths.max(initial=0))
        inside = np.arange(n) < lengths[:, None]  # (B, N)
        flat = np.where(inside, self.starts[sentences][:, None] + np.arange(n), 0)
        forms = np.where(inside, self.forms[flat], 0)
        words, chars, char_counts, pieces, piece_starts = self.table.arrays()
        distinct, form = np.unique(forms, return_inverse=True)
        widest = int(char_counts[distinct].max(initial=1))  # a convolution needs at least one character

        def padded(values: I64, filler: int) -> I64:
            return np.where(inside, values[flat], filler)

        rows, first, last = _pieces(forms, inside, pieces, piece_starts)
        return Batch(
            lengths=lengths,
            words=np.where(inside, words[forms], UNKNOWN),
            tags=padded(self.tags, UNKNOWN),
            chars=chars[distinct, :widest],
            form=form.reshape(forms.shape),
            pieces=rows,
            first=first,
            last=last,
            gold={name: padded(values, IGNORED) for name, values in self.gold.items()},
        )


def _pieces(forms: I64, inside: Bool, pieces: I64, starts: I64) -> tuple[I64, I64, I64]:
    """Return the pieces of every sentence in a row, and the index of each word's first and last piece."""
    counts = np.where(inside, starts[forms + 1] - starts[forms], 0)  # (B, N)
    ends = counts.cumsum(1)
    per_sentence = ends[:, -1] if ends.shape[1] else np.zeros(len(forms), np.int64)
    flat_counts = counts[inside]
    total = int(flat_counts.sum())
    begins = np.repeat(starts[forms[inside]] - np.concatenate([[0], flat_counts.cumsum()[:-1]]), flat_counts)
    rows = np.zeros((len(forms), int(per_sentence.max(initial=0))), np.int64)
    rows[np.arange(rows.shape[1]) < per_sentence[:, None]] = pieces[begins + np.arange(total)]
    return rows, np.where(inside, ends - counts, 0), np.where(inside, np.maximum(ends - 1, 0), 0)


def by_length(lengths: I64, words: int, shuffle: "np.random.Generator | None" = None) -> Iterator[I64]:
    """Yield the numbers of sentences in batches of similar length, at most ``words`` words with padding.

    A longer sentence is a batch of its own. Shuffling changes the order of sentences of equal length, and that of the
    batches.
    """
    order = np.argsort(lengths, kind="stable")
    if shuffle is not None:
        order = shuffle.permutation(len(lengths))
        order = order[np.argsort(lengths[order], kind="stable")]
    batches: list[I64] = []
    begin = 0
    for end in range(1, len(order) + 1):
        count, longest = end + 1 - begin, int(lengths[order[end]]) if end < len(order) else 0
        if end == len(order) or count * longest > words or count * longest * longest > MAX_PAIRS:
            batches.append(order[begin:end])
            begin = end
    if shuffle is not None:
        shuffle.shuffle(batches)
    yield from batches
