"""Parser: words in, discontinuous trees out; and the folder that holds a model.

A model is a folder of config.json, vocab.json and weights.safetensors (half precision), and nothing in it
is ever run as code.
"""

import json
import math
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from discotree import config
from discotree.batch import Corpus, Forms, Ints, by_length
from discotree.decode import Decoded, decode
from discotree.dependencies import DUMMY_ROOT, Dependencies, spines, to_tree
from discotree.errors import ModelError
from discotree.model import Network
from discotree.scores import Scores
from discotree.subwords import Subwords
from discotree.tree import NONE, Token, Tree
from discotree.vocab import Vocab

FORMAT = 1  # of the folder; a reader refuses what is newer
CONFIG, VOCAB, WEIGHTS = "config.json", "vocab.json", "weights.safetensors"
BATCH_WORDS = 4000


@dataclass(frozen=True)
class Decisions:
    """What was decided about the words of one sentence."""

    heads: list[int]
    labels: list[int]
    arcs: list[float]  # the probability of each word's arc with its label
    small: dict[str, list[int]]  # of each small head, a class for every word
    unaries: list[float]  # the probability of what was said about the phrases over each single word
    confidence: float

    @classmethod
    def of(cls, decoded: Decoded, scores: Scores) -> Iterator["Decisions"]:
        """Those of every sentence of a batch."""
        small, sure = {}, {}
        for head, values in scores.small.items():
            best = values.max(-1)
            small[head], sure[head] = best.indices.tolist(), best.values.exp().tolist()
        heads, labels = decoded.heads.tolist(), decoded.labels.tolist()
        arcs = (decoded.arc_probability * decoded.label_probability).tolist()
        whole = np.exp(decoded.log_probability).tolist()
        for row, n in enumerate(scores.lengths.tolist()):
            yield cls(
                heads[row][:n],
                labels[row][:n],
                arcs[row][:n],
                {head: rows[row][:n] for head, rows in small.items()},
                sure["unary"][row][:n] if "unary" in sure else [1.0] * n,
                whole[row],
            )


