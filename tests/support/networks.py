"""Small trees, small networks, and one that has learned the trees by heart: what the tests of floors 4 and 5 share."""

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from support.helpers import tree_of

from discotree import HeadRules, Token, Tree, to_dependencies, write
from discotree.config.schema import Config, Data, DataSource, Decoding, NetworkSettings, Training
from discotree.models.folder import Model
from discotree.network.batch import Corpus
from discotree.network.pytorch.tensors import TensorBatch
from discotree.parsing.parser import Parser, new_engine
from discotree.training.data import Split, corpus_of
from discotree.training.run import build, train
from discotree.trees.transforms import split_functions

# German with what makes it hard to parse: gaps, two of them at once, unary phrases over words and over phrases.
BRACKETS = """
(ROOT (S (NP-SB (PPER-PH 0=Es) (NP-RE (PIAT-NK 2=nichts) (NN-HD 3=Interessantes))) (VVFIN-HD 1=kam)) ($. 4=.))
(ROOT (S (VP-OC (NP-OA (ART-NK 0=Den) (NN-HD 1=Hund)) (VVPP-HD 4=gesehen)) (VAFIN-HD 2=hat) (PPER-SB 3=er)) ($. 5=.))
(ROOT (S (VP-OC (ADV-MO 0=Gestern) (NP-OA (ART-NK 3=das) (NN-HD 4=Buch)) (VVPP-HD 6=gelesen)) (VAFIN-HD 1=hat)
 (PPER-SB 2=sie) (ADV-MO 5=wohl)) ($. 7=.))
(ROOT (S (VP-OC (NP-OA (ART-NK 2=einen) (NN-HD 3=Mann) (S-RC (PRELS-SB 6=der) (VVFIN-HD 7=singt)))
 (VVPP-HD 4=getroffen)) (PPER-SB 0=Ich) (VAFIN-HD 1=habe)) ($, 5=,) ($. 8=.))
(ROOT (S (NP-SB (NN-HD 0=Kinder)) (VVFIN-HD 1=spielen)) ($. 2=.))
(ROOT (CO (S-CJ (ADV-MO 0=Hier) (VVFIN-HD 1=ruht) (PPER-SB 2=er))))
(ROOT (NP (NN-HD 0=Ende)))
(ROOT (ITJ 0=Ja))
(ROOT (S (NP-SB (ART-NK 0=Die) (NN-HD 1=Katze)) (VVFIN-HD 2=schläft) (PP-MO (APPR-HD 3=auf) (ART-NK 4=dem)
 (NN-NK 5=Dach))))
(ROOT (S (VP-OC (PP-MO (APPR-HD 0=Mit) (ART-NK 1=dem) (NN-NK 2=Zug)) (VVINF-HD 5=fahren)) (VMFIN-HD 3=will)
 (PPER-SB 4=sie)) ($. 6=!))
(ROOT (S (VP-OC (NP-OA (NN-HD 0=Bücher)) (VP-OC (ADV-MO 3=gern) (VVINF-HD 4=lesen)) (VMINF-HD 5=wollen))
 (VAFIN-HD 1=wird) (PPER-SB 2=er)))
(ROOT (NP (ART-NK 0=Ein) (ADJA-NK 1=altes) (NN-HD 2=Haus)))
(ROOT (S (PPER-SB 0=Wir) (VVFIN-HD 1=lachen)) (KON 2=und) (S (PPER-SB 3=ihr) (VVFIN-HD 4=weint)) ($. 5=.))
(ROOT (CS (S-CJ (NE-SB 0=Anna) (VVFIN-HD 1=liest)) (KON-CD 2=und) (S-CJ (NE-SB 3=Otto) (VVFIN-HD 4=kocht))))
(ROOT (S (NP-SB (CNP (NN-CJ 0=Tee) (KON-CD 1=oder) (NN-CJ 2=Saft))) (VVFIN-HD 3=schmeckt)) ($. 4=.))
(ROOT (S (VP-OC (NP-DA (PPER-HD 2=ihm)) (NP-OA (NN-HD 0=Blumen)) (VVPP-HD 4=geschenkt)) (VAFIN-HD 1=hat)
 (NE-SB 3=Eva)))
(ROOT (S (AP-MO (ADV-MO 0=Sehr) (ADJD-HD 3=lange)) (VVFIN-HD 1=dauert) (PPER-SB 2=es)) ($. 4=.))
(ROOT (S (VP-OC (PWS-OA 0=Was) (VVPP-HD 4=gesagt)) (VAFIN-HD 1=hat) (PPER-SB 2=sie) (ADV-MO 3=denn)) ($. 5=?))
(ROOT (S (VP-OC (NP-OA (PIAT-NK 2=keine) (NN-HD 3=Zeit) (VP-OC (VZ-HD (PTKZU-PM 6=zu) (VVINF-HD 7=schlafen))))
 (VVPP-HD 4=gehabt)) (PPER-SB 0=Du) (VAFIN-HD 1=hast)) ($, 5=,))
(ROOT (S (VP-OC (PROAV-OP 0=Darauf) (ADV-MO 3=nie) (VVPP-HD 5=geachtet)) (VAFIN-HD 1=habt) (PPER-SB 2=ihr)
 (PTKNEG-NG 4=nicht)) ($. 6=.))
"""


