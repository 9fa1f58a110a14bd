"""Which engine runs a model: the one that was asked for, or the one that suits the machine."""

import gc
import sys
import weakref
from dataclasses import replace

import pytest
from support.encoders import saved_bert
from support.models import saved_model
from support.networks import parser_of

import discotree as dt
from discotree.errors import ConfigError, MissingExtraError, ModelError
from discotree.models.folder import Model
from discotree.network.pytorch.transformer import load_transformer
from discotree.network.scores import ENGINES, check_engine
from discotree.parsing import parser as parser_module
from discotree.parsing.parser import choose_engine, load, new_engine


@pytest.fixture
def model() -> Model:
    return parser_of().model


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if torch were not installed: what imports it has to be imported again."""
    for name in [name for name in sys.modules if name.startswith("discotree.network.pytorch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.parametrize("name", ["tensorflow", "ONNX", "onnx ", "cpu", "x" * 1000])
def test_an_unknown_engine_is_refused_with_those_that_exist(name: str) -> None:
    with pytest.raises(ConfigError, match=r"^unknown engine '.+, expected one of onnx, onnx-float32, torch$") as caught:
        choose_engine(name)
    assert len(str(caught.value)) < 120


def test_engines_that_exist_are_known() -> None:
    for name in (None, *ENGINES):
        check_engine(name)


def test_loading_a_model_refuses_an_unknown_engine() -> None:
    with pytest.raises(ConfigError, match="unknown engine 'abacus'"):
        dt.load("nl", engine="abacus")


@pytest.mark.parametrize("name", ["onnx", "onnx-float32"])
def test_onnx_computes_on_the_cpu(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^the engine {name} runs on the CPU only; use the engine torch for"):
        choose_engine(name, "cuda:1")
    for device in (None, "cpu"):
        assert choose_engine(name, device) == (name, "cpu")


@pytest.mark.parametrize(
    ("asked", "has_gpu", "chosen"),
    [
        ((None, None), False, (None, "cpu")),  # whether onnx can run it depends on the model
        ((None, "cpu"), True, (None, "cpu")),
        (("torch", None), False, ("torch", "cpu")),
        (("torch", "cpu"), True, ("torch", "cpu")),
        (("onnx", None), True, ("onnx", "cpu")),
        ((None, None), True, ("torch", "cuda")),
        (("torch", None), True, ("torch", "cuda")),
        ((None, "cuda:1"), False, ("torch", "cuda:1")),
    ],
    ids=str,
)
def test_a_gpu_is_used_where_there_is_one_and_nothing_else_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: tuple[str | None, str | None], has_gpu: bool, chosen: tuple[str | None, str]
) -> None:
    monkeypatch.setattr(parser_module, "_has_gpu", lambda: has_gpu)
    monkeypatch.setattr("discotree.network.pytorch.engine.usable", lambda device: device)
    assert choose_engine(*asked) == chosen


def test_a_device_that_is_not_there_is_refused() -> None:
    for name in (None, "torch"):
        with pytest.raises(ModelError, match=r"^the device 'cuda:99' cannot be used"):
            choose_engine(name, "cuda:99")


def test_a_gpu_is_called_cuda() -> None:
    for name in ENGINES:
        with pytest.raises(ModelError, match=r"^the device 'gpu' cannot be used: expected 'cpu', 'cuda' or 'cuda:1'"):
            load("nl", "gpu", engine=name)


def test_torch_runs_a_model(model: Model) -> None:
    engine = new_engine(model, "torch", "cpu")
    assert (engine.name, engine.device) == ("torch", "cpu")
    assert engine.batch_words > 0


def test_a_transformer_that_only_the_library_knows_is_run_by_torch(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved_bert(tmp_path_factory.mktemp("hub") / "bert", hidden_act="mish")
    network = replace(parser_of().config.network, encoder=f"hf:{folder}")
    model = parser_of(network=network).model
    assert load_transformer(str(folder)).config is None
    monkeypatch.setattr(parser_module, "_has_gpu", lambda: False)
    assert new_engine(model).name == "torch"


@pytest.mark.usefixtures("without_torch")
def test_without_torch_the_extra_is_named() -> None:
    assert choose_engine() == (None, "cpu")
    with pytest.raises(MissingExtraError, match=r"^torch is missing: pip install 'discotree\[gpu\]'$"):
        choose_engine(None, "cuda")
    with pytest.raises(MissingExtraError, match=r"^torch is missing: pip install 'discotree\[gpu\]'$"):
        dt.load("nl", "cuda", engine="torch")
    with pytest.raises(MissingExtraError, match=r"^torch is missing: pip install 'discotree\[train\]'$"):
        dt.load("nl", engine="torch")


def test_without_torch_no_new_model_is_made(model: Model, without_torch: None) -> None:  # noqa: ARG001
    with pytest.raises(MissingExtraError, match=r"^torch is missing: pip install 'discotree\[train\]'$"):
        Model.new(model.config, model.vocab)


@pytest.mark.parametrize("engine", ["onnx", "torch"])
def test_a_parser_that_nobody_needs_gives_its_memory_back_at_once(tmp_path, engine):
    """Without waiting for the garbage collector: a process that loads one model after another would grow."""
    parser = dt.load(saved_model(tmp_path / "model"), "cpu", engine=engine)
    parser(["Es", "kam", "nichts"])
    kept = [weakref.ref(parser), weakref.ref(parser.engine), weakref.ref(parser.model)]
    gc.disable()
    try:
        del parser
        assert [ref() for ref in kept] == [None] * 3
    finally:
        gc.enable()
