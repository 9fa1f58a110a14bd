"""Parser: words in, discontinuous trees out."""

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path

import torch

from discotree import text
from discotree.config import Config, Decoding
from discotree.encoding.head_rules import HeadRules
from discotree.errors import HeadRuleError, ModelError, first_line
from discotree.models.card import Card
from discotree.models.finding import find
from discotree.models.folder import read_model, write_with_card
from discotree.models.hub import HUB, check_names, push
from discotree.models.model import Model
from discotree.network.assemble import Assembler, Decisions, of_candidates
from discotree.network.batch import Corpus, Forms, Ints, by_length
from discotree.network.decode import Decoded, decode, k_best
from discotree.network.scores import Scores
from discotree.network.vocab import Vocab
from discotree.parsing.garbage_collection import uncollected
from discotree.parsing.long_sentences import in_parts, joined
from discotree.trees.tree import Token, Tree

BATCH_WORDS = 4000
BATCH_WORDS_GPU = 16_000
BATCHES_AHEAD = 5  # that the sentences which are read ahead fill, about
MEAN_WORDS = 20  # of a sentence
MAX_WORDS_K = 200  # of a sentence of which several trees are wanted: each that is looked at takes its square
MAX_CANDIDATES = 4  # labelled dependencies that are looked at for every tree of k_best

Sentence = str | Sequence[str] | Sequence[Token] | Tree


