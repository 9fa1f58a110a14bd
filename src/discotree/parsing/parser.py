"""Parser: words in, discontinuous trees out; and the folder that holds a model.

A model is a folder of config.json, vocab.json and weights.safetensors, with a Transformer also of encoder/, and nothing
in it is run as code.
"""

import dataclasses
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from discotree import config, text
from discotree.config.validation import updated
from discotree.encoding.head_rules import HeadRules
from discotree.errors import HeadRuleError, ModelError
from discotree.network.assemble import Assembler, Decisions, of_candidates
from discotree.network.batch import Corpus, Forms, Ints, by_length
from discotree.network.decode import Decoded, decode, k_best
from discotree.network.encoder import pretrained_pieces
from discotree.network.model import Network
from discotree.network.quantization import packed, unpacked
from discotree.network.scores import Scores
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.parsing.garbage_collection import uncollected
from discotree.parsing.long_sentences import in_parts, joined
from discotree.trees.tree import Token, Tree

if TYPE_CHECKING:
    from discotree.models.finding import Card

FORMAT = 1  # of the folder; a reader refuses what is newer
CONFIG, VOCAB, WEIGHTS = "config.json", "vocab.json", "weights.safetensors"
ENCODER = "encoder"  # a Transformer's own configuration and tokenizer
BATCH_WORDS = 4000
BATCH_WORDS_GPU = 16_000
BATCHES_AHEAD = 5  # that the sentences which are read ahead fill, about
MEAN_WORDS = 20  # of a sentence
MAX_WORDS_K = 200  # of a sentence of which several trees are wanted: each that is looked at takes its square
MAX_CANDIDATES = 4  # labelled dependencies that are looked at for every tree of k_best

Sentence = str | Sequence[str] | Sequence[Token] | Tree


