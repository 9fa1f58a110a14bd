"""Parser: words in, discontinuous trees out."""

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path

import numpy as np

from discotree import text
from discotree.config import Config, Decoding
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError
from discotree.models.card import Card
from discotree.models.choice import announce_licence, logger, mismatch
from discotree.models.finding import find
from discotree.models.folder import read_model, write_with_card
from discotree.models.hub import HUB, check_names, push
from discotree.models.model import Model
from discotree.network.assemble import Assembler, decoded_candidates, ranked
from discotree.network.batch import Corpus, Forms, Ints, KnownPieces, by_length
from discotree.network.decode import Decoded, decode
from discotree.network.engine import Engine
from discotree.network.gap_prices import GapPrices
from discotree.network.k_best import k_best
from discotree.network.scores import Scores
from discotree.network.vocab import Vocab
from discotree.parsing.engines import EngineChoice, new_engine
from discotree.parsing.garbage_collection import uncollected
from discotree.parsing.long_sentences import MAX_WORDS, in_parts, joined
from discotree.parsing.sentences import EXPECTED, Sentence, id_of, named, token_of
from discotree.trees.tree import NONE, Token, Tree

MEAN_WORDS = 20  # rough estimate of the length of a sentence
MAX_WORDS_K = 200  # longest sentence for k_best: memory per candidate grows with words²
MAX_CANDIDATES = 4  # labelled dependencies that k_best looks at for every tree


