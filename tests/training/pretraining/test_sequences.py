"""Sequences: every piece of a pass once, in the order of the text, and any batch from its number alone."""

from itertools import islice

import numpy as np
import pytest
import torch

from discotree.training.pretraining.sequences import Sequences, batches

CLS, SEP = 1000, 1001


def sequences(*sizes, repeats=None, length=10, seed=1):
    ends = np.cumsum(sizes)
    pieces = [np.arange(end - size, end).astype(np.uint16) for size, end in zip(sizes, ends, strict=True)]
    return Sequences(pieces, repeats or [1] * len(sizes), length, CLS, SEP, seed)


def test_a_pass_reads_every_piece_as_often_as_its_file_is_repeated():
    made = sequences(80, 40, repeats=[1, 3])
    assert made.per_pass == 10 + 3 * 5
    rows = made.rows(0, made.per_pass)
    assert (rows[:, 0] == CLS).all()
    assert (rows[:, -1] == SEP).all()
    counts = np.bincount(rows[:, 1:-1].ravel(), minlength=120)
    assert counts.tolist() == [1] * 80 + [3] * 40


def test_the_order_of_the_text_is_kept_and_its_end_is_followed_by_its_beginning():
    rows = sequences(37, 25).rows(0, 9)[:, 1:-1]
    for row in rows.astype(int):
        low, size = (0, 37) if row[0] < 37 else (37, 25)
        assert ((row[1:] - low) % size == (row[:-1] - low + 1) % size).all()


def test_each_pass_is_cut_and_ordered_differently_and_a_seed_decides():
    made = sequences(300)
    one, two = made.rows(0, made.per_pass), made.rows(made.per_pass, made.per_pass)
    assert {row[1] % 8 for row in one.tolist()} != {row[1] % 8 for row in two.tolist()}
    assert one[:, 1].tolist() != sorted(one[:, 1].tolist())
    assert (sequences(300).rows(0, 5) == one[:5]).all()
    assert (sequences(300, seed=2).rows(0, 5) != one[:5]).any()


def test_a_batch_across_passes_is_made_from_its_number():
    made = sequences(60, 30, repeats=[1, 2])
    whole = made.rows(0, 40)
    fresh = sequences(60, 30, repeats=[1, 2])
    for first in (30, 12, 3):  # backwards, too
        assert (fresh.rows(first, 8) == whole[first : first + 8]).all()


def test_a_text_shorter_than_a_sequence_is_repeated_and_an_empty_one_left_out():
    made = sequences(3, 0)
    assert made.per_pass == 1
    assert set(made.rows(0, 1)[0, 1:-1].tolist()) == {0, 1, 2}


@pytest.mark.parametrize("first", [0, 5])
def test_batches_go_on_without_end_from_any_number(first):
    made = sequences(50)
    found = list(islice(batches(made, 4, first, torch.device("cpu")), 6))
    assert all(rows.dtype == torch.long and rows.shape == (4, 10) for rows in found)
    assert (torch.cat(found).numpy() == made.rows(4 * first, 24)).all()