class Parser:
    """A network with its vocabulary: the whole way from words to trees."""

    def __init__(
        self,
        settings: config.Config,
        vocab: Vocab,
        device: str | torch.device = "cpu",
        subwords: Subwords | None = None,
    ) -> None:
        """``subwords``: where they are in the memory already."""
        self.config = settings
        self.vocab = vocab
        self.device = torch.device(device)
        if settings.network.subwords and subwords is None:
            subwords = Subwords.load(settings.network.subwords)
        self.subwords = subwords
        self.has_tags = settings.data.tags != "none"
        with torch.device("meta" if self.device.type == "meta" else "cpu"):  # the same numbers whatever the device
            network = Network(settings.network, vocab, self.has_tags, self.subwords)
        self.network = network.to(self.device)
        self.levels = torch.tensor(vocab.levels)

    def forms(self) -> Forms:
        """An empty table of words."""
        pieces: Callable[[str], Sequence[int]] | None = self.subwords.pieces if self.subwords else None
        return Forms(self.vocab, self.config.network.max_chars, pieces)

    def scores(self, corpus: Corpus, batch_words: int = BATCH_WORDS) -> Iterator[tuple[Ints, Scores]]:
        """The scores of all sentences, batch by batch, and which sentences they are."""
        self.network.eval()
        with torch.inference_mode():
            for sentences in by_length(corpus.lengths, batch_words):
                yield sentences, self.network(corpus.batch(sentences).to(self.device))

    def decode(self, scores: Scores, settings: config.Decoding | None = None) -> Decoded:
        """Heads and labels, the way the model's configuration says unless told otherwise."""
        settings = settings or self.config.decoding
        return decode(scores, settings.method, settings.beam, self.levels if settings.consistent else None)

    def parse(
        self,
        sentences: Sequence[Sequence[Token]],
        tags: Sequence[Sequence[str]] = (),
        settings: config.Decoding | None = None,
        ids: Sequence[str] = (),
    ) -> list[Tree]:
        """The trees of some sentences, in their order. ``tags`` are those that the network looks at, if it does."""
        if self.has_tags and sentences and not tags:
            raise ModelError("this model looks at tags and was given none")
        for number, tokens in enumerate(sentences, 1):
            if not tokens:
                raise ModelError(f"sentence {number} has no words")
        trees: list[Tree | None] = [None] * len(sentences)
        corpus = Corpus(sentences, self.forms(), tags if self.has_tags else ())
        for numbers, scores in self.scores(corpus):
            for row, sentence in enumerate(Decisions.of(self.decode(scores, settings), scores)):
                number = int(numbers[row])
                trees[number] = self.tree(sentences[number], sentence, ids[number] if ids else "")
        return [tree for tree in trees if tree is not None]

    def tree(self, tokens: Sequence[Token], said: Decisions, id: str = "") -> Tree:
        """The tree of one sentence from what was decided about its words."""
        names = {head: [self.vocab.outputs[head][k] for k in classes] for head, classes in said.small.items()}
        tags, morphs = names.get("tag"), names.get("morph")
        words = [
            token._replace(tag=tags[k] if tags else token.tag, morph=morphs[k] if morphs else token.morph)
            for k, token in enumerate(tokens)
        ]
        dependencies = Dependencies(
            tuple(words),
            tuple(said.heads),
            tuple([self.vocab.labels[k] for k in said.labels]),
            unaries=tuple(names.get("unary", ())),
            root=self.vocab.root,
            id=id,
        )
        if "function" in names:
            dependencies = with_functions(dependencies, names["function"], self.vocab.head_functions)
        tree = to_tree(dependencies)
        return replace(tree, confidence=said.confidence, confidences=confidences(tree, said))

    def save(self, folder: str | Path) -> None:
        """Write the model; the folder appears when it is complete, and takes the place of an older one."""
        folder = Path(folder)
        temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        temporary.mkdir(parents=True)
        try:
            about = {"format": FORMAT, "config": json.loads(self.config.to_json())}
            (temporary / CONFIG).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
            (temporary / VOCAB).write_text(self.vocab.to_json() + "\n", "utf-8")
            weights = {name: value.half().cpu().contiguous() for name, value in self.network.state_dict().items()}
            save_file(weights, temporary / WEIGHTS)
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
        settings = config.updated(config.Config(), about.get("config"), str(folder / CONFIG))
        vocab = Vocab.from_json(vocab_text, str(folder / VOCAB))
        try:
            weights = load_file(folder / WEIGHTS)
        except (OSError, SafetensorError, ValueError) as error:
            path = folder / WEIGHTS
            raise ModelError(f"{path}: the weights cannot be read, the file may be cut off: {error}") from None
        try:
            shape = cls(settings, vocab, "meta")  # without numbers: nonsense in a file must not fill the memory
        except (RuntimeError, TypeError, KeyError) as error:  # sizes beyond all numbers, a small head without classes
            raise ModelError(f"{folder}: its configuration and vocabulary make no network: {error!r}") from None
        shape.check(weights, str(folder / WEIGHTS))
        parser = cls(settings, vocab, device, shape.subwords)
        parser.network.load_state_dict(weights)
        return parser

    def check(self, weights: dict[str, Tensor], where: str) -> None:
        """Refuse weights that belong to another network."""
        wanted = self.network.state_dict()
        for name in sorted(wanted.keys() ^ weights.keys()):
            problem = "is missing" if name in wanted else "does not belong there"
            raise ModelError(f"{where}: {name} {problem}: the weights belong to another network")
        for name, value in wanted.items():
            if value.shape != weights[name].shape:
                found, expected = tuple(weights[name].shape), tuple(value.shape)
                raise ModelError(f"{where}: {name} has the shape {found}, its settings and vocabulary need {expected}")


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


def with_functions(tree: Dependencies, top: Sequence[str], head_functions: dict[str, str]) -> Dependencies:
    """Give every node and word its function: the largest phrase of a word the one that was predicted for the
    word, head children the one that training mostly showed there."""
    functions: list[tuple[str, ...]] = []
    words: list[Token] = []
    for position, labels in enumerate(spines(tree)):
        token = tree.tokens[position]
        children = [token.tag, *labels]
        found = [head_functions.get(f"{parent} {child}", NONE) for child, parent in zip(children, labels, strict=False)]
        found.append(NONE if tree.heads[position] == DUMMY_ROOT else top[position])
        words.append(token._replace(function=found[0]))
        functions.append(tuple(found[1:]))
    return Dependencies(tuple(words), tree.heads, tree.labels, tuple(functions), tree.unaries, tree.root, tree.id)


def confidences(tree: Tree, said: Decisions) -> tuple[float, ...]:
    """How sure the parser is of every node, in the order of ``tree.nodes()``.

    Of a phrase: the product of the probabilities of the arcs, with their labels, that join its children to its
    head. Of a phrase over a single word: that of the small head that said so. A chain of phrases over a phrase
    is one label, so all of it is as sure as the lowest one.
    """
    nodes = list(tree.nodes())
    sure: dict[int, float] = {}  # by id of the node
    head_word: dict[int, int] = {}
    for node in reversed(nodes):
        words = [child if isinstance(child, int) else head_word[id(child)] for child in node.children]
        if len(words) == 1:
            (child,) = node.children
            head_word[id(node)] = words[0]
            sure[id(node)] = said.unaries[child] if isinstance(child, int) else sure[id(child)]
            continue
        inside = set(words)
        head = next((word for word in words if said.heads[word] not in inside), words[0])
        head_word[id(node)] = head
        sure[id(node)] = math.prod(said.arcs[word] for word in words if word != head)
    return tuple([sure[id(node)] for node in nodes])
