"""Parser: words in, discontinuous trees out.

``load`` finds a model, chooses the engine that suits this machine and returns a ``Parser``. A sentence that is too long
for the network is split into parts, and their trees are joined. With ``parse_each``, a sentence that fails does not
affect the others.
"""

import ctypes
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, islice, tee
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from discotree import text
from discotree.config.schema import MAX_TREES, Config, Decoding
from discotree.decoding.constrained import ConstrainedSearch
from discotree.decoding.decode import Decoded, decode
from discotree.decoding.gap_penalty import GapPenalties
from discotree.decoding.k_best import k_best, rank_with_penalties
from discotree.decoding.trees import TreeBuilder
from discotree.encoding.head_rules import HeadRules
from discotree.errors import SENTENCE_ERRORS, ConfigError, InputError, ModelError, first_line, requires_extra, shorten
from discotree.files.writing import temporary_folder
from discotree.log import logger
from discotree.models import HUB
from discotree.models.card import CARD, Card
from discotree.models.finding import Candidates, announce_licence, find, mismatch, names
from discotree.models.folder import Model, read_model, write_with_card
from discotree.network.arrays import I64
from discotree.network.batch import Corpus, FormEntry, Forms, by_length
from discotree.network.scores import Engine, Scores, check_engine, join_batches
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.parsing.constrained import ConstrainedParse
from discotree.processes import gc_paused
from discotree.text.recognition import sample_of
from discotree.trees.constraints import Constraint, WordHas, check_constraints, constraints_of
from discotree.trees.tree import NONE, Token, Tree, plain_tokens

DEFAULT_MODEL = "DISCOTREE_MODEL"  # environment variable with the model to use if none is named
CPU, TORCH, FLOAT32 = "cpu", "torch", "onnx-float32"
DEVICE = re.compile(r"(cpu|cuda|mps|xpu)(:[0-9]+)?")
CUDA_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

MAX_SENTENCES = 10_000  # parsed together, however short they are
PROBE = "."  # a sentence that every parser can parse
MEAN_WORDS = 20  # rough estimate of the length of a sentence
QUICK_STEPS = 30  # max_steps for a parse that somebody waits for
MAX_WORDS_K = 200  # longest sentence for k_best: memory per candidate grows with words²
MAX_CANDIDATES = 4  # labelled dependencies that k_best considers for every tree
MAX_WORDS = 10_000  # per sentence: a node's positions are a bit set, so trees grow with the square of their words
WHOLE_WORDS = 1000  # a longer sentence is parsed in parts
PART_WORDS = 250  # many short parts fill a batch, and scoring takes time with the square of their words
LAST_WORDS = frozenset(".?!;:…")  # good ends of a part

Sentence = str | Sequence[str] | Sequence[Token] | Tree
Constraints = Sequence[Constraint] | Tree  # on one sentence: a list, or a partial tree
OnError = Literal["raise", "skip", "none"]
EXPECTED = "a sentence is a string, a list of words or Tokens, or a Tree"


def load(
    name: str | PathLike[str] | None = None,
    device: str | None = None,
    revision: str | None = None,
    *,
    engine: str | None = None,
    threads: int | None = None,
    text: str | None = None,
) -> "Parser":
    """Return the parser of a model, on a GPU if there is one and no ``device`` is named ("cpu", "cuda", "cuda:1").

    ``name`` is an installed model (``nl``), a folder, or a model on the hub (``hub:org/name``), there with a
    ``revision``: a branch, a tag or a commit. Without a name, the environment variable DISCOTREE_MODEL decides, and
    then the language of ``text``; a text whose language is uncertain raises InputError. ``engine`` is ``onnx`` (the
    default without a GPU), ``onnx-float32`` or ``torch``; ``threads`` limits the threads on a CPU.
    Example: ``dt.load("nl", "cpu")("Zij heeft het boek gelezen.")``.
    """
    name = name or os.environ.get(DEFAULT_MODEL)
    if not name:
        if text is None:
            installed = ", ".join(names()) or "none is installed"
            raise ModelError(f"pass the name of a model ({installed}), or a text in its language: load(text=…)")
        name = Candidates.installed().choose(text).model
    return Parser.from_pretrained(name, device, revision, engine, threads)