class Parser:
    """A network with its vocabulary: the whole way from words to trees."""

    def __init__(self, model: Model, device: str | torch.device = "cpu") -> None:
        self.model = model
        self.device = torch.device(device)
        self.network = model.network.to(self.device)
        on_gpu = self.device.type == "cuda"
        self.batch_words = BATCH_WORDS_GPU if on_gpu else BATCH_WORDS
        self.stream = torch.cuda.Stream(self.device, priority=-1) if on_gpu else None  # type: ignore[no-untyped-call]
        self.levels = torch.tensor(model.vocab.levels)
        self.assembler = Assembler(model.vocab, keeps_tags=self.has_tags)

    @classmethod
    def from_pretrained(
        cls, name: str | PathLike[str], device: str | torch.device = "", revision: str = ""
    ) -> "Parser":
        """Load a model by its name or folder, or from the hub; on a GPU if there is one and no device is named.

        ``revision`` is a branch, a tag or a commit of a model on the hub.
        """
        folder, device = find(name, revision), _usable(device)
        return cls(read_model(folder), device)

    @property
    def config(self) -> Config:
        """The settings that the model was trained with."""
        return self.model.config

    @property
    def vocab(self) -> Vocab:
        """What the network can read and name."""
        return self.model.vocab

    @property
    def folder(self) -> Path | None:
        """The folder that the model was loaded from."""
        return self.model.folder

    @property
    def has_tags(self) -> bool:
        """Whether the network looks at the tags of the words."""
        return self.model.has_tags

    @property
    def window(self) -> int:
        """How many sentences have to be known to make good batches of them."""
        return BATCHES_AHEAD * self.batch_words // MEAN_WORDS

    def forms(self) -> Forms:
        """An empty table of words."""
        pieces: Callable[[str], Sequence[int]] | None = self.model.subwords.pieces if self.model.subwords else None
        return Forms(self.vocab, self.config.network.max_chars, pieces)

    @property
    def head_rules(self) -> HeadRules:
        """The head rules that the model learned with; where their file is gone, children marked as heads are heads."""
        data = self.config.data
        try:
            return HeadRules.load(data.heads, marked_first=data.marked_heads)
        except HeadRuleError:
            return HeadRules({}, marked_first=True)

    def scores(self, corpus: Corpus, batch_words: int = 0) -> Iterator[tuple[Ints, Scores]]:
        """The scores of all sentences, batch by batch, and which sentences they are.

        A GPU gets its next batch before the scores of the last one are used, so that it does not wait.
        """
        self.network.eval()
        waiting: list[tuple[Ints, Scores]] = []
        for sentences in by_length(corpus.lengths, batch_words or self.batch_words):
            with torch.inference_mode():
                scores: Scores = self.network(corpus.batch(sentences).to(self.device))
            if self.stream is not None:
                scores = dataclasses.replace(scores, ready=torch.cuda.current_stream(self.device).record_event())
            waiting.append((sentences, scores))
            if len(waiting) > (self.stream is not None):
                yield waiting.pop(0)
        yield from waiting

    def decode(self, scores: Scores, settings: Decoding | None = None) -> Decoded:
        """Heads and labels, the way the model's configuration says unless told otherwise."""
        settings = settings or self.config.decoding
        return decode(scores, settings.method, settings.beam, self.levels if settings.consistent else None)

    def __call__(self, sentence: Sentence) -> Tree:
        """The tree of one sentence."""
        (tree,) = self.parse([sentence])
        return tree

    def parse(self, sentences: Iterable[Sentence], settings: Decoding | None = None, window: int = 0) -> Iterator[Tree]:
        """The trees of sentences, in their order and as they come: ``window`` are read ahead to make good batches."""
        source = iter(sentences)
        window = window or self.window
        while some := list(islice(source, window)):
            tokens = [self.tokens(sentence) for sentence in some]
            tags = [[token.tag for token in row] for row in tokens] if self.has_tags else []
            ids = [sentence.id if isinstance(sentence, Tree) else "" for sentence in some]
            yield from self.parse_tokens(tokens, tags, settings, ids)

    def tokens(self, sentence: Sentence) -> list[Token]:
        """The tokens of a sentence: of a string by the rules of the model's language; of a tree, its own."""
        if isinstance(sentence, Tree):
            return list(sentence.tokens)
        if isinstance(sentence, str):
            if not self.config.language:
                raise ModelError("this model has no language to cut a string by: give it a list of words")
            return [Token(word.form) for line in text.sentences(sentence, self.config.language) for word in line]
        return [Token(word) if isinstance(word, str) else word for word in sentence]

    def k_best(self, sentence: Sentence, k: int) -> list[Tree]:
        """The k most probable trees of a sentence, the best first, with their probabilities as confidence.

        Different labels may mean the same tree: then it has the probability of the best of them.
        """
        tokens = self.tokens(sentence)
        if not tokens:
            raise ModelError("the sentence has no words")
        if len(tokens) > MAX_WORDS_K:
            raise ModelError(f"a sentence of {len(tokens)} words is too long for several trees: at most {MAX_WORDS_K}")
        tags = [[token.tag for token in tokens]] if self.has_tags else []
        ((_, scores),) = self.scores(Corpus([tokens], self.forms(), tags))
        wanted = k
        while True:
            with torch.inference_mode():
                decisions = list(of_candidates(k_best(scores, wanted)[0], scores))
            trees = dict.fromkeys(self.assembler.tree(tokens, said) for said in decisions)
            if len(trees) >= k or len(decisions) < wanted or wanted >= MAX_CANDIDATES * k:
                return list(trees)[:k]
            wanted *= 2

    def parse_tokens(
        self,
        sentences: Sequence[Sequence[Token]],
        tags: Sequence[Sequence[str]] = (),
        settings: Decoding | None = None,
        ids: Sequence[str] = (),
    ) -> list[Tree]:
        """The trees of some sentences, in their order. ``tags`` are those that the network looks at, if it does."""
        if self.has_tags and len(tags) != len(sentences):
            raise ModelError(
                f"this model looks at tags: {len(sentences)} sentences were given {len(tags)} rows of them"
            )
        for number, tokens in enumerate(sentences, 1):
            if not tokens:
                raise ModelError(f"sentence {number} has no words")
        parts: list[Sequence[Token]] = []
        owners: list[int] = []  # which sentence each part belongs to
        for number, tokens in enumerate(sentences):
            if self.has_tags:  # what the network saw is what the words come back with
                if len(tags[number]) != len(tokens):
                    raise ModelError(f"sentence {number + 1} has {len(tokens)} words but {len(tags[number])} tags")
                tokens = [token._replace(tag=tag) for token, tag in zip(tokens, tags[number], strict=True)]
            cut = in_parts(tokens)
            parts += cut
            owners += [number] * len(cut)
        trees: list[list[Tree]] = [[] for _ in sentences]
        names = [ids[owner] if ids else "" for owner in owners]
        with uncollected():
            for owner, tree in zip(owners, self._trees(parts, settings, names), strict=True):
                trees[owner].append(tree)
        return [joined(found) for found in trees]

    def _trees(self, sentences: Sequence[Sequence[Token]], settings: Decoding | None, ids: Sequence[str]) -> list[Tree]:
        trees: list[Tree | None] = [None] * len(sentences)
        tags = [[token.tag for token in tokens] for tokens in sentences] if self.has_tags else ()
        for numbers, scores in self.scores(Corpus(sentences, self.forms(), tags)):
            for number, said in zip(numbers.tolist(), self._decisions(scores, settings), strict=True):
                trees[number] = self.assembler.tree(sentences[number], said, ids[number])
        return [tree for tree in trees if tree is not None]

    def _decisions(self, scores: Scores, settings: Decoding | None) -> list[Decisions]:
        """What the scores of a batch mean. A GPU finds out beside its work on the next batch, not after it."""
        if self.stream is not None and scores.ready is not None:
            self.stream.wait_event(scores.ready)
        with torch.inference_mode(), torch.cuda.stream(self.stream):
            return list(Decisions.of(self.decode(scores, settings), scores))

    def save_pretrained(self, folder: str | Path, card: Card | None = None) -> None:
        """Write the model with a card, in a folder that the Hugging Face hub takes as it is (docs/hub.md)."""
        write_with_card(self.model, folder, card)

    def push_to_hub(
        self,
        repository: str,
        card: Card | None = None,
        *,
        private: bool | None = None,
        revision: str = "",
        commit_message: str = "",
        token: str | None = None,
    ) -> str:
        """Put the model and its card on the Hugging Face hub in one commit, and return the address of that commit."""
        check_names(repository, revision)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary, "model")
            write_with_card(self.model, folder, card, HUB + repository)
            return push(folder, repository, private, revision, commit_message, token)


def _usable(device: str | torch.device) -> torch.device:
    """Return the device, or a GPU where none is named and one is there, after a look whether it works."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter where torch was built without it
        raise ModelError(f"the device {str(device)!r} cannot be used: {first_line(error)}") from None
    return torch.device(device)
