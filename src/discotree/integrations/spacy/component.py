"""The spaCy component ``discotree``, which parses every sentence of a Doc."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span

from discotree.errors import ConfigError, ModelError
from discotree.integrations.spacy.doc_input import model_tokens, sentences_of, spacy_tokens
from discotree.integrations.spacy.extensions import STORED, leaf, logger
from discotree.integrations.spacy.model_files import pack_folder, unpack_folder
from discotree.integrations.spacy.settings import MODEL_TOKENS, ComponentSettings
from discotree.integrations.spacy.storage import to_line
from discotree.models.card import CARD, README
from discotree.models.choice import Candidates
from discotree.models.finding import find
from discotree.parsing.load import load
from discotree.parsing.resilient import Failure, ParseOptions, parse_each
from discotree.trees.tree import NONE, Token, Tree

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

FACTORY = "discotree"

SentenceInput = tuple[Span, list[Token], list[tuple[int, int]]]  # with the offsets of the tokens


@Language.factory(
    FACTORY,
    default_config=asdict(ComponentSettings()),
    assigns=["doc._.trees", "doc._.constituents", "span._.tree", "span._.constituents", "token._.leaf"],
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
        logger.warning("%s: the pipeline already has a discotree component; a Doc keeps the last one's trees", name)
    if not model:
        candidates = Candidates.installed()
        model = candidates.for_language(str(nlp.lang)) or str(nlp.lang)
        if model in candidates.restricted:
            raise ConfigError(
                f"model: the model {model} is for non-commercial use only ({candidates.restricted[model].licence}): "
                f'name it to use it: {{"model": "{model}"}}'
            )
    settings = ComponentSettings(model, device, engine, decode, tokens, batch_words, set_tags, include_model)
    return DiscotreePipe(name, settings)


class DiscotreePipe(Pipe):
    """Parses the sentences of Docs. Several threads may use it at once."""

    def __init__(self, name: str, settings: ComponentSettings, model: bytes = b"") -> None:
        """Load the model that the settings name, or the one in ``model``, which ``to_bytes`` returned.

        With ``include_model``, loading by name waits for the first use: usually spaCy loads the saved copy before.
        """
        self.name = name
        self.settings = settings
        self._parser: Parser | None = None
        self._card_texts: dict[str, str] = {}  # by file name; saved with the model
        self._loading = Lock()
        self._process = os.getpid()
        if model:
            self.from_bytes(model)
        elif not settings.include_model:
            self._use(self._load(settings.model))

    def _use(self, parser: "Parser") -> "Parser":
        if self.settings.tokens == MODEL_TOKENS and parser.has_tags:
            raise ConfigError(f"tokens: the model {self.settings.model!r} needs tags, which only spaCy's tokens have")
        if self.settings.tokens == MODEL_TOKENS and not parser.config.language:
            raise ConfigError(f"tokens: the model {self.settings.model!r} has no language to tokenise text with")
        parser.batch_words = self.settings.batch_words or parser.batch_words
        paths = [parser.folder / name for name in (CARD, README)] if parser.folder else []
        self._card_texts = {path.name: path.read_text("utf-8", "replace") for path in paths if path.is_file()}
        self._parser = parser
        return parser

    def _load(self, model: str) -> "Parser":
        return load(model, self.settings.device, engine=self.settings.engine)

    def _load_by_name(self) -> "Parser":
        try:
            folder = find(self.settings.model)
        except ModelError as error:
            raise ModelError(f"{error}; and the pipeline was loaded without one") from None
        return self._use(self._load(str(folder)))

    @property
    def parser(self) -> "Parser":
        """The parser, ready for use in this process."""
        if self._process != os.getpid():
            if self._parser is not None:
                if self._parser.device != "cpu":
                    raise ConfigError("processes cannot share a GPU: use n_process=1 or the device 'cpu'")
                self._parser.engine.forked()
            self._loading = Lock()  # the old one may be held by a thread that does not exist in this process
            self._process = os.getpid()
        with self._loading:
            return self._parser or self._load_by_name()

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
            if len(group) >= max_docs or words >= self.parser.window_words:
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
        failures = []
        for outcome in islice(outcomes, len(rows)):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                trees.append(outcome)
        if failures:
            return failures[0].error
        for (sent, _, offsets), tree in zip(rows, trees, strict=True):
            sent._.set(STORED, to_line(tree, offsets))
            if self.settings.set_tags:
                _set_tags(sent)
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
            model = Path(folder) / "model"
            self._write(model)
            return pack_folder(model)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "DiscotreePipe":  # noqa: ARG002
        if data:
            with tempfile.TemporaryDirectory() as folder:
                unpack_folder(data, Path(folder))
                self._use(self._load(str(Path(folder).resolve())))
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle the settings only: the other process loads the model itself."""
        return type(self), (self.name, self.settings, self.to_bytes()), getattr(self, "error_handler", None)

    def __setstate__(self, error_handler: Any) -> None:
        self.set_error_handler(error_handler)


def _set_tags(sent: Span) -> None:
    for token in sent:
        word = leaf(token)
        if word is not None and word.tag != NONE:
            token.tag_ = word.tag
