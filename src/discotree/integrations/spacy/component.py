"""The component ``discotree`` of a spaCy pipeline: it gives every sentence of a Doc its tree."""

import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, get_args

import numpy
import srsly  # type: ignore[import-untyped]
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span

from discotree import text
from discotree.config import Decoding, Method
from discotree.errors import ModelError
from discotree.integrations.spacy.extensions import STORED, leaf, notices
from discotree.integrations.spacy.storage import packed
from discotree.models.card import CARD, README
from discotree.models.finding import find
from discotree.parsing.load import load
from discotree.trees.tree import NONE, Token

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

FACTORY = "discotree"
SPACY, MODEL = "spacy", "model"  # whose words are parsed
BATCHES_AHEAD = 5  # that the Docs which are read ahead fill, about


@dataclass(frozen=True)
class Settings:
    """What a pipeline's configuration says about the component."""

    model: str = ""  # a name, a folder, or hub:ORG/NAME; empty: the one for the pipeline's language
    device: str = ""  # empty: a GPU if there is one
    decode: str = ""  # empty: as the model says
    tokens: str = SPACY
    batch_words: int = 0  # that go through the network at once; 0: as many as suit the device
    set_tags: bool = False  # also as Token.tag
    include_model: bool = False  # whether the model is saved with the pipeline

    def __post_init__(self) -> None:
        if self.decode not in ("", *get_args(Method)):
            raise ModelError(f"decode: there is no {self.decode!r}; there are {', '.join(get_args(Method))}")
        if self.tokens not in (SPACY, MODEL):
            raise ModelError(f"tokens: they are {SPACY!r} or {MODEL!r}, not {self.tokens!r}")
        if self.batch_words < 0:
            raise ModelError(f"batch_words: {self.batch_words} is less than nothing")


@Language.factory(
    FACTORY,
    default_config=asdict(Settings()),
    assigns=["doc._.trees", "doc._.constituents", "span._.tree", "span._.constituents", "token._.leaf"],
)
def make(
    nlp: Language,
    name: str,
    model: str,
    device: str,
    decode: str,
    tokens: str,
    batch_words: int,
    set_tags: bool,
    include_model: bool,
) -> "DiscotreePipe":
    """The component, as a pipeline's configuration describes it."""
    if any(isinstance(pipe, DiscotreePipe) for _, pipe in nlp.components):
        notices.warning("%s: there is such a component already; a Doc keeps the trees of the last one", name)
    model = model or str(nlp.lang)
    return DiscotreePipe(name, Settings(model, device, decode, tokens, batch_words, set_tags, include_model))


