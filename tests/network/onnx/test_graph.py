"""The file format: what the official package reads is what was written."""

import numpy as np
import pytest

from discotree.network.onnx import graph
from discotree.network.onnx.graph import MICROSOFT, Graph

onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 1 << 40, -1])
def test_whole_numbers_of_any_size(value):
    assert onnx.AttributeProto.FromString(graph.attribute_message("a", value)).i == value


@pytest.mark.parametrize(("value", "field"), [(0.5, "f"), ("reverse", "s"), ((1, -2, 3), "ints")])
def test_attributes(value, field):
    found = onnx.AttributeProto.FromString(graph.attribute_message("größe", value))
    given = getattr(found, field)
    assert found.name == "größe"
    assert (given.decode() if isinstance(given, bytes) else tuple(given) if field == "ints" else given) == value
    onnx.checker.check_attribute(found)


@pytest.mark.parametrize("dtype", list(graph.TYPES), ids=str)
def test_tensors_of_all_types(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    found = onnx.TensorProto.FromString(graph.tensor_message("t", array, inside=True))
    assert np.array_equal(onnx.numpy_helper.to_array(found), array)
    assert onnx.numpy_helper.to_array(found).dtype == dtype


def test_an_empty_tensor_and_a_single_number():
    for array in (np.zeros((0, 4), np.float32), np.array(7)):
        found = onnx.TensorProto.FromString(graph.tensor_message("t", array, inside=True))
        assert np.array_equal(onnx.numpy_helper.to_array(found), array)


def test_a_tensor_whose_numbers_are_elsewhere():
    found = onnx.TensorProto.FromString(graph.tensor_message("t", np.ones((3, 4), np.int8), inside=False))
    assert found.data_location == onnx.TensorProto.EXTERNAL
    assert (found.dims, found.data_type, found.raw_data) == ([3, 4], onnx.TensorProto.INT8, b"")


def test_a_model():
    graph = Graph("sum")
    x = graph.input("x", np.float32, ("rows", 2))
    y = graph.add("Add", x, graph.array("w", np.array([1, 2], np.float32)))
    graph.output("y", graph.add("ReduceMax", y, axes=(1,), keepdims=0), np.float32, ("rows",))
    model = onnx.load_from_string(graph.model(inside=True, metadata={"labels": '["NP"]'}))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Add", "ReduceMax", "Identity"]
    assert {entry.key: entry.value for entry in model.metadata_props} == {"labels": '["NP"]'}
    assert [size.dim_param or size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim] == ["rows", 2]


def test_operations_beyond_the_standard_name_their_set():
    graph = Graph("gelu")
    graph.output("y", graph.add("Gelu", graph.input("x", np.float32, ("n",)), domain=MICROSOFT), np.float32, ("n",))
    model = onnx.load_from_string(graph.model())
    assert {opset.domain for opset in model.opset_import} == {"", MICROSOFT}


def test_equal_constants_are_stored_once():
    graph = Graph("constants")
    assert graph.constant([1, 2]) == graph.constant((1, 2)) != graph.constant([1, 2], np.int32)