class Parser:
    """A model and the engine that runs it: from words to trees."""

    def __init__(self, model: Model, engine: Engine | None = None) -> None:
        """Without an ``engine``, the one that suits this machine is used."""
        self.model = model
        self.engine = engine or new_engine(model)
        self._process = os.getpid()
        self._batch_words = self.engine.batch_words
        self._levels = np.array(model.vocab.levels)
        self._phrases = GapPenalties.for_labels(model.vocab.labels.symbols, model.vocab.root)
        self._penalties: tuple[Decoding, GapPenalties] | None = None  # the last ones
        self._known_forms: dict[str, FormEntry] = {}
        language = model.config.language
        rules = text.convention(language) if language in text.LANGUAGES else None
        self._tree_builder = TreeBuilder(model.vocab, self.has_tags, model.calibration, rules)

    @classmethod
    def from_pretrained(
        cls,
        name: str | PathLike[str],
        device: str | None = None,
        revision: str | None = None,
        engine: str | None = None,
        threads: int | None = None,
    ) -> "Parser":
        """Return the parser of a model; name, device, revision, engine and threads are those of ``load``.

        Example: ``dt.Parser.from_pretrained("nl", "cpu").name``.
        """
        folder = find(name, revision)
        engine, device = choose_engine(engine, device)  # fails before the weights are read
        announce_licence(folder)
        model = read_model(folder)
        return cls(model, build_engine(model, engine, device, threads))

    def __reduce__(self) -> tuple[Callable[..., "Parser"], tuple[object, ...]]:
        """Pickle the name of the model's folder, which the other process reads again."""
        if self.folder is None:
            raise TypeError("a parser without a folder cannot be pickled; save it with save_pretrained, and load it")
        return Parser.from_pretrained, (self.folder, self.device, None, self.engine.name)

    @property
    def config(self) -> Config:
        """The settings that the model was trained with."""
        return self.model.config

    @property
    def vocab(self) -> Vocab:
        """The words, characters, tags and labels that the network knows."""
        return self.model.vocab

    @property
    def folder(self) -> Path | None:
        """The folder that the model was loaded from."""
        return self.model.folder

    @property
    def device(self) -> str:
        """The device that computes the network: "cpu", "cuda" or "cuda:1"."""
        return self.engine.device

    @property
    def has_tags(self) -> bool:
        """Whether the network reads the tags of the words."""
        return self.model.has_tags

    @property
    def name(self) -> str:
        """The name that ``load`` takes, from the model's card; without a card, the name in its settings."""
        with suppress(ModelError, TypeError):  # no card, or no folder
            return Card.read(self.folder / CARD).name  # type: ignore[operator]
        return self.config.name

    def __repr__(self) -> str:
        language = self.config.language or "no language"
        where = f"{self.engine.name} on {self.device}"
        return f"<Parser {self.name!r}: {language}, {self.model.size:,} weights, {where}>"

    @property
    def _window_words(self) -> int:
        """The number of words to read ahead, so that batches hold sentences of similar length."""
        return self.engine.read_ahead * self._batch_words

    @property
    def _window(self) -> int:
        """The approximate number of sentences in ``window_words``."""
        return self._window_words // MEAN_WORDS

    @property
    def head_rules(self) -> HeadRules:
        """The head rules that the model was trained with; see ``Model.head_rules``."""
        return self.model.head_rules

    def __call__(self, sentence: Sentence, constraints: Constraints = ()) -> Tree:
        """Return the tree of one sentence: a string, a list of words or Tokens, or a Tree.

        With ``constraints``, or a partial tree, return the best tree that satisfies them; raises ConstraintError with
        those that conflict. Example: ``parser("Zij heeft het boek gelezen.")["ppart"][0].text``.
        """
        self._check_language([sentence])
        tokens, id = self.tokens(sentence), _id_of(sentence)
        if constraints:
            return self._constrained(tokens, constraints, id=id)[0]
        (tree,) = self._parse_tokens([tokens], ids=[id])
        return tree

    def parse(
        self,
        sentences: Iterable[Sentence | None],
        decoding: Decoding | None = None,
        window: int | None = None,
        *,
        constraints: Sequence[Constraints] = (),
        errors: OnError = "raise",
        progress: bool = False,
    ) -> Iterator[Tree]:
        """Yield the trees of sentences, in their order. A string is one sentence, even if it looks like several.

        A sentence that cannot be parsed, such as None or "", raises an InputError with its ``index`` and ``text`` after
        the trees before it. With ``errors="skip"`` it is left out, and with ``errors="none"`` its tree is None.
        ``decoding`` replaces the model's settings. ``window`` sentences are read ahead. ``progress`` shows a bar.
        ``constraints`` has a list of constraints, or a partial tree, for every sentence; see ``__call__``.
        Trees without an id are numbered from 1. Example: ``list(parser.parse(["Wie?", ["Ik"], ""], errors="skip"))``.
        """
        is_table = isinstance(sentences, Mapping) or hasattr(sentences, "columns")  # iterating gives names of columns
        if isinstance(sentences, str | Tree | Token) or is_table or not isinstance(sentences, Iterable):
            raise TypeError(
                f"parse() takes a list of sentences, got {describe(sentences)}; "
                "use parser(sentence) for one sentence and parser.parse_text(text) for a text"
            )
        if errors not in get_args(OnError):
            raise ConfigError(f"errors: expected {', '.join(get_args(OnError))}, got {errors!r:.50}")
        if constraints and isinstance(sentences, Sized) and len(constraints) != len(sentences):
            counts = f"got {len(constraints)} for {len(sentences)} sentences"
            raise InputError(f"constraints: {counts}; for one sentence, call parser(sentence, constraints=[…])")
        options = ParseOptions(decoding, window=window or self._window, constraints=constraints)
        return self._parse(sentences, options, errors, progress)

    def _parse(
        self, sentences: Iterable[Sentence | None], options: "ParseOptions", errors: OnError, progress: bool
    ) -> Iterator[Tree]:
        total = len(sentences) if isinstance(sentences, Sized) else None
        sentences = iter(sentences)
        first = list(islice(sentences, options.window))
        self._check_language(first)
        inputs, again = tee(chain(first, sentences))
        outcomes = zip(parse_each(self, inputs, options), again, strict=False)
        with ExitStack() as stack:  # an error removes the bar
            if progress:
                from rich.console import Console
                from rich.progress import Progress

                bar = stack.enter_context(Progress(console=Console(stderr=True)))
                task = bar.add_task("parsing", total=total)
            for index, (outcome, sentence) in enumerate(outcomes):
                if progress:
                    bar.advance(task)
                if not isinstance(outcome, Failure):
                    yield outcome
                elif errors == "raise":
                    text = sentence if isinstance(sentence, str) else repr(sentence)
                    error = InputError(f"sentences[{index}], {shorten(text, 60)!r}: {outcome.reason}")
                    error.index, error.text = index, text
                    raise error from outcome.error
                elif errors == "none":
                    yield None  # type: ignore[misc]

    def parse_text(self, text: str, decoding: Decoding | None = None) -> Iterator[Tree]:
        """Split a text into sentences and yield their trees; ``decoding`` replaces the model's settings.

        Example: ``[tree.confidence for tree in parser.parse_text("Wie komt er? Niemand.")]``.
        """
        if not isinstance(text, str):
            raise TypeError(f"parse_text() takes a string, got {describe(text)}")
        self._check_language([text])
        return self.parse(map(_text_tokens, self._sentences(text)), decoding)

    def _check_language(self, sentences: Iterable[Sentence | None]) -> None:
        """Warn if the strings are clearly not in the model's language."""
        sample = sample_of(sentence for sentence in sentences if isinstance(sentence, str))
        if warning := mismatch(sample, self.config.language):
            warnings.warn(warning, stacklevel=3)

    def tokens(self, sentence: Sentence, *, joined: bool = False) -> list[Token]:
        """Return the tokens of a sentence. A string is tokenised by the rules of the model's language.

        A string of several sentences is an InputError, unless they are ``joined``.
        Example: ``[token.form for token in parser.tokens("Wie komt er?")]``.
        """
        if isinstance(sentence, Tree):
            return list(sentence.tokens)
        if isinstance(sentence, str):
            sentences = list(map(_text_tokens, self._sentences(sentence)))
            if len(sentences) > 1 and not joined:
                raise InputError(
                    f"the text has {len(sentences)} sentences; use parser.parse_text(text) to get a tree for each, "
                    "or pass a list of words to get a single tree"
                )
            return [token for tokens in sentences for token in tokens]
        if isinstance(sentence, Token) or not isinstance(sentence, Iterable):
            raise TypeError(f"{EXPECTED}, got {describe(sentence)}")
        words = list(sentence)
        if {*map(type, words)} == {str}:
            return plain_tokens(words)  # type: ignore[arg-type]
        return [word if isinstance(word, Token) else _token(word) for word in words]

    def k_best(self, sentence: Sentence, k: int, id: str = "", constraints: Constraints = ()) -> list[Tree]:
        """Return the tree that ``parse`` finds and the other most probable trees of a sentence: k in all, best first.

        Several labellings may mean the same tree: it has the rank of the best of them. If gaps have penalties, the
        ``MAX_CANDIDATES`` · k most probable trees are ranked with these. The confidence of each tree is its own
        expected F1, so it need not fall from tree to tree. With ``constraints``, all trees satisfy them. The trees of
        a sentence with an id have ids of their own: 7.1, 7.2, and so on.
        Example: ``parser.k_best("Wie komt er?", 5, id="7")``.
        """
        if not isinstance(k, int) or not 1 <= k <= MAX_TREES:
            raise InputError(f"k, the number of trees, must be between 1 and {MAX_TREES:,}, got {k!r}")
        tokens = self.tokens(sentence)
        if problem := self._problem(tokens):
            raise InputError(f"the sentence {problem}")
        self._check_language([sentence])
        if len(tokens) > MAX_WORDS_K:
            raise InputError(f"the sentence has {len(tokens)} words; k_best takes at most {MAX_WORDS_K}")
        trees = self._constrained(tokens, constraints, k) if constraints else self._k_best(tokens, k)
        id = id or _id_of(sentence)
        return [replace(tree, id=f"{id}.{rank}") for rank, tree in enumerate(trees, 1)] if id else trees

    def _k_best(self, tokens: list[Token], k: int) -> list[Tree]:
        ((_, scores),) = self._scores(self._corpus([tokens]))
        first = self._decode(scores)
        penalties = self._gap_penalties(self.config.decoding)
        candidates = MAX_CANDIDATES * k if penalties else k
        while True:
            decoded = k_best(scores, candidates)
            if penalties:
                decoded = rank_with_penalties(decoded, penalties)
            ranked = (self._tree_builder.trees([tokens], one, scores)[0] for one in [first, *decoded])
            trees = list(dict.fromkeys(ranked))[:k]
            if len(trees) == k or len(decoded) < candidates or candidates >= MAX_CANDIDATES * k:
                return trees
            candidates *= 2

    def _constrained(
        self,
        tokens: list[Token],
        constraints: Constraints,
        k: int = 1,
        decoding: Decoding | None = None,
        id: str = "",
        max_steps: int | None = None,
    ) -> list[Tree]:
        """Return the k best trees that satisfy constraints, fewer if there are fewer."""
        decoding = decoding or self.config.decoding
        if isinstance(constraints, Tree):
            if list(constraints.words) != [token.form for token in tokens]:
                raise InputError(f"the partial tree has other words than the sentence: {constraints.text():.60}")
            constraints = constraints_of(constraints)
        if decoding.method != "exact":
            raise ConfigError(f"constraints need the exact search, not {decoding.method}")
        if len(tokens) > MAX_WORDS_K:
            raise InputError(f"the sentence has {len(tokens)} words; constraints allow at most {MAX_WORDS_K}")
        check_constraints(constraints, [token.form for token in tokens])
        if self.has_tags:
            tags = {one.position: one.tag for one in constraints if isinstance(one, WordHas) and one.tag}
            tokens = [token._replace(tag=tags.get(position, token.tag)) for position, token in enumerate(tokens)]
        if problem := self._problem(tokens):
            raise InputError(f"the sentence {problem}")
        ((_, scores),) = self._scores(self._corpus([tokens]))
        search = ConstrainedSearch(scores, self._gap_penalties(decoding) or self._phrases, self.vocab.root)
        parse = ConstrainedParse(tokens, constraints, search, self._tree_builder)
        if k == 1 and not parse.is_structural:
            return parse.trees([self._decode(scores, decoding)], scores, id)
        trees = parse.trees(parse.search_for(k, max_steps), scores, id)
        if len(trees) < k:  # some have several labellings
            trees = parse.trees(parse.search_for(MAX_CANDIDATES * k), scores, id)
        return trees[:k]

    def _parse_tokens(
        self, sentences: Sequence[Sequence[Token]], decoding: Decoding | None = None, ids: Sequence[str] = ()
    ) -> list[Tree]:
        """Return the trees of sentences, in their order; a model with tags as input reads those of the tokens."""
        for number, tokens in enumerate(sentences, 1):
            if problem := self._problem(tokens):
                raise InputError(f"sentence {number} {problem}")
        return self._parse_checked(sentences, decoding, ids)

    def _parse_checked(
        self, sentences: Sequence[Sequence[Token]], decoding: Decoding | None = None, ids: Sequence[str] = ()
    ) -> list[Tree]:
        """Return the trees of sentences that have no ``problem``."""
        split = [split_long(tokens) for tokens in sentences]
        parts = [part for sentence_parts in split for part in sentence_parts]
        part_ids = [ids[number] if ids else "" for number, sentence_parts in enumerate(split) for _ in sentence_parts]
        trees: dict[int, Tree] = {}
        with gc_paused():
            for groups, scores in join_batches(self._scores(self._corpus(parts))):
                numbers = np.concatenate(groups).tolist()
                batch, names = [parts[number] for number in numbers], [part_ids[number] for number in numbers]
                decoded = self._decode(scores, decoding)
                batch_trees = self._tree_builder.trees(batch, decoded, scores, names, list(map(len, groups)))
                trees.update(zip(numbers, batch_trees, strict=True))
            in_order = (trees[number] for number in range(len(parts)))
            return [join_parts([next(in_order) for _ in sentence_parts]) for sentence_parts in split]

    def _problem(self, tokens: Sequence[Token]) -> str:
        """Return why a sentence cannot be parsed, or "" if it can."""
        if not tokens:
            return "has no words"
        if len(tokens) > MAX_WORDS:
            return f"has {len(tokens):,} words, expected at most {MAX_WORDS:,}; split it"
        if not all(map(itemgetter(0), tokens)):
            return f"has an empty word at position {[token[0] for token in tokens].index('')}; leave it out"
        known = self.vocab.tags.ids
        if self.has_tags and NONE not in known and all(token.tag == NONE for token in tokens):
            return "has no tags, and this model reads tags; pass Tokens that have them"
        return ""

    def _scores(self, corpus: Corpus, batch_words: int | None = None) -> Iterator[tuple[I64, Scores]]:
        """Yield the scores of all sentences, batch by batch, with the numbers of the sentences.

        The engine starts on the next batches before the scores of the last one are used.
        """
        if self._process != os.getpid():
            self._forked()
        started: list[tuple[I64, Callable[[], Scores]]] = []
        for sentences in by_length(corpus.lengths, batch_words or self._batch_words):
            started.append((sentences, self.engine.start(corpus.batch(sentences))))
            if len(started) >= self.engine.ahead:
                numbers, wait = started.pop(0)
                yield numbers, wait()
        for numbers, wait in started:
            yield numbers, wait()

    def _forked(self, threads: int = 1) -> None:
        """Use the parser in a forked process."""
        if self.device != CPU:
            raise ModelError("a forked process cannot use the GPU of its parent; start it with the method 'spawn'")
        self.engine.forked(threads)
        self._process = os.getpid()

    @property
    def _forks(self) -> bool:
        """Whether forked processes can use the parser at full speed. PyTorch's threads do not survive a fork."""
        return sys.platform == "linux" and self.engine.name != TORCH

    def _decode(self, scores: Scores, decoding: Decoding | None = None) -> Decoded:
        """Find heads and labels with these settings, or with those of the model."""
        decoding = decoding or self.config.decoding
        levels = self._levels if decoding.consistent else None
        return decode(scores, decoding.method, decoding.beam, levels, self._gap_penalties(decoding))

    def _gap_penalties(self, decoding: Decoding) -> GapPenalties | None:
        """Return the gap penalties of the settings, or None if there are none."""
        if not any(decoding.gap_penalties.values()):
            return None
        stored = self._penalties
        if stored is None or stored[0] is not decoding:
            stored = self._penalties = decoding, self._phrases.with_penalties(decoding.gap_penalties)
        return stored[1]

    def _forms(self) -> Forms:
        """Return an empty table of words."""
        pieces = self.model.subwords.pieces if self.model.subwords else None
        return Forms(self.vocab, self.config.network.max_chars, pieces, self._known_forms)

    def _corpus(self, sentences: Sequence[Sequence[Token]]) -> Corpus:
        """Return sentences as input for the network."""
        tags = [[token.tag for token in tokens] for tokens in sentences] if self.has_tags else ()
        return Corpus(sentences, self._forms(), tags)

    def _sentences(self, string: str) -> Iterator[list[text.Word]]:
        if not self.config.language:
            raise InputError("this model has no language, so it cannot tokenise a string; pass a list of words")
        return text.sentences(string, self.config.language)

    def save_pretrained(self, folder: str | Path, card: Card | None = None) -> None:
        """Write the model with a card to a folder that can be uploaded to the Hugging Face hub (docs/hub.md).

        Example: ``parser.save_pretrained("model")``.
        """
        write_with_card(self.model, folder, card)

    def push_to_hub(
        self,
        repository: str,
        card: Card | None = None,
        *,
        private: bool | None = None,
        revision: str | None = None,
        commit_message: str | None = None,
        token: str | None = None,
    ) -> str:
        """Upload the model and its card to a repository on the Hugging Face hub; return the address of the commit.

        ``private``, ``revision`` (a branch), ``commit_message`` and ``token`` are those of huggingface_hub.
        Example (not run): ``parser.push_to_hub("org/name", private=True)``.
        """
        from discotree.models.hub import check_names, push

        check_names(repository, revision)
        with temporary_folder() as temporary:
            folder = Path(temporary, "model")
            write_with_card(self.model, folder, card, HUB + repository)
            return push(folder, repository, private, revision, commit_message, token)


