"""Results: attachment by hand."""

import pytest
from support.networks import TREES, corpus_for, overfitted

from discotree.parsing.parser import Parser
from discotree.training.data import load_splits, resolve
from discotree.training.results import attachment
from discotree.training.run import MODEL


def test_attachment_counts_words():
    parser = Parser.from_pretrained(overfitted()[0] / "run" / MODEL)
    trees = load_splits(resolve(parser.config.data))["dev"].trees
    assert set(attachment(parser, corpus_for(parser, trees)).values()) == {100.0}
    # One wrong head, one label that is not in the vocabulary, one wrong tag.
    corpus = corpus_for(parser, trees[:2])
    words = len(TREES[0]) + len(TREES[1])
    corpus.gold["head"][0] = 2
    corpus.gold["label"][1] = -100
    corpus.gold["tag"][2] += 1
    found = attachment(parser, corpus)
    assert found["uas"] == pytest.approx(100 * (words - 1) / words)
    assert found["las"] == pytest.approx(100 * (words - 2) / words)
    assert found["tag"] == pytest.approx(100 * (words - 1) / words)
    assert found["function"] == 100.0
