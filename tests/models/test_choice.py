"""Which model? The one that is named, the one for the language of the text, or an error that asks for a name."""

import gzip
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.models import CARD, saved_model, with_card
from support.packages import model_package, use_models_of

import discotree as dt
from discotree.cli import app
from discotree.errors import InputError, ModelError
from discotree.models import finding
from discotree.models.finding import Candidates, Choice, find, mismatch

DUTCH = "Dat boek heeft zij gisteren niet gelezen."
GERMAN = "Darüber hat er nie ein Wort verloren."
ENGLISH = "The mice that we analyzed were fed a normal diet."
FRENCH = "Je ne sais pas ce que tu veux dire, mais ce n'est pas possible."
OPEN = {"commercial": True, "licence": "MIT"}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installed models: nl and en are free to use, de is not."""
    folder = tmp_path / "site"
    for code, language, terms in (("nl", "Dutch", OPEN), ("en", "English", OPEN), ("de", "German", {})):
        model = saved_model(model_package(folder, code), code)
        with_card(model, CARD | {"name": code, "code": code, "language": language} | terms)
    use_models_of(folder, monkeypatch)
    monkeypatch.setattr(finding, "_announced", set())
    monkeypatch.delenv("DISCOTREE_MODEL", raising=False)
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(("text", "name"), [(DUTCH, "nl"), (ENGLISH, "en")])
def test_the_language_decides_in_python_and_on_the_command_line(text: str, name: str, tmp_path: Path) -> None:
    assert dt.load(text=text).config.language == name
    for arguments, piped in (([text], None), ([], text)):
        done = CliRunner().invoke(app, ["parse", *arguments, "--to", "json"], input=piped)
        assert done.exit_code == 0, done.stderr
        assert f"parsed with the model {name}" in done.stderr
        assert "language" not in done.stdout  # JSON is the record of a tree and nothing else
    path = tmp_path / "a.txt"
    path.write_text(f"{text}\n" * 1000)
    assert f"parsed with the model {name}" in CliRunner().invoke(app, ["parse", str(path), "--k", "1"]).stderr


@pytest.mark.usefixtures("shelf")
def test_text_in_another_encoding_is_named_before_its_language_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(DUTCH, "utf-16")
    done = CliRunner().invoke(app, ["parse", str(tmp_path / "a.txt")])
    assert str(done.exception).endswith("a.txt: the text is in UTF-16; pass --encoding utf-16")
    (tmp_path / "packed.txt").write_bytes(gzip.compress(DUTCH.encode()))
    done = CliRunner().invoke(app, ["parse", str(tmp_path / "packed.txt")])
    assert str(done.exception).endswith("packed.txt: the text is compressed with gzip; decompress it first")


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("content", "message"),
    [(DUTCH.encode("utf-16"), "use --encoding utf-16"), (gzip.compress(DUTCH.encode()), "compressed with gzip")],
)
@pytest.mark.parametrize("is_piped", [False, True])
def test_text_in_another_encoding_is_reported_when_the_model_is_named(
    content: bytes, message: str, is_piped: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    command = [sys.executable, "-m", "discotree", "parse", *([] if is_piped else ["a.txt"]), "-m", str(find("nl"))]
    done = subprocess.run(command, cwd=tmp_path, input=content if is_piped else b"", capture_output=True, check=False)
    assert (done.returncode, message in done.stderr.decode()) == (1, True)


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Ja.", "the language of this text is not certain: name a model (en, nl, de)"),
        (FRENCH, "this text looks like French, which no installed model is for: name a model (en, nl, de)"),
        (GERMAN, "the model de is for non-commercial use only (CC BY-NC 4.0): name it to use it"),
        ("Привет, как дела? " * 6, "looks like none of the languages that discotree knows"),
    ],
)
def test_what_has_no_model_is_an_error_that_asks_for_a_name(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=re.escape(complaint)):
        dt.load(text=text)
    done = CliRunner().invoke(app, ["parse", "--text", text])
    assert done.exit_code != 0
    assert complaint in str(done.exception) + done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("text", ["\n", "\ufeff", "1984\n"])
def test_a_file_without_words_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text, "utf-8")
    assert str(CliRunner().invoke(app, ["parse", str(path)]).exception).startswith("the input has no words: name a")


@pytest.mark.usefixtures("shelf")
def test_a_named_model_parses_any_text_and_warns() -> None:
    done = CliRunner().invoke(app, ["parse", ENGLISH, "--model", "nl", "--to", "discbracket"])
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert "this text looks like English; this model is for Dutch" in done.stderr
    assert "looks like" not in CliRunner().invoke(app, ["parse", DUTCH, "--model", "nl"]).stderr
    assert "looks like" not in CliRunner().invoke(app, ["parse", "--text", "Ja.", "--model", "nl"]).stderr


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("command", ["parse", "measure"])
@pytest.mark.parametrize("model", [[], ["--model", "nl"]])
def test_texts_in_another_language_are_named(tmp_path: Path, command: str, model: list[str]) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in (("a", ENGLISH), ("b", DUTCH * 2), ("c", ENGLISH), ("d", DUTCH * 2)):
        (texts / f"{name}.txt").write_text(text, "utf-8")
    said = CliRunner().invoke(app, [command, str(texts), *model]).stderr
    warnings = [line for line in said.splitlines() if "this model is for" in line]
    looks = "this text looks like English; this model is for Dutch"
    assert warnings == [f"discotree: {texts}/{name}.txt: {looks}" for name in "ac"]


@pytest.mark.usefixtures("shelf")
def test_parse_text_warns_too() -> None:
    parser = dt.load("nl")
    with pytest.warns(UserWarning, match="^this text looks like English; this model is for Dutch$"):
        assert len(list(parser.parse_text(ENGLISH))) == 1


@pytest.mark.usefixtures("shelf")
def test_standard_input_is_looked_at_and_not_lost() -> None:
    text = f"Ja.\n{DUTCH}\n" * 5000
    done = CliRunner().invoke(app, ["parse", "--from", "lines", "--to", "tokens"], input=text)
    named = CliRunner().invoke(app, ["parse", "--from", "lines", "--to", "discbracket", "-m", "nl"], input=text[:9000])
    found = CliRunner().invoke(app, ["parse", "--from", "lines", "--to", "discbracket"], input=text[:9000])
    assert done.exit_code == 2  # there is no such format
    assert found.stdout == named.stdout
    assert found.stdout.count("\n") == text[:9000].count("\n") + 1
    again = CliRunner().invoke(app, ["parse", "--from", "discbracket", "--to", "discbracket"], input=found.stdout)
    assert again.stdout.count("\n") == found.stdout.count("\n")


@pytest.mark.usefixtures("shelf")
def test_a_broken_treebank_is_reported_as_such() -> None:
    done = CliRunner().invoke(app, ["parse", "--from", "export"], input="#BOS 1\nx\n#EOS 2\n")
    assert "language" not in str(done.exception) + done.stderr


@pytest.mark.usefixtures("shelf")
def test_the_environment_names_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"pass the name of a model \(de, en, nl\), or a text"):
        dt.load()
    monkeypatch.setenv("DISCOTREE_MODEL", "de")
    assert dt.load().config.language == dt.load(text=DUTCH).config.language == "de"
    assert dt.load("nl").config.language == "nl"


@pytest.mark.usefixtures("shelf")
def test_a_non_commercial_model_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "discotree")
    dt.load("nl")
    assert caplog.messages == []
    for _ in range(2):
        dt.load("de")
    assert caplog.messages == ["the model de is for non-commercial use only (CC BY-NC 4.0)"]


def test_a_single_model_is_never_in_doubt() -> None:
    alone = Candidates({"mine": "nl"})
    assert alone.choose("Ja.") == alone.choose(DUTCH) == Choice("mine")
    assert alone.choose(ENGLISH).warning == "this text looks like English; this model is for Dutch"
    assert Candidates({"mine": ""}).choose(ENGLISH) == Choice("mine")
    with pytest.raises(ModelError, match="no model to choose from"):
        Candidates({}).choose(DUTCH)


def test_of_two_models_for_a_language_the_first_is_chosen() -> None:
    assert Candidates({"b": "nl", "a": "nl", "en": "en"}).choose(DUTCH).model == "b"


def test_a_language_that_is_not_known_is_never_another_one() -> None:
    assert mismatch(ENGLISH, "") == mismatch(ENGLISH, "tr") == ""


# Installed models


def cards(site: Path, monkeypatch: pytest.MonkeyPatch, **terms: bool) -> Candidates:
    """Install models that consist of their cards; a name begins with its language."""
    for name, commercial in terms.items():
        name = name.replace("_", "-")
        folder = model_package(site, name)
        folder.mkdir()
        with_card(folder, CARD | {"name": name, "code": name[:2], "commercial": commercial})
    use_models_of(site, monkeypatch)
    return Candidates.installed()


def test_a_large_model_is_chosen_only_where_there_is_no_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cards(tmp_path, monkeypatch, nl_large=True, nl_legal=True, nl=True, en_large=True)
    assert list(found.languages) == ["nl", "nl-legal", "en-large", "nl-large"]
    assert found.choose(DUTCH).model == "nl"
    assert found.choose(ENGLISH).model == "en-large"


def test_a_free_model_is_chosen_before_one_that_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cards(tmp_path, monkeypatch, de=False, de_free=True).choose(GERMAN).model == "de-free"


def test_the_only_installed_model_is_not_for_every_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People install one model at first: a text in another language asks for another one."""
    alone = cards(tmp_path, monkeypatch, nl=True)
    assert alone.choose("Ja.") == alone.choose(DUTCH) == Choice("nl")
    with pytest.raises(InputError) as caught:
        alone.choose(GERMAN)
    assert str(caught.value) == (
        "this text looks like German, which no installed model is for: pip install discotree-de, or name a model (nl)"
    )
    with pytest.raises(InputError, match=r"French, which no installed model is for: name a model \(nl\)"):
        alone.choose(FRENCH)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (DUTCH, "pip install discotree-nl, or"),
        (FRENCH, "pip install discotree-NAME (nl, de, de-nc, en, is, fo, es, fro, yi, grc, de-early)"),
        ("Ja.", "pip install discotree-NAME (nl, de, de-nc, en, is, fo, es, fro, yi, grc, de-early)"),
    ],
)
def test_without_a_model_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, hint: str
) -> None:
    monkeypatch.delenv("DISCOTREE_MODEL", raising=False)
    use_models_of(tmp_path, monkeypatch)
    with pytest.raises(ModelError) as caught:
        dt.load(text=text)
    assert str(caught.value).startswith(f"no model is installed: {hint}")
    with pytest.raises(ModelError, match=r"^pass the name of a model \(none is installed\), or a text"):
        dt.load()
