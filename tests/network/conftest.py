import pytest
from support.encoders import KINDS


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A tiny Transformer of every kind, as the hub would have it."""
    root = tmp_path_factory.mktemp("hub")
    return {kind: save(root / kind) for kind, save in KINDS.items()}


@pytest.fixture(params=KINDS)
def folder(request, folders):
    return folders[request.param]
