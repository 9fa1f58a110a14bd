"""Pipelines and Docs for the tests of the spaCy component."""

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from support.models import saved_model
from support.spacy_docs import pipeline

TEXT = "Ik heb het hem niet kunnen zeggen. Daar weet ik niets van!"


@pytest.fixture(scope="session")
def dutch() -> Language:
    nlp = spacy.blank("nl")
    nlp.add_pipe("discotree")
    return nlp


@pytest.fixture(scope="session")
def doc(dutch: Language) -> Doc:
    """A parsed Doc for tests that do not change it."""
    return dutch(TEXT)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained model for German."""
    return saved_model(tmp_path_factory.mktemp("spacy") / "small")


@pytest.fixture(scope="session")
def small(folder: Path) -> Language:
    return pipeline(folder)