class Parser:
    """A network with its vocabulary: the whole way from words to trees."""

    def __init__(
        self,
        settings: config.Config,
        vocab: Vocab,
        device: str | torch.device = "cpu",
        subwords: Subwords | Pretrained | None = None,
    ) -> None:
        """``subwords``: where they, or the Transformer, are in the memory already."""
        self.config = settings
        self.vocab = vocab
        self.folder: Path | None = None  # that it was loaded from
        self.settle(device)
        self.subwords = pretrained_pieces(settings.network) if subwords is None else subwords
        self.has_tags = settings.data.tags != "none"
        with torch.device("meta" if self.device.type == "meta" else "cpu"):  # the same numbers whatever the device
            self.network = Network(settings.network, vocab, self.has_tags, self.subwords)
        if self.device.type != "meta":
            self.network.to(self.device)
        self.levels = torch.tensor(vocab.levels)
        self.assembler = Assembler(vocab, keeps_tags=self.has_tags)

    def settle(self, device: str | torch.device) -> None:
        """Where the network is, and how much it takes at once there."""
        self.device = torch.device(device)
        on_gpu = self.device.type == "cuda"
        self.batch_words = BATCH_WORDS_GPU if on_gpu else BATCH_WORDS
        self.stream = torch.cuda.Stream(self.device, priority=-1) if on_gpu else None  # type: ignore[no-untyped-call]

    @property
    def window(self) -> int:
        """How many sentences have to be known to make good batches of them."""
        return BATCHES_AHEAD * self.batch_words // MEAN_WORDS

    def forms(self) -> Forms:
        """An empty table of words."""
        pieces: Callable[[str], Sequence[int]] | None = self.subwords.pieces if self.subwords else None
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

    def decode(self, scores: Scores, settings: config.Decoding | None = None) -> Decoded:
        """Heads and labels, the way the model's configuration says unless told otherwise."""
        settings = settings or self.config.decoding
        return decode(scores, settings.method, settings.beam, self.levels if settings.consistent else None)

    def __call__(self, sentence: Sentence) -> Tree:
        """The tree of one sentence."""
        (tree,) = self.parse([sentence])
        return tree

    def parse(
        self, sentences: Iterable[Sentence], settings: config.Decoding | None = None, window: int = 0
    ) -> Iterator[Tree]:
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
        settings: config.Decoding | None = None,
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

    def _trees(
        self, sentences: Sequence[Sequence[Token]], settings: config.Decoding | None, ids: Sequence[str]
    ) -> list[Tree]:
        trees: list[Tree | None] = [None] * len(sentences)
        tags = [[token.tag for token in tokens] for tokens in sentences] if self.has_tags else ()
        for numbers, scores in self.scores(Corpus(sentences, self.forms(), tags)):
            for number, said in zip(numbers.tolist(), self._decisions(scores, settings), strict=True):
                trees[number] = self.assembler.tree(sentences[number], said, ids[number])
        return [tree for tree in trees if tree is not None]

    def _decisions(self, scores: Scores, settings: config.Decoding | None) -> list[Decisions]:
        """What the scores of a batch mean. A GPU finds out beside its work on the next batch, not after it."""
        if self.stream is not None and scores.ready is not None:
            self.stream.wait_event(scores.ready)
        with torch.inference_mode(), torch.cuda.stream(self.stream):
            return list(Decisions.of(self.decode(scores, settings), scores))

    def save_pretrained(self, folder: str | Path, card: "Card | None" = None) -> None:
        """Write the model with a card, as the Hugging Face hub has them (docs/hub.md)."""
        from discotree.models.hub import save

        save(self, folder, card)

    def push_to_hub(
        self,
        repository: str,
        card: "Card | None" = None,
        *,
        private: bool | None = None,
        revision: str = "",
        commit_message: str = "",
        token: str | None = None,
    ) -> str:
        """Put the model and its card on the Hugging Face hub, all in one commit; gives the address of that commit."""
        from discotree.models.hub import push

        return push(self, repository, card, private, revision, commit_message, token)

    def save(self, folder: str | Path, texts: Mapping[str, str] | None = None) -> None:
        """Write the model, and ``texts`` beside it by their names.

        The folder appears when it is complete, and takes the place of an older one.
        """
        folder = Path(folder).resolve()
        temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        temporary.mkdir(parents=True)
        try:
            about = {"format": FORMAT, "config": json.loads(self.config.to_json())}
            (temporary / CONFIG).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
            (temporary / VOCAB).write_text(self.vocab.to_json() + "\n", "utf-8")
            if isinstance(self.subwords, Pretrained):
                self.subwords.save(temporary / ENCODER)
            for name, content in (texts or {}).items():
                (temporary / name).write_text(content, "utf-8")
            tensors = packed(self.network.state_dict(), self.config.training.weight_bits)
            self.check(unpacked(tensors, str(folder / WEIGHTS)), str(folder / WEIGHTS))
            save_file(tensors, temporary / WEIGHTS)
            os.chmod(temporary / WEIGHTS, (temporary / VOCAB).stat().st_mode)  # it would be for the owner alone
            _replace(temporary, folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device = "cpu") -> "Parser":
        """Read a model from its folder."""
        folder = Path(folder)
        try:
            about = json.loads((folder / CONFIG).read_text("utf-8"))
            vocab_text = (folder / VOCAB).read_text("utf-8")
        except (OSError, ValueError, RecursionError) as error:
            raise ModelError(f"{folder}: not a model: {error}") from None
        if not isinstance(about, dict) or not isinstance(about.get("format"), int):
            raise ModelError(f"{folder / CONFIG}: not the configuration of a discotree model")
        if about["format"] > FORMAT:
            raise ModelError(
                f"{folder}: made by a newer discotree (format {about['format']}, this one knows {FORMAT}): upgrade it"
            )
        settings = updated(config.Config(), about.get("config"), str(folder / CONFIG))
        vocab = Vocab.from_json(vocab_text, str(folder / VOCAB))
        try:
            tensors = load_file(folder / WEIGHTS)
        except (OSError, SafetensorError, ValueError) as error:
            path = folder / WEIGHTS
            raise ModelError(f"{path}: the weights cannot be read, the file may be cut off: {error}") from None
        weights = unpacked(tensors, str(folder / WEIGHTS))
        try:
            transformer = Pretrained.open(folder / ENCODER) if settings.network.transformer else None
            # without numbers: nonsense in a file must not fill the memory
            parser = cls(settings, vocab, "meta", transformer)
        except (RuntimeError, TypeError, KeyError) as error:  # sizes beyond all numbers, a small head without classes
            raise ModelError(f"{folder}: its configuration and vocabulary make no network: {error!r}") from None
        parser.check(weights, str(folder / WEIGHTS))
        parser.network.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)
        parser.network.to(device)
        parser.settle(device)
        parser.folder = folder
        return parser

    def round_weights(self) -> None:
        """Round the weights to the precision that they are saved in."""
        bits = self.config.training.weight_bits
        self.network.load_state_dict(unpacked(packed(self.network.state_dict(), bits), "the network"))

    def check(self, weights: dict[str, Tensor], where: str) -> None:
        """Refuse weights that belong to another network, or that are no numbers."""
        wanted = self.network.state_dict()
        for name in sorted(wanted.keys() ^ weights.keys()):
            problem = "is missing" if name in wanted else "does not belong there"
            raise ModelError(f"{where}: {name} {problem}: the weights belong to another network")
        for name, value in wanted.items():
            if value.shape != weights[name].shape:
                found, expected = tuple(weights[name].shape), tuple(value.shape)
                raise ModelError(f"{where}: {name} has the shape {found}, its settings and vocabulary need {expected}")
            if not weights[name].is_floating_point() or not weights[name].isfinite().all():
                raise ModelError(f"{where}: {name} holds what is no number, or none that fits half precision")


def _replace(new: Path, folder: Path) -> None:
    """Put a complete folder in its place; an older one goes away only then."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / CONFIG).exists():
            raise ModelError(f"{folder}: there is something in it, and it is no model: nothing was written")
        old = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.old")
        os.rename(folder, old)
        os.rename(new, folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(new, folder)  # over an empty folder, too
