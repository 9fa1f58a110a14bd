"""PyTorch as an engine: on a GPU the scores of one batch are fetched while the next is computed."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from discotree.config.schema import NetworkSettings
from discotree.errors import DiscotreeError, ModelError, first_line
from discotree.network.arrays import Array
from discotree.network.batch import Batch
from discotree.network.pytorch.model import CHUNK, PointerNetwork, TensorScores, label_scores
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.scores import Auxiliary, Labeler, Scores
from discotree.network.subwords import Subwords
from discotree.network.transformer import Pretrained
from discotree.network.vocab import Vocab
from discotree.network.weights import Weights, dense


def usable(
    name: str | torch.device | None = None, error: type[DiscotreeError] = ModelError, where: str = ""
) -> torch.device:
    """Return the named device, or a GPU where none is named and one is there, after computing something on it."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if torch.ones(2, dtype=torch.float64, device=device).sum().item() != 2:  # decoding needs double precision
            raise ValueError("a test computation failed")
    except Exception as problem:  # torch's own errors, AssertionError, ImportError: it depends on device and version
        reason = first_line(problem).partition(". ")[0]
        message = f"the device {str(name)!r:.50} cannot be used: {reason}; available: {_available()}"
        raise error(where + message) from None
    return device


def _available() -> str:
    return ", ".join(["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))])


BATCH_WORDS = 4000  # on a CPU
BATCH_WORDS_GPU = 16_000
READ_AHEAD = 5  # batches


def network_of(
    settings: NetworkSettings, vocab: Vocab, has_tags: bool, pieces: Subwords | Pretrained | None, weights: Weights
) -> PointerNetwork:
    """Return a network with these weights."""
    with torch.device("meta"):  # no numbers are drawn that would be replaced at once
        network = PointerNetwork(settings, vocab, has_tags, pieces)
    try:
        load_weights(network, weights)
    except RuntimeError as error:  # the library may read a Transformer's configuration otherwise than we do
        where = f"{pieces.where}: " if isinstance(pieces, Pretrained) else ""
        raise ModelError(f"{where}the weights do not fit the network: {first_line(error)}") from None
    return network


def load_weights(network: PointerNetwork, weights: Weights) -> None:
    """Give a network these weights, on the device where it is."""
    assign = network.arc_bilinear.is_meta
    network.load_state_dict({name: torch.tensor(dense(value)) for name, value in weights.items()}, assign=assign)


def weights_of(network: PointerNetwork) -> dict[str, Array]:
    """Return copies of a network's weights."""
    return {name: value.float().numpy(force=True).copy() for name, value in network.state_dict().items()}


class TorchEngine:
    """A network on a device."""

    name = "torch"
    read_ahead = READ_AHEAD

    def __init__(self, network: PointerNetwork, device: torch.device | str = "cpu", threads: int | None = None) -> None:
        """Use at most ``threads`` threads on a CPU; by default as many as torch does."""
        if threads:
            torch.set_num_threads(threads)
        self.place = torch.device(device)
        self.network = network.to(self.place)
        on_gpu = self.place.type == "cuda"
        self.batch_words = BATCH_WORDS_GPU if on_gpu else BATCH_WORDS
        self.ahead = 2 if on_gpu else 1
        # One stream fetches scores, the other scores single labels: neither waits for the network of the next batch.
        self.stream, self.label_stream = (
            torch.cuda.Stream(self.place, priority=-1) if on_gpu else None  # type: ignore[no-untyped-call]
            for _ in range(2)
        )

    @property
    def device(self) -> str:
        return str(self.place)

    def prepare_forks(self) -> None:
        """Do nothing: forked processes share the weights in any case."""

    def forked(self, _: int = 1, /) -> None:
        """Use one thread. Waiting for those of the first process would never end; oneDNN remembers their number."""
        torch.set_num_threads(1)
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]

    def start(self, batch: Batch) -> Callable[[], Scores]:
        """Score a batch. On a GPU this returns before the scores are there."""
        self.network.eval()
        with torch.inference_mode():
            scores: TensorScores = self.network(TensorBatch.of(batch, self.place))
            return self._fetch(batch, scores) if self.stream is not None else self._scores(batch, scores)

    def _scores(self, batch: Batch, scores: TensorScores) -> Callable[[], Scores]:
        auxiliary = {}
        for head, values in scores.auxiliary.items():
            best = values.max(-1)
            auxiliary[head] = Auxiliary(best.indices.numpy(), best.values.numpy())
        arrays = (scores.arcs.numpy(), scores.dependents.float().numpy(), scores.heads.float().numpy())
        found = Scores(batch.lengths, *arrays, self._labeler(scores.bilinear), auxiliary)
        return lambda: found

    def _fetch(self, batch: Batch, scores: TensorScores) -> Callable[[], Scores]:
        """Find every arc's best label on the GPU, and copy all to main memory, on a stream of its own."""
        assert self.stream is not None
        self.stream.wait_stream(torch.cuda.current_stream(self.place))
        with torch.cuda.stream(self.stream):
            best, which = scores.best_labels()
            tensors = {
                "arcs": scores.arcs,
                "dependents": scores.dependents.float(),
                "heads": scores.heads.float(),
                "best": best,
                "which": which,
            }
            for head, values in scores.auxiliary.items():
                found = values.max(-1)
                tensors |= {f"class {head}": found.indices.int(), f"log {head}": found.values}
            copies = {name: _copy(value) for name, value in tensors.items()}
            done = self.stream.record_event()

        def wait() -> Scores:
            done.synchronize()
            arrays: Mapping[str, Any] = {name: value.numpy() for name, value in copies.items()}
            tensors.clear()  # the GPU needed them until now
            return Scores(
                batch.lengths,
                arrays["arcs"],
                arrays["dependents"],
                arrays["heads"],
                self._labeler(scores.bilinear),
                {head: Auxiliary(arrays[f"class {head}"], arrays[f"log {head}"]) for head in scores.auxiliary},
                (arrays["best"], arrays["which"]),
            )

        return wait

    def _labeler(self, bilinear: Tensor) -> Labeler:
        rows = max(1, CHUNK // max(1, bilinear.shape[0] * bilinear.shape[1]))

        def labels(dependents: Any, heads: Any) -> Any:
            with torch.inference_mode(), torch.cuda.stream(self.label_stream):  # None: the current stream
                sides = (torch.from_numpy(np.ascontiguousarray(side)).to(self.place) for side in (dependents, heads))
                pairs = zip(*(torch.split(side, rows) for side in sides), strict=True)
                return (
                    torch.cat([label_scores(bilinear.float(), *pair).log_softmax(-1) for pair in pairs]).cpu().numpy()
                )

        return labels


def _copy(value: Tensor) -> Tensor:
    """Begin to copy a tensor from a GPU to main memory."""
    return torch.empty(value.shape, dtype=value.dtype, pin_memory=True).copy_(value, non_blocking=True)