class Parser:
    """A model and the engine that runs it: from words to trees."""

    def __init__(self, model: Model, engine: Engine | None = None) -> None:
        """Without an ``engine``, the model gets the one that suits this machine."""
        self.model = model
        self.engine = engine or new_engine(model)
        self.batch_words = self.engine.batch_words
        self.levels = np.array(model.vocab.levels)
        self.phrases = GapPrices.of(model.vocab.labels.symbols, model.vocab.root)
        self.pieces = KnownPieces(model.subwords.pieces, model.vocab) if model.subwords else None
        language = model.config.language
        rules = text.convention(language) if language in text.LANGUAGES else None
        self.assembler = Assembler(model.vocab, self.has_tags, model.calibration, rules)

    @classmethod
    def from_pretrained(
        cls, name: str | PathLike[str], device: str = "", revision: str = "", engine: str = "", threads: int = 0
    ) -> "Parser":
        """Load a model by its name or folder, or from the hub; on a GPU if there is one and no device is named.

        ``revision`` is a branch, a tag or a commit of a model on the hub; ``engine`` is one of ENGINES, and ``threads``
        is how many of them it may use on a CPU.
        """
        folder = find(name, revision)
        choice = EngineChoice.of(engine, device)
        announce_licence(folder)
        return cls(model := read_model(folder), choice.engine(model, threads))

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
    def device(self) -> str:
        """Where the network is computed: "cpu", "cuda", "cuda:1"."""
        return self.engine.device

    @property
    def has_tags(self) -> bool:
        """Whether the network looks at the tags of the words."""
        return self.model.has_tags

    def __repr__(self) -> str:
        language = self.config.language or "no language"
        where = f"{self.engine.name} on {self.device}"
        return f"<Parser {self.config.name!r}: {language}, {self.model.size:,} weights, {where}>"

    @property
    def window_words(self) -> int:
        """How many words to read ahead, so that batches hold sentences of similar length."""
        return self.engine.read_ahead * self.batch_words

    @property
    def window(self) -> int:
        """About how many sentences that is."""
        return self.window_words // MEAN_WORDS

    @property
    def head_rules(self) -> HeadRules:
        """The head rules that the model learned with: see ``Model.head_rules``."""
        return self.model.head_rules

    def __call__(self, sentence: Sentence) -> Tree:
        """Return the tree of one sentence."""
        (tree,) = self.parse_tokens([self.tokens(sentence)], ids=[id_of(sentence)])
        return tree

    def parse(self, sentences: Iterable[Sentence], decoding: Decoding | None = None, window: int = 0) -> Iterator[Tree]:
        """Yield the trees of sentences, in their order.

        ``window`` sentences are read ahead. Trees without an id are numbered from 1.
        """
        if isinstance(sentences, str | Tree | Token) or not isinstance(sentences, Iterable):
            raise TypeError(
                f"parse takes a list of sentences, not {named(sentences)}: use parser(sentence) for one sentence, "
                f"parser.parse_text(text) for a text"
            )
        return self._parse(iter(sentences), decoding, window or self.window)

    def _parse(self, sentences: Iterator[Sentence], decoding: Decoding | None, window: int) -> Iterator[Tree]:
        first = 1
        while group := list(islice(sentences, window)):
            ids = [id_of(sentence) or str(number) for number, sentence in enumerate(group, first)]
            yield from self.parse_tokens([self.tokens(sentence) for sentence in group], decoding, ids)
            first += len(group)

    def parse_text(self, text: str, decoding: Decoding | None = None) -> Iterator[Tree]:
        """Split a text into sentences, and yield their trees."""
        if not isinstance(text, str):
            raise TypeError(f"parse_text takes a string, not {named(text)}")
        if warning := mismatch(text, self.config.language):
            logger.warning("%s", warning)
        return self.parse(([word.form for word in words] for words in self._sentences(text)), decoding)

    def tokens(self, sentence: Sentence) -> list[Token]:
        """Return the tokens of a sentence. A string is tokenised by the rules of the model's language."""
        if isinstance(sentence, Tree):
            return list(sentence.tokens)
        if isinstance(sentence, str):
            found = list(self._sentences(sentence))
            if len(found) > 1:
                raise InputError(
                    f"the text has {len(found)} sentences: parser.parse_text(text) gives each of them a tree; "
                    f"for a single tree, give a list of words"
                )
            return [Token(word.form) for words in found for word in words]
        if isinstance(sentence, Token) or not isinstance(sentence, Iterable):
            raise TypeError(f"{EXPECTED}, not {named(sentence)}")
        return [word if isinstance(word, Token) else token_of(word) for word in sentence]

    def k_best(self, sentence: Sentence, k: int, id: str = "") -> list[Tree]:
        """Return the k most probable trees of a sentence, most probable first.

        Several labellings may mean the same tree: it has the rank of the best of them. Where gaps have prices, the
        ``MAX_CANDIDATES`` · k most probable trees and the one that ``parse`` finds are ranked with these. The
        confidence of each tree is its own expected F1, so it need not fall from tree to tree. The trees of a sentence
        with an id have ids of their own: 7.1, 7.2, and so on.
        """
        tokens = self.tokens(sentence)
        if problem := self.problem(tokens):
            raise InputError(f"the sentence {problem}")
        if len(tokens) > MAX_WORDS_K:
            raise InputError(f"the sentence has {len(tokens)} words: k-best trees are for at most {MAX_WORDS_K}")
        ((_, scores),) = self.scores(self.corpus([tokens]))
        prices = self.gap_prices(self.config.decoding)
        candidates = MAX_CANDIDATES * k if prices else k
        while True:
            decoded = list(decoded_candidates(k_best(scores, candidates)[0], scores))
            if prices:
                decoded = ranked([self.decode(scores), *decoded], prices)
            trees = list(dict.fromkeys(self.assembler.trees([tokens], one, scores)[0] for one in decoded))[:k]
            if len(trees) == k or len(decoded) < candidates or candidates >= MAX_CANDIDATES * k:
                break
            candidates *= 2
        id = id or id_of(sentence)
        return [dataclasses.replace(tree, id=f"{id}.{rank}") for rank, tree in enumerate(trees, 1)] if id else trees

    def parse_tokens(
        self, sentences: Sequence[Sequence[Token]], decoding: Decoding | None = None, ids: Sequence[str] = ()
    ) -> list[Tree]:
        """Return the trees of sentences, in their order; a model that looks at tags reads those of the tokens."""
        parts: list[Sequence[Token]] = []
        owners: list[int] = []  # the sentence that each part belongs to
        for number, tokens in enumerate(sentences):
            if problem := self.problem(tokens):
                raise InputError(f"sentence {number + 1} {problem}")
            found = in_parts(tokens)
            parts += found
            owners += [number] * len(found)
        trees: list[list[Tree]] = [[] for _ in sentences]
        part_ids = [ids[owner] if ids else "" for owner in owners]
        with uncollected():
            for owner, tree in zip(owners, self._trees(parts, decoding, part_ids), strict=True):
                trees[owner].append(tree)
        return [joined(found) for found in trees]

    def problem(self, tokens: Sequence[Token]) -> str:
        """Say why a sentence cannot be parsed; "" if it can."""
        if not tokens:
            return "has no words"
        if len(tokens) > MAX_WORDS:
            return f"has {len(tokens):,} words, expected at most {MAX_WORDS:,}: split it"
        known = self.vocab.tags.ids
        if self.has_tags and NONE not in known and all(token.tag == NONE for token in tokens):
            return "has no tags, and this model looks at tags: give Tokens that have them"
        return ""

    def scores(self, corpus: Corpus, batch_words: int = 0) -> Iterator[tuple[Ints, Scores]]:
        """Yield the scores of all sentences, batch by batch, with the numbers of the sentences.

        The next ones are begun before the scores of the last one are used.
        """
        started: list[tuple[Ints, Callable[[], Scores]]] = []
        for sentences in by_length(corpus.lengths, batch_words or self.batch_words):
            started.append((sentences, self.engine.start(corpus.batch(sentences))))
            if len(started) >= self.engine.ahead:
                numbers, wait = started.pop(0)
                yield numbers, wait()
        for numbers, wait in started:
            yield numbers, wait()

    def decode(self, scores: Scores, decoding: Decoding | None = None) -> Decoded:
        """Find heads and labels, as the model's own settings say unless others are given."""
        decoding = decoding or self.config.decoding
        levels = self.levels if decoding.consistent else None
        return decode(scores, decoding.method, decoding.beam, levels, self.gap_prices(decoding))

    def gap_prices(self, decoding: Decoding) -> GapPrices | None:
        """Return what gaps cost, if anything."""
        return self.phrases.priced(decoding.gap_prices) if any(decoding.gap_prices.values()) else None

    def forms(self) -> Forms:
        """Return an empty table of words."""
        return Forms(self.vocab, self.config.network.max_chars, self.pieces)

    def corpus(self, sentences: Sequence[Sequence[Token]]) -> Corpus:
        """Return sentences as the network reads them."""
        tags = [[token.tag for token in tokens] for tokens in sentences] if self.has_tags else ()
        return Corpus(sentences, self.forms(), tags)

    def _trees(self, sentences: Sequence[Sequence[Token]], decoding: Decoding | None, ids: Sequence[str]) -> list[Tree]:
        trees: list[Tree | None] = [None] * len(sentences)
        for numbers, scores in self.scores(self.corpus(sentences)):
            own, names = [sentences[number] for number in numbers], [ids[number] for number in numbers]
            found = self.assembler.trees(own, self.decode(scores, decoding), scores, names)
            for number, tree in zip(numbers, found, strict=True):
                trees[number] = tree
        return [tree for tree in trees if tree is not None]

    def _sentences(self, string: str) -> Iterator[list[text.Word]]:
        if not self.config.language:
            raise InputError("this model has no language, so it cannot tokenise a string: give a list of words")
        return text.sentences(string, self.config.language)

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
