"""Score batches with ONNX Runtime."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime as ort

from discotree.config import NetworkSettings
from discotree.errors import ModelError, first_line
from discotree.network.model import AUXILIARY_HEADS
from discotree.network.onnx.graph import Graph
from discotree.network.onnx.network import CHARACTERS, VECTORS, Network


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Session:
    def __init__(self, graph: Graph, threads: int, profile: str = "", **kw) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", kw.get("spin", "1"))
        if profile:
            options.enable_profiling = True
            options.profile_file_prefix = profile
        if kw.get("inter"):
            options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
            options.inter_op_num_threads = kw["inter"]
        self.arrays = graph.elsewhere()
        values = [ort.OrtValue.ortvalue_from_numpy(a)._ortvalue if False else ort.OrtValue.ortvalue_from_numpy(a) for a in self.arrays.values()]
        self.values = values
        options.add_external_initializers(list(self.arrays), values)
        self.session = ort.InferenceSession(graph.model(), options, providers=["CPUExecutionProvider"])
        self.inputs = [i.name for i in self.session.get_inputs()]
        self.outputs = [o.name for o in self.session.get_outputs()]

    def run(self, feed):
        return dict(zip(self.outputs, self.session.run(self.outputs, {k: feed[k] for k in self.inputs})))