def _id_of(sentence: Sentence | None) -> str:
    return sentence.id if isinstance(sentence, Tree) else ""


def _text_tokens(words: Iterable[text.Word]) -> list[Token]:
    return [Token(word.form, start=word.start, end=word.end) for word in words]


def _token(word: object) -> Token:
    if not isinstance(word, str):
        raise TypeError(f"{EXPECTED}; one of its words is {describe(word)}")
    return Token(word)


def describe(value: object) -> str:
    """Return a value and its type for an error message."""
    return f"{value!r:.40} ({type(value).__name__})"


# Sentence by sentence


@dataclass(frozen=True)
class Failure:
    """The error that a sentence has instead of a tree."""

    error: Exception

    @property
    def reason(self) -> str:
        """The first line of the error."""
        return first_line(self.error)


@dataclass(frozen=True)
class ParseOptions:
    """The settings for parsing sentences."""

    decoding: Decoding | None = None  # None: the settings of the model
    k: int | None = None  # for k_best_each: the number of trees per sentence; None: one tree, found by decoding
    ids: Sequence[str] = ()  # one id per sentence; () keeps the ids of the sentences
    window: int | None = None  # sentences to parse together, numbered from 1 if they have no id; None: by their words
    constraints: Sequence[Constraints] = ()  # for every sentence; () if there are none
    max_steps: int | None = None  # of the search under constraints: with few steps, its tree may not be the best


