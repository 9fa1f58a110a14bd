"""A parser that never learned anything, for all tests of annotation."""

from pathlib import Path

import pytest
from support.models import saved_model

import discotree as dt


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("annotation") / "xx")


@pytest.fixture(scope="session")
def parser(model: Path) -> dt.Parser:
    return dt.load(model, "cpu")
