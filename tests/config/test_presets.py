"""Presets: the sizes of the paper's table, and what the paper did not have."""

import pytest

from discotree.config.recipes import DEFAULT, PAPER


@pytest.mark.parametrize("preset", [PAPER, DEFAULT], ids=["paper", "default"])
def test_presets_have_the_sizes_of_the_papers_table(preset):
    network = preset.network
    assert (network.char_window, network.char_filters) == (3, 50)
    assert (network.lstm_layers, network.lstm_size, network.decoder_size) == (3, 512, 512)
    assert (network.tag_size, network.word_size, network.char_size) == (100, 100, 100)
    assert (network.arc_size, network.label_size) == (512, 128)
    assert preset.training.plateau_factor == 0.75
    assert preset.decoding.beam == 10


def test_the_paper_preset_is_the_papers_table():
    network = PAPER.network
    dropouts = {value for name, value in vars(network).items() if "dropout" in name}
    assert dropouts == {0.33}
    assert (PAPER.training.learning_rate, PAPER.training.beta2, PAPER.training.schedule) == (0.001, 0.9, "plateau")
    assert (PAPER.data.unaries, PAPER.decoding.method, PAPER.decoding.consistent) == ("drop", "beam", False)
    assert not network.subwords
    assert not any(value for name, value in vars(network).items() if name.endswith("_weight"))
    assert not network.label_smoothing