_Item = tuple[list[Token], str, Constraints]  # tokens, id


def parse_each(
    parser: Parser, sentences: Iterable[Sentence | None], options: ParseOptions | None = None
) -> Iterator[Tree | Failure]:
    """Yield the tree of every sentence, or a Failure. A string is one sentence.

    Sentences are parsed in batches. If a batch fails, its halves are parsed separately to find the sentence at fault.
    If the parser cannot parse anything any more (its GPU is lost), a ModelError is raised.
    """
    for outcome in k_best_each(parser, sentences, options):
        yield outcome if isinstance(outcome, Failure) else outcome[0]


def k_best_each(
    parser: Parser, sentences: Iterable[Sentence | None], options: ParseOptions | None = None
) -> Iterator[list[Tree] | Failure]:
    """Yield the k best trees of every sentence, or a Failure; see ``parse_each``."""
    options = options or ParseOptions()
    group: list[_Item | Failure] = []
    words = 0
    limit = math.inf if options.window else parser._window_words
    for number, sentence in enumerate(sentences):
        constraints = options.constraints[number] if number < len(options.constraints) else ()
        item = _item(parser, sentence, options.ids[number] if options.ids else "", constraints)
        if options.window and not isinstance(item, Failure):
            item = item[0], item[1] or str(number + 1), item[2]
        group.append(item)
        words += 0 if isinstance(item, Failure) else len(item[0])
        if words >= limit or len(group) >= (options.window or MAX_SENTENCES):
            yield from _outcomes(parser, group, options)
            group, words = [], 0
    yield from _outcomes(parser, group, options)


