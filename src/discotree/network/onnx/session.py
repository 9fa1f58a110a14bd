"""ONNX Runtime: a graph that can be run."""

from typing import Any

import onnxruntime as ort  # type: ignore[import-untyped]

from discotree.errors import ModelError, first_line
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.protobuf import Array

FATAL = 4  # messages below this level are not printed; errors are raised all the same


class Session:
    """A graph in memory. Running it releases the interpreter lock."""

    def __init__(self, graph: Graph, threads: int) -> None:
        self.name = graph.name
        options = ort.SessionOptions()
        options.log_severity_level = FATAL
        options.intra_op_num_threads = threads
        options.enable_mem_pattern = False  # sizes differ from batch to batch
        options.enable_cpu_mem_arena = False  # it keeps 80 MB, and saves no time
        # Threads that wait for work in a loop take the time of decoding, and save little.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._arrays = graph.elsewhere()  # they and their values must live as long as the session
        self._values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in self._arrays.items()}
        try:
            options.add_external_initializers(list(self._values), list(self._values.values()))
            if threads > 1:  # weights in place: 20 MB less for a single sentence; large batches may get slower
                for name, value in self._values.items():
                    options.add_initializer(name, value)
            self._session = ort.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class of their own
            raise ModelError(f"ONNX Runtime cannot load the {self.name}: {first_line(error)}") from None
        self._inputs = [value.name for value in self._session.get_inputs()]
        self._outputs = [value.name for value in self._session.get_outputs()]

    def run(self, arrays: dict[str, Any]) -> dict[str, Array]:
        """Return the outputs by name, given the inputs and maybe more."""
        try:
            found = self._session.run(self._outputs, {name: arrays[name] for name in self._inputs})
        except Exception as error:
            raise ModelError(f"ONNX Runtime cannot run the {self.name}: {first_line(error)}") from None
        return dict(zip(self._outputs, found, strict=True))
