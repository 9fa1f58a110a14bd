"""Structured skip-gram with negative sampling (Ling et al. 2015): a word predicts its neighbours, position by position.

Every relative position has output vectors of its own, so a word's vector has to know what stands before it and what
after it: that is syntax. A batch of words shares the drawn words, so nearly all of the work is matrix products.

Shapes: V words, D numbers of a vector, O relative positions, B words of a batch, P pairs of a word and a neighbour, M
words drawn for each position.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from discotree.config.vectors import VectorSettings
from discotree.training.word_corpus import END, Counts, Ints

EPSILON = 1e-8
CPU_BATCH, GPU_BATCH = 1024, 16384


class SkipGram:
    """The vectors that are learned, with Adagrad's sums of squared gradients, one for each row."""

    def __init__(self, counts: Counts, settings: VectorSettings, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.random = torch.Generator(device).manual_seed(settings.seed)
        words, size = len(counts), settings.size
        window = settings.window
        self.offsets = torch.tensor([d for d in range(-window, window + 1) if d], device=device)  # (O,)
        self.tables = len(self.offsets) if settings.positions else 1
        table = torch.arange(len(self.offsets), device=device) if settings.positions else self.offsets * 0
        self.first_rows = table * words  # (O,): where the output vectors of each position begin
        self.inputs = (torch.rand(words, size, generator=self.random, device=device) - 0.5) / size  # (V, D)
        self.outputs = torch.zeros(self.tables * words, size, device=device)  # (O·V, D)
        self.input_squares = torch.zeros(words, device=device)
        self.output_squares = torch.zeros(self.tables * words, device=device)
        frequency = torch.from_numpy(counts).double().to(device)
        self.drawn_below = torch.cumsum(frequency**settings.power, 0)  # (V,): word k is drawn up to here
        self.kept = kept_share(frequency / frequency.sum(), settings.subsample)  # (V,)

    def learn_block(self, block: Ints, learning_rate: float) -> tuple[int, float]:
        """Learn from a stretch of text; return the number of pairs and the mean loss of those of its first batch."""
        numbers = torch.from_numpy(block).to(self.device).long()
        sentence = torch.cumsum(numbers == END, 0)
        numbers, sentence = numbers[numbers >= 0], sentence[numbers >= 0]
        chosen = self.uniform(len(numbers)) < self.kept[numbers]
        numbers, sentence = numbers[chosen], sentence[chosen]
        # Near neighbours count more: every word sees as many of them as a die says.
        reach = (self.uniform(len(numbers)) * self.settings.window).long() + 1
        order = torch.randperm(len(numbers), generator=self.random, device=self.device)
        pairs, loss = 0, 0.0
        size = self.settings.batch or (GPU_BATCH if self.device.type == "cuda" else CPU_BATCH)
        for begin in range(0, len(order), size):
            positions = order[begin : begin + size]  # (B,)
            near = positions[:, None] + self.offsets  # (B, O)
            inside = (near >= 0) & (near < len(numbers)) & (self.offsets.abs() <= reach[positions, None])
            near = near.clamp(0, len(numbers) - 1)
            inside &= sentence[near] == sentence[positions, None]
            found = int(inside.sum())
            if found:
                losses = self.step(numbers[positions], numbers[near], inside, learning_rate, measured=not pairs)
                loss = loss if pairs else float(losses) / found
                pairs += found
        return pairs, loss

    def step(self, words: Tensor, near: Tensor, inside: Tensor, learning_rate: float, measured: bool = True) -> Tensor:
        """Learn from words (B,) and their neighbours (B, O), where these are inside; return the loss if asked to."""
        settings, size = self.settings, self.settings.size
        h = self.inputs[words]  # (B, D)
        pair_word, pair_offset = inside.nonzero(as_tuple=True)  # (P,)
        right_rows = near[pair_word, pair_offset] + self.first_rows[pair_offset]
        drawn_rows = (self.draw(settings.shared_negatives) + self.first_rows[:, None]).flatten()  # (O·M,)

        right = self.outputs[right_rows]  # (P, D)
        paired = h[pair_word]  # (P, D)
        right_scores = (paired * right).sum(-1)  # (P,)
        drawn = self.outputs[drawn_rows]  # (O·M, D)
        drawn_scores = (h @ drawn.T).view(len(words), -1, settings.shared_negatives)  # (B, O, M)
        weight = inside[:, :, None] * (settings.negatives / settings.shared_negatives)  # (B, O, 1)

        right_slope = torch.sigmoid(-right_scores)[:, None]  # (P, 1)
        drawn_slope = (torch.sigmoid(drawn_scores) * -weight).view(len(words), -1)  # (B, O·M)
        loss = right_scores.new_zeros(())
        if measured:  # it costs as much as learning does
            loss = softplus(-right_scores).sum() + (softplus(drawn_scores) * weight).sum()
        gradient = drawn_slope @ drawn  # (B, D)
        gradient.index_add_(0, pair_word, right_slope * right)
        climb(self.outputs, self.output_squares, torch.cat([right_rows, drawn_rows]),
              torch.cat([right_slope * paired, drawn_slope.T @ h]), learning_rate)  # fmt: skip
        climb(self.inputs, self.input_squares, words, gradient.view(-1, size), learning_rate)
        return loss

    def draw(self, count: int) -> Tensor:
        """Draw words for every position: (O, M)."""
        shape = (len(self.offsets), count)
        drawn = torch.rand(shape, generator=self.random, device=self.device, dtype=torch.float64)
        found = torch.searchsorted(self.drawn_below, drawn * self.drawn_below[-1], right=True)
        return found.clamp(max=len(self.drawn_below) - 1)

    def uniform(self, count: int) -> Tensor:
        return torch.rand(count, generator=self.random, device=self.device)


def climb(matrix: Tensor, squares: Tensor, rows: Tensor, gradients: Tensor, learning_rate: float) -> None:
    """Take a step of Adagrad up the gradients (R, D) of some rows, with one rate for each row; rows may repeat."""
    distinct, place = rows.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    total = torch.zeros(len(distinct), matrix.shape[1], device=matrix.device).index_add_(0, place, gradients)
    squares.index_add_(0, distinct, total.square().mean(1))
    matrix.index_add_(0, distinct, total * (learning_rate / (squares[distinct].sqrt() + EPSILON))[:, None])


def kept_share(frequency: Tensor, threshold: float) -> Tensor:
    """Return the probability with which an occurrence of each word is kept, as word2vec has it."""
    if not threshold:
        return torch.ones_like(frequency)
    share = threshold / frequency
    return (share.sqrt() + share).clamp(max=1)