def _item(parser: Parser, sentence: Sentence | None, id: str, constraints: Constraints) -> _Item | Failure:
    """Return the tokens of a sentence, or a Failure if it cannot be parsed."""
    try:
        tokens = parser.tokens(sentence, joined=True)  # type: ignore[arg-type]  # None is a TypeError
        if problem := parser._problem(tokens):
            raise InputError(f"the sentence {problem}")
    except (*SENTENCE_ERRORS, TypeError) as error:
        return Failure(error)
    return tokens, id or _id_of(sentence), constraints


def _outcomes(
    parser: Parser, group: Sequence[_Item | Failure], options: ParseOptions
) -> Iterator[list[Tree] | Failure]:
    parsed = iter(_by_halves(parser, [item for item in group if not isinstance(item, Failure)], options))
    for item in group:
        yield item if isinstance(item, Failure) else next(parsed)


def _by_halves(parser: Parser, items: Sequence[_Item], options: ParseOptions) -> list[list[Tree] | Failure]:
    if not items:
        return []
    try:
        if options.k:
            return [parser.k_best(tokens, options.k, id, constraints) for tokens, id, constraints in items]
        free = [(tokens, id) for tokens, id, constraints in items if not constraints]
        trees = iter(parser._parse_checked([tokens for tokens, _ in free], options.decoding, [id for _, id in free]))
        return [
            parser._constrained(tokens, given, 1, options.decoding, id, options.max_steps) if given else [next(trees)]
            for tokens, id, given in items
        ]
    except SENTENCE_ERRORS as error:
        if len(items) == 1:
            logger.debug("a sentence of %d words cannot be parsed", len(items[0][0]), exc_info=True)
            _check_parser(parser, error)
            return [Failure(error)]
    half = len(items) // 2
    return _by_halves(parser, items[:half], options) + _by_halves(parser, items[half:], options)


