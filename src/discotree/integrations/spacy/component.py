"""The spaCy component ``discotree``, which parses every sentence of a Doc."""

import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, get_args
from zipfile import ZipFile

import numpy
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span

from discotree import text
from discotree.config.schema import Method
from discotree.errors import ConfigError, InputError
from discotree.integrations.spacy.extensions import STORED, leaf, to_line
from discotree.log import logger
from discotree.models.card import CARD, README
from discotree.models.finding import Candidates
from discotree.network.scores import check_engine
from discotree.parsing.parser import Failure, ParseOptions, load, parse_each
from discotree.trees.tree import NONE, Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser


SPACY_TOKENS, MODEL_TOKENS = "spacy", "model"


@dataclass(frozen=True)
class ComponentSettings:
    model: str = ""  # a name, a folder or hub:ORG/NAME; empty: the name is the pipeline's language
    device: str = ""  # empty: a GPU if there is one
    engine: str = ""  # empty: torch on a GPU, onnx on a CPU
    decode: str = ""  # empty: the model's method
    tokens: str = SPACY_TOKENS  # tokens to parse: spaCy's, or the model's own tokenisation of the text
    batch_words: int = 0  # words per forward pass; 0: a default for the device
    set_tags: bool = False  # also set Token.tag
    include_model: bool = False  # save the model with the pipeline

    def __post_init__(self) -> None:
        check_engine(self.engine or None)
        if self.decode not in ("", *get_args(Method)):
            raise ConfigError(f"decode: expected one of {', '.join(get_args(Method))}, got {self.decode!r}")
        if self.tokens not in (SPACY_TOKENS, MODEL_TOKENS):
            raise ConfigError(f"tokens: expected {SPACY_TOKENS!r} or {MODEL_TOKENS!r}, got {self.tokens!r}")
        if self.batch_words < 0:
            raise ConfigError(f"batch_words: expected 0 or more, got {self.batch_words}")


TokensAndOffsets = tuple[list[Token], list[tuple[int, int]]]


def sentences_of(doc: Doc, language: str) -> Iterator[Span]:
    """Yield the sentences of a Doc; set their boundaries first if no other component has."""
    is_split = doc.has_annotation("SENT_START") if len(doc) > 1 else all(token.is_sent_start for token in doc)
    if not is_split:
        if not language:
            raise InputError(
                "the Doc has no sentence boundaries, and the model cannot split sentences; "
                'call nlp.add_pipe("sentencizer", first=True)'
            )
        _set_boundaries(doc, language)
    yield from doc.sents


def _set_boundaries(doc: Doc, language: str) -> None:
    """Split a Doc as the treebank of the language would."""
    token_starts = [token.idx for token in doc]
    offsets = [words[0].start for words in text.sentences(doc.text, language) if words]
    starts = [bisect_left(token_starts, offset) for offset in offsets]
    sent_starts = numpy.full(len(doc), -1)
    sent_starts[[0, *(start for start in starts[1:] if start < len(doc))]] = 1
    doc.from_array(["SENT_START"], sent_starts.astype(numpy.uint64))  # type: ignore[arg-type]


def spacy_tokens(sent: Span, with_tags: bool) -> TokensAndOffsets:
    """Return spaCy's tokens of a sentence, without whitespace tokens, and their offsets in it."""
    tokens = [token for token in sent if token.text.strip()]
    offsets = [(token.idx - sent.start_char, token.idx - sent.start_char + len(token)) for token in tokens]
    if not with_tags:
        return [Token(token.text) for token in tokens], offsets
    for token in tokens:
        if not token.tag_:
            raise InputError(
                f"the model needs tags, but {token.text!r} has none; add a component that sets Token.tag "
                "before discotree"
            )
    return [Token(token.text, token.tag_) for token in tokens], offsets


def model_tokens(sent: Span, language: str) -> TokensAndOffsets:
    """Return the tokens of a sentence as the treebank of the language has them, and their offsets in it."""
    words = [word for line in text.sentences(sent.text, language) for word in line]
    return [Token(word.form) for word in words], [(word.start, word.end) for word in words]


FACTORY = "discotree"

SentenceInput = tuple[Span, list[Token], list[tuple[int, int]]]  # with the offsets of the tokens


@Language.factory(
    FACTORY,
    default_config=asdict(ComponentSettings()),
    assigns=["doc._.trees", "doc._.constituents", "span._.tree", "span._.constituents", "token._.leaf", "token.lemma"],
)
def make(
    nlp: Language,
    name: str,
    model: str,
    device: str,
    engine: str,
    decode: str,
    tokens: str,
    batch_words: int,
    set_tags: bool,
    include_model: bool,
) -> "DiscotreePipe":
    """Make the component from a pipeline's configuration."""
    if any(isinstance(pipe, DiscotreePipe) for _, pipe in nlp.components):
        logger.warning(
            "%s: the pipeline already has a discotree component; each Doc keeps only the trees of the last one", name
        )
    if not model:
        candidates = Candidates.installed()
        model = candidates.for_language(str(nlp.lang)) or str(nlp.lang)
        if model in candidates.restricted:
            raise ConfigError(
                f"model: {model} is for non-commercial use only ({candidates.restricted[model].licence}); "
                f'to use it, set {{"model": "{model}"}} in the config'
            )
    settings = ComponentSettings(model, device, engine, decode, tokens, batch_words, set_tags, include_model)
    return DiscotreePipe(name, settings)