def _trees() -> Iterable[Tree]:
    for number, brackets in enumerate(BRACKETS.replace("\n ", " ").split("\n")[1:-1], 1):
        tree = split_functions(tree_of(brackets, f"s{number}"))
        tokens = []
        for token in tree.tokens:
            tag, _, function = token.tag.partition("-")
            morph = "Pl" if token.form.endswith("n") else "Sg"
            tokens.append(token._replace(tag=tag, function=function or "--", morph=morph))
        yield dataclasses.replace(tree, tokens=tuple(tokens))


torch.set_num_threads(1)  # networks this small only lose by more, and the numbers are the same everywhere
TREES = tuple(_trees())
RULES = HeadRules.load("negra")
HEADS = {f"{head}_weight": 1.0 for head in ("tag", "morph", "function", "unary", "spine")}
NO_DROPOUT = {f"{name}_dropout": 0.0 for name in ("embedding", "lstm", "recurrent", "mlp", "subword")}
TINY = NetworkSettings(
    word_size=6, char_size=5, char_filters=4, tag_size=3, lstm_size=5, lstm_layers=2, decoder_size=7, arc_size=6,
    label_size=4, **HEADS,
)  # fmt: skip
CALM = dataclasses.replace(TINY, unknown=0.0, **NO_DROPOUT)  # what it says depends on its input alone


def split_of(trees: Sequence[Tree], tags: str = "none") -> Split:
    """Return trees as load_splits does."""
    keys = ("form",) if tags == "none" else ("form", "tag")
    inputs = [[Token(*(getattr(token, key) for key in keys)) for token in tree.tokens] for tree in trees]
    return Split(list(trees), [to_dependencies(tree, RULES) for tree in trees], inputs)


def parser_of(
    trees: Sequence[Tree] = TREES, network: NetworkSettings = CALM, tags: Any = "none", seed: int = 1
) -> Parser:
    """An untrained parser for some trees."""
    settings = Config(network=network, data=Data(tags=tags), training=Training(seed=seed))
    return build(settings, {"train": split_of(trees, tags)})


def corpus_for(parser: Parser, trees: Sequence[Tree] = TREES) -> Corpus:
    """What the parser can learn from some trees."""
    return corpus_of(split_of(trees, parser.config.data.tags), parser._forms(), parser.has_tags)


def torch_parser(model: Model) -> Parser:
    """A parser that runs a model with PyTorch."""
    return Parser(model, new_engine(model, "torch", "cpu"))


def tensors(corpus: Corpus, sentences: Sequence[int]) -> TensorBatch:
    """A batch as the network of PyTorch reads it."""
    return TensorBatch.of(corpus.batch(np.array(sentences)))


def saved_trees(folder: Path, trees: Sequence[Tree] = TREES, **data: Any) -> Data:
    """Write the trees as a treebank; gives the settings that read them again, for training and as dev."""
    write(trees, folder / "small.export")
    sources = (DataSource("small.export"),)
    return Data(**{"folder": str(folder), "train": sources, "dev": sources} | data)


MEDIUM = dataclasses.replace(
    CALM, word_size=32, char_size=16, char_filters=16, lstm_size=64, lstm_layers=1, decoder_size=64, arc_size=64,
    label_size=32,
)  # fmt: skip
_FOLDER = tempfile.TemporaryDirectory()


@cache
def overfitted() -> tuple[Path, dict[str, Any]]:
    """The folder of a run that had nothing to do but to learn the trees by heart, and its results."""
    folder = Path(_FOLDER.name)
    settings = Config(
        "small",
        saved_trees(folder),
        MEDIUM,
        Training(epochs=36, batch_words=60, learning_rate=0.01, beta2=0.99, patience=36, checkpoint_epochs=0),
        Decoding(consistent=True),
    )
    return folder, train(settings, folder / "run", allow_overlap=True)