class DiscotreePipe(Pipe):
    """Parses Docs. Several threads may use it at once."""

    def __init__(self, name: str, settings: Settings, model: bytes = b"") -> None:
        """``model``: what ``to_bytes`` gave; without it the model that the settings name.

        One that is saved with the pipeline is looked for by its name only if nothing is loaded before it is used.
        """
        self.name = name
        self.settings = settings
        self._parser: Parser | None = None
        self._texts: dict[str, str] = {}  # that belong to the model: its card
        self._loading = Lock()
        self._process = os.getpid()
        if model:
            self.from_bytes(model)
        elif not settings.include_model:
            self._take(load(settings.model, settings.device))

    def _take(self, parser: "Parser") -> "Parser":
        if self.settings.tokens == MODEL and parser.has_tags:
            raise ModelError(f"{self.settings.model}: this model looks at tags, which only spaCy's tokens have")
        if self.settings.tokens == MODEL and not parser.config.language:
            raise ModelError(f"{self.settings.model}: this model has no language to cut a text by")
        parser.batch_words = self.settings.batch_words or parser.batch_words
        texts = [parser.folder / name for name in (CARD, README)] if parser.folder else []
        self._texts = {path.name: path.read_text("utf-8", "replace") for path in texts if path.is_file()}
        self._parser = parser
        return parser

    def _named(self) -> "Parser":
        try:
            folder = find(self.settings.model)
        except ModelError as error:
            raise ModelError(f"{error}; and none was loaded with the pipeline") from None
        return self._take(load(str(folder), self.settings.device))

    @property
    def parser(self) -> "Parser":
        """The parser, ready for the process that asks."""
        if self._process != os.getpid():
            if self._parser is not None and self._parser.device.type != "cpu":
                raise ModelError("a GPU cannot be shared with other processes: n_process=1, or the device 'cpu'")
            _settle_in_fork()
            self._loading = Lock()  # the old one may belong to a thread that stayed behind
            self._process = os.getpid()
        with self._loading:
            return self._parser or self._named()

    def __call__(self, doc: Doc) -> Doc:
        self._parse([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse Docs together, as many as fill some batches of the network."""
        for docs in self._groups(stream, batch_size):
            try:
                self._parse(docs)
            except Exception:  # one of them is to blame: the error handler gets that one
                yield from super().pipe(docs)
            else:
                yield from docs

    def _groups(self, stream: Iterable[Doc], most: int) -> Iterator[list[Doc]]:
        group: list[Doc] = []
        words = 0
        for doc in stream:
            group.append(doc)
            words += len(doc)
            if len(group) >= most or words >= BATCHES_AHEAD * self.parser.batch_words:
                yield group
                group, words = [], 0
        if group:
            yield group

    def _parse(self, docs: list[Doc]) -> None:
        parser = self.parser
        decoding: Decoding = parser.config.decoding
        if self.settings.decode:
            decoding = replace(decoding, method=self.settings.decode)  # type: ignore[arg-type]
        found = [(sent, *self._words(sent)) for doc in docs for sent in self._sentences(doc)]
        found = [row for row in found if row[1]]
        trees = parser.parse([words for _, words, _ in found], decoding)
        for (sent, _, places), tree in zip(found, trees, strict=True):
            sent._.set(STORED, packed(tree, [start for start, _ in places], [end for _, end in places]))
            if self.settings.set_tags:
                self._tag(sent)

    def _sentences(self, doc: Doc) -> Iterator[Span]:
        """The sentences of a Doc. One that has none is cut as the model's treebank would be."""
        known = doc.has_annotation("SENT_START") if len(doc) > 1 else all(token.is_sent_start for token in doc)
        if not known:
            language = self.parser.config.language
            if not language:
                raise ModelError(
                    f"the Doc has no sentence boundaries, and the model {self.settings.model!r} no language to find "
                    f'them by: nlp.add_pipe("sentencizer", before="{self.name}")'
                )
            places = [token.idx for token in doc]
            cut = [bisect_left(places, words[0].start) for words in text.sentences(doc.text, language) if words]
            starts = numpy.full(len(doc), -1)
            starts[[0, *(place for place in cut[1:] if place < len(doc))]] = 1
            doc.from_array(["SENT_START"], starts.astype(numpy.uint64))  # type: ignore[arg-type]
        yield from doc.sents

    def _words(self, sent: Span) -> tuple[list[Token], list[tuple[int, int]]]:
        """The words of a sentence and their places in it."""
        if self.settings.tokens == MODEL:
            words = [word for line in text.sentences(sent.text, self.parser.config.language) for word in line]
            return [Token(word.form) for word in words], [(word.start, word.end) for word in words]
        tokens = [token for token in sent if token.text.strip()]
        places = [(token.idx - sent.start_char, token.idx - sent.start_char + len(token)) for token in tokens]
        if not self.parser.has_tags:
            return [Token(token.text) for token in tokens], places
        for token in tokens:
            if not token.tag_:
                raise ModelError(
                    f"the model {self.settings.model!r} looks at tags, and {token.text!r} has none: a component that "
                    f'sets Token.tag has to stand before "{self.name}"'
                )
        return [Token(token.text, token.tag_) for token in tokens], places

    def _tag(self, sent: Span) -> None:
        for token in sent:
            word = leaf(token)
            if word is not None and word.tag != NONE:
                token.tag_ = word.tag

    def _write(self, folder: str | Path) -> None:
        from discotree.models.folder import write_model

        parser = self.parser  # it may have to be loaded first, and its texts with it
        write_model(parser.model, folder, self._texts)

    # The model goes with the pipeline only if it is told to: most have a name that works everywhere.

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002 - spaCy gives it
        if self.settings.include_model:
            self._write(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "DiscotreePipe":  # noqa: ARG002
        if self.settings.include_model:
            self._take(load(str(Path(path).resolve()), self.settings.device))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:  # noqa: ARG002
        if not self.settings.include_model:
            return b""
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model"
            self._write(model)
            files = [path for path in model.rglob("*") if path.is_file()]
            data: bytes = srsly.msgpack_dumps({path.relative_to(model).as_posix(): path.read_bytes() for path in files})
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "DiscotreePipe":  # noqa: ARG002
        if not data:
            return self
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder).resolve()
            for name, content in srsly.msgpack_loads(data).items():
                path = (model / name).resolve()
                if not path.is_relative_to(model):
                    raise ModelError(f"a file of the model would be written to {name!r}, outside of its folder")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            self._take(load(str(model), self.settings.device))
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """A process that gets it pickled loads the model by itself."""
        return type(self), (self.name, self.settings, self.to_bytes()), getattr(self, "error_handler", None)

    def __setstate__(self, error_handler: Any) -> None:
        self.set_error_handler(error_handler)


def _settle_in_fork() -> None:
    """Make torch work in a process that was forked, as the workers of ``nlp.pipe`` are.

    Its other threads stayed behind: whoever waits for them waits forever. oneDNN remembers how many there were.
    """
    import torch

    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