class DiscotreePipe(Pipe):
    """Pipeline component that parses the sentences of Docs. Several threads may use it at once."""

    def __init__(self, name: str, settings: ComponentSettings, model: bytes = b"") -> None:
        """Load the model that the settings name, or the one in ``model``, which ``to_bytes`` returned.

        With ``include_model``, loading by name waits for the first use: usually spaCy loads the saved copy before.
        """
        self.name = name
        self.settings = settings
        self._parser: Parser | None = None
        self._card_texts: dict[str, str] = {}  # by file name; saved with the model
        self._loading = Lock()
        if model:
            self.from_bytes(model)
        elif not settings.include_model:
            self._use(self._load(settings.model))

    def _use(self, parser: "Parser") -> "Parser":
        if self.settings.tokens == MODEL_TOKENS and parser.has_tags:
            raise ConfigError(
                f"tokens: model {self.settings.model!r} needs tags; use {SPACY_TOKENS!r} instead of 'model'"
            )
        if self.settings.tokens == MODEL_TOKENS and not parser.config.language:
            raise ConfigError(f"tokens: the model {self.settings.model!r} cannot tokenise text; use {SPACY_TOKENS!r}")
        parser._batch_words = self.settings.batch_words or parser._batch_words
        paths = [parser.folder / name for name in (CARD, README)] if parser.folder else []
        self._card_texts = {path.name: path.read_text("utf-8", "replace") for path in paths if path.is_file()}
        self._parser = parser
        return parser

    def _load(self, model: str) -> "Parser":
        return load(model, self.settings.device or None, engine=self.settings.engine or None)

    @property
    def parser(self) -> "Parser":
        """The parser, which is loaded on first use."""
        if self._parser is None:
            with self._loading:
                return self._parser or self._use(self._load(self.settings.model))
        return self._parser

    def __call__(self, doc: Doc) -> Doc:
        (error,) = self._parse([doc])
        if error:
            raise error
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse Docs together, in groups that fill a few batches; the error handler gets the Docs that fail."""
        handle_error = self.get_error_handler()
        for docs in self._groups(stream, batch_size):
            for doc, error in zip(docs, self._parse(docs), strict=True):
                if error:
                    handle_error(self.name, self, [doc], error)
                else:
                    yield doc

    def _groups(self, stream: Iterable[Doc], max_docs: int) -> Iterator[list[Doc]]:
        group: list[Doc] = []
        words = 0
        for doc in stream:
            group.append(doc)
            words += len(doc)
            if len(group) >= max_docs or words >= self.parser._window_words:
                yield group
                group, words = [], 0
        if group:
            yield group

    def _parse(self, docs: list[Doc]) -> list[Exception | None]:
        """Parse Docs, and return the error of each one that fails."""
        parser = self.parser
        decoding = parser.config.decoding
        if self.settings.decode:
            decoding = replace(decoding, method=self.settings.decode)  # type: ignore[arg-type]
        inputs = [self._input(doc) for doc in docs]
        sentences = (tokens for rows in inputs if isinstance(rows, list) for _, tokens, _ in rows)
        outcomes = parse_each(parser, sentences, ParseOptions(decoding))
        return [rows if isinstance(rows, Exception) else self._store(rows, outcomes) for rows in inputs]

    def _input(self, doc: Doc) -> list[SentenceInput] | Exception:
        """Return the sentences to parse, or the reason why the Doc cannot be parsed."""
        language, has_tags = self.parser.config.language, self.parser.has_tags
        rows = []
        try:
            for sent in sentences_of(doc, language):
                if self.settings.tokens == MODEL_TOKENS:
                    tokens, offsets = model_tokens(sent, language)
                else:
                    tokens, offsets = spacy_tokens(sent, has_tags)
                if tokens:
                    rows.append((sent, tokens, offsets))
        except Exception as error:  # spaCy's error handlers expect any exception, with the Doc that causes it
            return error
        return rows

    def _store(self, rows: list[SentenceInput], outcomes: Iterator[Tree | Failure]) -> Exception | None:
        """Store the trees of a Doc's sentences, or return the first error and store none."""
        trees = []
        for outcome in list(islice(outcomes, len(rows))):  # all of them, so that the next Doc gets its own
            if isinstance(outcome, Failure):
                return outcome.error
            trees.append(outcome)
        for (sent, _, offsets), tree in zip(rows, trees, strict=True):
            sent._.set(STORED, to_line(tree, offsets))
            has_lemmas = any(token.lemma for token in tree.tokens)
            for token in sent if self.settings.set_tags or has_lemmas else ():
                word = leaf(token)
                if word is not None and word.tag != NONE and self.settings.set_tags:
                    token.tag_ = word.tag
                if word is not None and word.lemma and not token.lemma_:
                    token.lemma_ = word.lemma
        return None

    # Most models have a name that works everywhere; only with ``include_model`` does one travel with the pipeline.

    def _write(self, folder: str | Path) -> None:
        from discotree.models.folder import write_model

        parser = self.parser  # loads the model, and with it the texts of its card
        write_model(parser.model, folder, self._card_texts)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002 - spaCy's signature
        if self.settings.include_model:
            self._write(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "DiscotreePipe":  # noqa: ARG002
        if self.settings.include_model:
            self._use(self._load(str(Path(path).resolve())))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:  # noqa: ARG002
        if not self.settings.include_model:
            return b""
        with tempfile.TemporaryDirectory() as folder:
            self._write(Path(folder) / "model")
            return Path(shutil.make_archive(f"{folder}/model", "zip", f"{folder}/model")).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "DiscotreePipe":  # noqa: ARG002
        if data:
            with tempfile.TemporaryDirectory() as folder:
                ZipFile(BytesIO(data)).extractall(folder)  # never writes outside the folder
                self._use(self._load(str(Path(folder).resolve())))
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle the settings only: the other process loads the model itself."""
        return type(self), (self.name, self.settings, self.to_bytes()), getattr(self, "error_handler", None)

    def __setstate__(self, error_handler: Any) -> None:
        self.set_error_handler(error_handler)
