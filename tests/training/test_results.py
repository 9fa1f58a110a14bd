"""Results: attachment by hand, and the summary of several runs."""

import pytest
from support.networks import TREES, corpus_for, overfitted

from discotree.parsing.parser import Parser
from discotree.training.data import load_splits, resolve
from discotree.training.results import attachment, summarize
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


def test_a_summary_has_mean_and_deviation():
    runs = [{"scores": {"dev": {"all": {"f1": f1}, "discontinuous": {"f1": None}}}} for f1 in (80.0, 90.0, 70.0)]
    summary = summarize(runs)
    assert summary["dev"]["all"] == {"mean": 80.0, "deviation": 10.0, "f1": [80.0, 90.0, 70.0]}
    assert summary["dev"]["discontinuous"] == {"mean": 0.0, "deviation": 0.0, "f1": [0.0, 0.0, 0.0]}
    assert summarize(runs[:1])["dev"]["all"]["deviation"] == 0.0