def _check_parser(parser: Parser, error: Exception) -> None:
    """Raise a ModelError if the parser cannot even parse a full stop, so that the sentence is not at fault."""
    tags = parser.vocab.tags.symbols
    try:
        parser._parse_checked([[Token(PROBE, tags[0] if tags else NONE)]])
    except SENTENCE_ERRORS:
        raise ModelError(f"the parser has stopped working: {first_line(error)}") from error


# Long sentences


def split_long(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Split a long sentence into parts of at most PART_WORDS; the end of a part is punctuation if possible."""
    if len(tokens) <= WHOLE_WORDS:
        return [tokens]
    parts = []
    begin = 0
    while begin < len(tokens):
        end = begin + PART_WORDS
        if end < len(tokens):
            candidates = range(end, end - PART_WORDS // 2, -1)
            end = next((candidate for candidate in candidates if tokens[candidate - 1].form in LAST_WORDS), end)
        parts.append(tokens[begin:end])
        begin = end
    logger.warning("a sentence of %d words is parsed in %d separate parts", len(tokens), len(parts))
    return parts


def join_parts(trees: list[Tree]) -> Tree:
    """Join the trees of the parts of one sentence under one root."""
    if len(trees) == 1:
        return trees[0]
    tokens: list[Token] = []
    token_parents: list[int] = []
    nodes: list[tuple[str, str, int]] = []
    for tree in trees:
        part_token_parents, part_nodes = tree.parents()
        first = len(nodes)
        token_parents += [parent + first if parent >= 0 else parent for parent in part_token_parents]
        nodes += [
            (label, function, parent + first if parent >= 0 else parent) for label, function, parent in part_nodes
        ]
        tokens += tree.tokens
    root = trees[0].root
    whole = Tree.from_parents(tokens, token_parents, nodes, root=(root.label, root.function), id=trees[0].id)
    inner = [value for tree in trees for value in tree.confidences[1:]]
    sizes = [len(tree.confidences) for tree in trees]
    expected = sum((tree.confidence or 0.0) * size for tree, size in zip(trees, sizes, strict=True)) / max(
        1, sum(sizes)
    )
    return replace(
        whole,
        confidence=expected,
        confidences=(math.prod(tree.confidences[0] for tree in trees), *inner),
    )


# Engines


def choose_engine(name: str | None = None, device: str | None = None) -> tuple[str | None, str]:
    """Return an engine and a device that work together; None as the engine leaves the choice to ``build_engine``."""
    check_engine(name)
    if device is None:
        device = "cuda" if name in (None, TORCH) and _has_gpu() else CPU
    if not DEVICE.fullmatch(device):
        raise ModelError(f"the device {device!r:.50} cannot be used: expected 'cpu', 'cuda' or 'cuda:1'")
    if device == CPU:
        return name, CPU
    if name not in (None, TORCH):
        raise ConfigError(f"the engine {name} runs on the CPU only; use the engine torch for device {device!r:.50}")
    with requires_extra("gpu"):
        from discotree.network.pytorch.engine import usable
    return TORCH, str(usable(device))


def build_engine(model: Model, name: str | None, device: str, threads: int | None = None) -> Engine:
    """Return an engine with the model's weights; ``threads`` limits the threads on a CPU."""
    network, parts = model.config.network, (model.vocab, model.has_tags, model.subwords, model.weights)
    is_unknown = isinstance(model.subwords, Pretrained) and model.subwords.config is None
    if name == TORCH or (name is None and is_unknown):
        with requires_extra("train"):
            from discotree.network.pytorch.engine import TorchEngine, network_of
        return TorchEngine(network_of(network, *parts), device, threads)
    from discotree.network.onnx.engine import OnnxEngine

    return OnnxEngine(network, *parts, "float32" if name == FLOAT32 else "int8", threads)


def new_engine(model: Model, name: str | None = None, device: str | None = None) -> Engine:
    """Return the engine for a model that was asked for, or the one that suits this machine."""
    return build_engine(model, *choose_engine(name, device))


def _has_gpu() -> bool:
    """Return whether torch is installed and finds a GPU; torch is imported only if there is a driver."""
    if find_spec("torch") is None:
        return False
    try:
        ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return False
    import torch

    return torch.cuda.is_available()
