"""Models on the Hugging Face hub: the card, the folder, and a real server on this machine that speaks the hub's API."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from huggingface_hub import ModelCard, constants
from support.hub_server import READER, WRITER, Hub, create_hub
from support.models import saved_model
from support.networks import TREES, torch_parser
from support.pages import ROOT, blocks, matches, run_command, run_python
from support.servers import serving
from support.tiny import TINY, small_recipe

import discotree as dt
from discotree import Parser
from discotree.cli import app
from discotree.config.recipes import load_recipe
from discotree.config.schema import Config, Data, DataSource, NetworkSettings
from discotree.errors import MissingExtraError, ModelError
from discotree.models import CONFIG, VOCAB, WEIGHTS, finding
from discotree.models.card import (
    UNMEASURED,
    Card,
    Metrics,
    RawText,
    Source,
    SplitMetrics,
    metadata,
    page,
    without_metadata,
)
from discotree.models.folder import bare, describe, metrics_of, public, read_model
from discotree.models.hub import FILES, fetch
from discotree.network.weights import dense
from discotree.training import run as train

pytestmark = pytest.mark.filterwarnings(
    "ignore:Use 'content=:DeprecationWarning"
)  # huggingface_hub of httpx, uploading
OURS = {"README.md", "card.json", "config.json", "vocab.json", "weights.safetensors"}
TEXT = "Es kam nichts Interessantes ."
BANKS = (Source("Twenty Trees", "https://example.org", "CC BY 4.0"), Source("my-org/more-trees", "", ""))
METRICS = Metrics(80.5, 61.0, 40.25, 97.5, None)
FULL = Card(
    "xx", "German", "de", BANKS, "CC BY-NC 4.0", False, 1020, SplitMetrics(METRICS, METRICS), "0123abc", "Nothing."
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "xx")


@pytest.fixture(scope="module")
def tiny(model: Path) -> Parser:
    return Parser.from_pretrained(model)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    """One with other weights."""
    found = read_model(saved_model(tmp_path_factory.mktemp("models") / "yy"))
    return torch_parser(replace(found, weights={name: -dense(weight) for name, weight in found.weights.items()}))


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Hub, str]]:
    hub = Hub()
    with serving(create_hub(hub)) as client:
        yield hub, str(client.base_url).rstrip("/")


def point_to(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """What the environment would say before huggingface_hub is imported, which happens once in a process."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


@pytest.fixture
def hub(server: tuple[Hub, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """An empty hub, an empty cache, and a token that may write."""
    found, url = server
    found.clear()
    point_to(monkeypatch, url)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)  # newer versions have it
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_TOKEN", WRITER)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    fresh_cache(monkeypatch, tmp_path / "cache")
    return found


def fresh_cache(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))


@pytest.fixture
def down(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Nobody listens where the hub should be."""
    point_to(monkeypatch, "http://127.0.0.1:9")
    return hub


# The card


def test_the_hub_reads_the_card(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(page(FULL, "hub:me/xx"), "utf-8")
    data = ModelCard.load(path).data
    assert (data.language, data.license, data.library_name) == ("de", "cc-by-nc-4.0", "discotree")
    assert data.tags == ["constituency-parsing", "discontinuous-constituency-parsing"]
    assert data.datasets == ["twenty-trees", "my-org/more-trees"]
    assert data.metrics == ["f1", "exact_match", "accuracy"]
    assert data.model_name == "xx"
    first = data.eval_results[0]
    assert (first.task_type, first.task_name) == ("token-classification", "Discontinuous constituency parsing")
    assert (first.dataset_name, first.dataset_type, first.dataset_split) == ("Twenty Trees", "twenty-trees", "test")
    found = [(row.dataset_split, row.metric_type, row.metric_name, row.metric_value) for row in data.eval_results]
    test = [("f1", "F1", 80.5), ("f1", "discontinuous F1", 61.0), ("exact_match", "exact match", 40.25)]
    test.append(("accuracy", "tags", 97.5))  # there are no functions to count
    assert found == [(part, *row) for part in ("test", "dev") for row in test]
    assert data.to_dict()["model-index"][0]["name"] == "xx"


def test_people_read_the_card() -> None:
    text = without_metadata(page(FULL, "hub:me/xx"))
    assert text.startswith("# xx: German\n")
    assert 'discotree.load("hub:me/xx")' in text
    assert "[Twenty Trees](https://example.org) (CC BY 4.0), my-org/more-trees; 1,020 training sentences" in text
    assert "CC BY-NC 4.0. **Not for commercial use.**" in text
    assert "| test | 80.50 | 61.00 | 40.25 | 97.50 | – |" in text
    assert without_metadata(text) == text


@pytest.mark.parametrize(
    ("licence", "name", "own"),
    [
        ("MIT", "mit", None),
        ("CC BY-NC-SA 4.0", "cc-by-nc-sa-4.0", None),
        ("LGPL 2.1 or later", "lgpl-2.1", None),
        ("LGPL-2.1-or-later", "lgpl-2.1", None),
        ("Apache-2.0", "apache-2.0", None),
        ("", "unknown", None),
        ("My Own Terms, 2nd edition", "other", "my-own-terms-2nd-edition"),
    ],
)
def test_licences_have_the_names_of_the_hub(licence: str, name: str, own: str | None) -> None:
    data = ModelCard(metadata(replace(FULL, licence=licence))).data
    assert (data.license, data.license_name) == (name, own)


def test_the_page_names_the_teachers_of_a_small_model() -> None:
    assert "Distilled" not in page(FULL, "x")
    assert "- Distilled: it also learned from the trees that one predicts for text." in page(
        replace(FULL, teachers=("one",)), "x"
    )
    assert " learned from the trees that one and two predict for text." in page(
        replace(FULL, teachers=("one", "two")), "x"
    )
    text = RawText("News", "", "CC0-1.0", 1_500_000)
    shown = page(replace(FULL, teachers=("one",), texts=(text,)), "x")
    assert "the trees that one predicts for sentences of News (CC0-1.0), 1.5 million words." in shown
    assert "Encoder" not in shown


def test_the_page_of_a_model_that_taught_itself_also_names_its_encoder() -> None:
    text = RawText("News", "", "CC0-1.0", 1_500_000)
    shown = page(replace(FULL, teachers=(f"{FULL.name} 1.0",), texts=(text,)), "x")
    assert f"the trees that {FULL.name} 1.0 predicts for sentences of News (CC0-1.0), 1.5 million words." in shown
    assert "- Encoder: pretrained on News (CC0-1.0), 1.5 million words." in shown


def test_what_nobody_knows_is_not_made_up() -> None:
    nothing = Card("", "", "", (), "", False, 0, SplitMetrics(UNMEASURED, UNMEASURED), "", "")
    assert ModelCard(page(nothing, "x")).data.to_dict() == {
        "library_name": "discotree",
        "license": "unknown",
        "tags": ["constituency-parsing", "discontinuous-constituency-parsing"],
    }
    assert "Licence: unknown" in page(nothing, "x")
    assert "commercial" not in page(nothing, "x")


@pytest.mark.parametrize("name", ["no", "---", '"', "a: b\n---\n# c", "{{ x }}", "é\u2028", "'''", "- x", "\\"])
def test_names_do_not_break_the_card(name: str) -> None:
    """Norwegian is "no", which YAML would like to be false."""
    card = replace(FULL, name=name, code=name, treebanks=(Source(name, name, name),), licence=name)
    data = ModelCard(page(card, name)).data
    assert (data.model_name, data.language, data.eval_results[0].dataset_name) == (name, name, name)


@pytest.mark.parametrize("name", finding.names())
def test_installed_models_have_the_same_card(name: str) -> None:
    folder = finding.find(name)
    card = Card.read(folder / "card.json")
    text = (folder / "README.md").read_text("utf-8")
    assert text.startswith(metadata(card))
    apart = card.other_scores.get(card.treebanks[0].name, card.scores)  # of several treebanks each has its own
    assert {row.metric_value for row in ModelCard(text).data.eval_results} > {apart.test.f1, apart.dev.f1}
    assert card.treebanks
    assert card.licence
    assert without_metadata(text).startswith(f"# {name}: {card.language}\n")


@pytest.mark.slow
def test_a_training_run_says_how_good_its_model_is(tmp_path: Path) -> None:
    settings = load_recipe(small_recipe(tmp_path), [*TINY, f"data.folder={tmp_path}"])
    results = train.train(settings, tmp_path / "run")
    found = dt.load(str(tmp_path / "run" / "model"))
    card = describe(found.folder, found.config)
    assert (card.name, card.licence, card.sentences) == ("small", "", 14)
    assert card.treebanks == (Source("small", "", ""),)
    assert card.scores == SplitMetrics(metrics_of(results["scores"]["dev"]), metrics_of(results["scores"]["test"]))
    assert card.scores.test.tags == round(results["scores"]["test"]["attachment"]["tag"], 2)

    found.save_pretrained(tmp_path / "shared")
    for path in (tmp_path / "shared").glob("*.*"):
        assert str(tmp_path).encode() not in path.read_bytes(), "where the treebanks lie is nobody's business"
    assert Card.read(tmp_path / "shared" / "card.json") == card

    path = tmp_path / "run" / "results.json"
    for wrong in ("", "[]", "{}", json.dumps(results | {"config": {}}), json.dumps(results | {"scores": {"dev": 1}})):
        path.write_text(wrong)  # of another run, or of none
        assert describe(found.folder, found.config).scores == SplitMetrics(UNMEASURED, UNMEASURED)


@pytest.mark.parametrize(
    ("path", "shared"),
    [
        ("/home/me/secret/x.export", "x.export"),
        ("../../home/me/secret/x.export", "x.export"),
        ("data/../../secret/x.export", "x.export"),
        ("~/secret/x.export", "x.export"),
        ("~me/secret/x.export", "x.export"),
        ("C:\\Users\\me\\x.export", "x.export"),
        ("C:secret\\x.export", "x.export"),
        ("\\\\server\\me\\secret\\x.export", "x.export"),
        ("..\\secret\\x.export", "x.export"),
        *((path, "") for path in ("/", "..", "../..", "~", "~me", "C:\\", "a/..")),
        *((path, path) for path in ("", ".", "x.export", "alpino/x.export", "./a/x.export", "org/name", "a~/x..y")),
    ],
)
def test_places_of_a_machine_are_not_shared(path: str, shared: str) -> None:
    assert bare(path) == shared


def test_a_shared_model_does_not_say_where_things_were(tiny: Parser, tmp_path: Path) -> None:
    ways = ("/home/secret/", "../../secret/", "~/secret/", "C:\\secret\\")
    sources = tuple(DataSource(f"{way}trees{k}.export", splits=f"{way}splits.tsv") for k, way in enumerate(ways))
    sources += (DataSource(""), DataSource("."), DataSource(".."), DataSource("alpino/train.xml"))
    for way in ways:
        data = Data("/home/secret", *(f"{way}splits.tsv", sources, sources, sources), heads=f"{way}heads.txt")
        data = replace(data, predicted_tags=f"{way}tags.txt", vectors=f"{way}vectors.txt")
        secret = replace(tiny.model, config=replace(tiny.config, data=data))
        Parser(secret).save_pretrained(tmp_path / "shared")
        assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "shared").iterdir())
        card = Card.read(tmp_path / "shared" / "card.json")
        assert [bank.name for bank in card.treebanks] == ["trees0", "trees1", "trees2", "trees3", "alpino"]


@pytest.mark.parametrize(
    ("encoder", "shared"),
    [
        *((f"hf:{way}bert", "hf:bert") for way in ("/home/me/", "../", "~/", "C:\\Users\\")),
        *(("hf:..", "hf:encoder"), ("hf:org/bert", "hf:org/bert"), ("lstm", "lstm")),
    ],
)
def test_a_shared_transformer_does_not_say_where_it_was(encoder: str, shared: str) -> None:
    assert public(Config(network=NetworkSettings(encoder=encoder))).network.encoder == shared


# The folder


def test_a_folder_holds_the_model_and_its_card(tiny: Parser, tmp_path: Path) -> None:
    folder = tmp_path / "german"
    tiny.save_pretrained(folder, FULL)
    assert {path.name for path in folder.iterdir()} == OURS
    assert {CONFIG, VOCAB, WEIGHTS} < OURS
    assert all(any(fnmatch(name, wanted) for wanted in FILES) for name in OURS)
    assert 'discotree.load("german")' in (folder / "README.md").read_text()
    again = dt.load(str(folder))
    assert again(TEXT) == tiny(TEXT)
    assert describe(again.folder, again.config) == FULL

    again.save_pretrained(folder)  # over itself
    assert Card.read(folder / "card.json") == FULL
    assert [path.name for path in tmp_path.iterdir()] == ["german"]


def test_a_folder_with_something_else_is_left_alone(tiny: Parser, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear")
    with pytest.raises(ModelError, match="the folder exists and is not a discotree model"):
        tiny.save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_the_root_of_the_disk_is_no_folder_for_a_model(tiny: Parser) -> None:
    with pytest.raises(ModelError, match=r"^/: a model needs a folder of its own$"):
        tiny.save_pretrained("/")


def test_a_full_disk_leaves_nothing_behind(tiny: Parser, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))  # the weights have more
    try:
        with pytest.raises(ModelError, match=r"german: cannot be written: .*File too large"):
            tiny.save_pretrained(tmp_path / "german")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def test_what_to_install_is_said(tiny: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for use in (
        lambda: tiny.save_pretrained(tmp_path / "x"),
        lambda: tiny.push_to_hub("me/x"),
        lambda: dt.load("hub:me/x"),
    ):
        with pytest.raises(MissingExtraError, match=r"^huggingface_hub is missing: pip install 'discotree\[hub\]'$"):
            use()


# There and back


def test_a_model_comes_back_from_the_hub(hub: Hub, tiny: Parser) -> None:
    url = tiny.push_to_hub("me/xx", FULL)
    assert hub.repositories["me/xx"].messages[1:] == [f"A model of discotree {dt.__version__}"], "one commit"
    assert url.endswith(f"/me/xx/commit/{hub.repositories['me/xx'].branches['main']}")
    found = dt.load("hub:me/xx")
    assert list(found.parse(TREES)) == list(tiny.parse(TREES))
    assert found.folder is not None
    assert {path.name for path in found.folder.iterdir()} == OURS
    assert describe(found.folder, found.config) == FULL
    assert 'discotree.load("hub:me/xx")' in (found.folder / "README.md").read_text()

    tiny.push_to_hub("me/xx", FULL)  # the same again is nothing new
    assert len(hub.repositories["me/xx"].messages) == 2


def test_revisions_stay_what_they_are(
    hub: Hub, tiny: Parser, other: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tiny.push_to_hub("me/xx", commit_message="first").rpartition("/")[2]
    new = other.push_to_hub("me/xx", commit_message="second").rpartition("/")[2]
    tiny.push_to_hub("me/xx", FULL, revision="v1.0")
    assert hub.repositories["me/xx"].messages[1:3] == ["first", "second"]
    assert hub.repositories["me/xx"].branches["main"] == new
    assert other(TEXT) != tiny(TEXT)
    fresh_cache(monkeypatch, tmp_path / "another machine")
    for name, revision, expected in [
        ("hub:me/xx", "", other),
        ("hub:me/xx", "main", other),
        ("hub:me/xx", old, tiny),
        (f"hub:me/xx@{old}", "", tiny),
        ("hub:me/xx@v1.0", "v1.0", tiny),
    ]:
        assert dt.load(name, "cpu", revision)(TEXT) == expected(TEXT)
    with pytest.raises(ModelError, match="names another revision than 'main'"):
        dt.load("hub:me/xx@v1.0", revision="main")
    with pytest.raises(ModelError, match="nl: only a model on the hub has revisions"):
        dt.load("nl", revision="main")
    with pytest.raises(ModelError, match="there is no such revision"):
        dt.load("hub:me/xx", revision="v2")


def test_what_an_older_model_had_goes_in_the_same_commit(hub: Hub, tiny: Parser) -> None:
    theirs = {"LICENSE": b"", "notes/a.json": b"{}"}
    hub.add("me/xx", theirs | {"encoder/config.json": b"{}", "encoder/model.safetensors": b"", "vocab.json": b"{}"})
    tiny.push_to_hub("me/xx")
    repository = hub.repositories["me/xx"]
    assert len(repository.messages) == 2
    assert repository.commits[repository.branches["main"]].keys() == OURS | theirs.keys()


def test_private_models(hub: Hub, tiny: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.push_to_hub("me/secret", private=True)
    assert hub.repositories["me/secret"].private
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ModelError, match="no such repository, or it is private and not yours to see: log in"):
        dt.load("hub:me/secret")
    monkeypatch.setenv("HF_TOKEN", READER)
    assert dt.load("hub:me/secret")(TEXT) == tiny(TEXT)

    monkeypatch.delenv("HF_TOKEN")
    tiny.push_to_hub("me/open", token=WRITER)
    with pytest.raises(ModelError, match="everybody can see it: nothing was pushed"):
        tiny.push_to_hub("me/open", FULL, private=True, token=WRITER)
    assert len(hub.repositories["me/open"].messages) == 2


# What goes wrong


@pytest.mark.parametrize(
    ("token", "complaint"),
    [("", "wants a token that it knows"), ("hf_invented", "wants a token"), (READER, "your token does not allow that")],
)
def test_a_token_that_will_not_do(
    hub: Hub, tiny: Parser, token: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(ModelError, match=f"^me/xx: cannot be pushed to http://127.*: .*{complaint}") as caught:
        tiny.push_to_hub("me/xx")
    assert "hf_" not in str(caught.value)
    assert not hub.repositories


def test_a_repository_that_is_not_there(hub: Hub) -> None:
    with pytest.raises(ModelError, match=r"^hub:me/nothing: cannot be fetched from http://127.*: there is no such rep"):
        dt.load("hub:me/nothing")
    assert hub.requests[-1].endswith("/me/nothing/revision/main")


def test_a_repository_whose_owners_want_to_be_asked(hub: Hub) -> None:
    hub.add("me/xx", {"config.json": b"{}"})
    hub.repositories["me/xx"].gated = True
    with pytest.raises(ModelError, match=r"its owners want to be asked first, on its page$"):
        dt.load("hub:me/xx")


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_whatever_the_hub_says_is_one_sentence(hub: Hub, tiny: Parser, status: int) -> None:
    hub.refuse = status
    for use in (lambda: dt.load("hub:me/xx"), lambda: tiny.push_to_hub("me/xx")):
        with pytest.raises(ModelError, match="me/xx: cannot be ") as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("down")
def test_a_hub_that_is_not_there(tiny: Parser) -> None:
    with pytest.raises(ModelError, match=r"not in the cache, .* cannot be reached: .*[Cc]onnect"):
        dt.load("hub:me/xx")
    with pytest.raises(ModelError, match=r"^me/xx: cannot be pushed to http://127.0.0.1:9: [^()]*refused$"):
        tiny.push_to_hub("me/xx")


def test_a_download_that_breaks_off(hub: Hub, tiny: Parser) -> None:
    tiny.push_to_hub("me/xx")
    hub.truncates = True
    with pytest.raises(ModelError, match="Consistency check failed"):
        dt.load("hub:me/xx")
    hub.truncates = False
    assert dt.load("hub:me/xx")(TEXT) == tiny(TEXT)


def test_a_model_that_was_pushed_broken(hub: Hub, tiny: Parser) -> None:
    tiny.push_to_hub("me/xx")
    files = dict(hub.repositories["me/xx"].commits[hub.repositories["me/xx"].branches["main"]])
    hub.add("me/xx", files | {"weights.safetensors": files["weights.safetensors"][:5000]})
    with pytest.raises(ModelError, match=r"weights.safetensors: the weights cannot be read"):
        dt.load("hub:me/xx")


def test_only_a_model_is_fetched(hub: Hub, model: Path) -> None:
    ours = {path.name: path.read_bytes() for path in model.iterdir()}
    theirs = ("pytorch_model.bin", "model.safetensors", "weights.pkl", "setup.py", "encoder/code.py", "encoder/x.bin")
    hub.add("me/xx", ours | dict.fromkeys(theirs, b"import os"))
    found = dt.load("hub:me/xx")
    assert found.folder is not None
    assert {str(path.relative_to(found.folder)) for path in found.folder.rglob("*")} == ours.keys()
    assert not hub.fetched & set(theirs)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"README.md": b"# A model"}, "there is no discotree model in this repository"),
        ({"weights.pkl": b""}, "there is no discotree model in this repository"),
        ({"config.json": b'{"model_type": "bert", "auto_map": {}}', "vocab.json": b"{}"}, "not the configuration of a"),
        ({"config.json": b"{}"}, "not a model"),
        ({"config.json": b"\xff"}, "not a model"),
    ],
)
def test_other_models_are_none_of_ours(hub: Hub, files: dict[str, bytes], complaint: str) -> None:
    hub.add("me/xx", files)
    with pytest.raises(ModelError, match=complaint):
        dt.load("hub:me/xx")


@pytest.mark.parametrize(
    "name",
    [
        *("", "xx", "me/", "/xx", "me/xx/yy", "../xx", "me/..", "me/../xx", "~/xx", "me//xx", "me/x x", "mé/xx"),
        *("me/xx\n", "me\\xx", "http://me/xx", "me/xx?a=b", "me/xx#a", "me/%2e%2e", "-me/xx", "me/xx--yy", "me/x..y"),
        *("me/" + "x" * 97, "me/xx.git"),
    ],
)
def test_names_that_are_none(hub: Hub, tiny: Parser, name: str) -> None:
    for use in (lambda: dt.load(f"hub:{name}"), lambda: tiny.push_to_hub(name)):
        with pytest.raises(ModelError):
            use()
    assert not hub.requests


@pytest.mark.parametrize("revision", ["../../x", "/etc/passwd", "a/../b", "..", ".", "a//b", "a b", "a?b", "a/", "a\n"])
def test_revisions_that_are_none(hub: Hub, tiny: Parser, revision: str) -> None:
    """They become paths in the cache."""
    for use in (
        lambda: dt.load("hub:me/xx", revision=revision),
        lambda: dt.load(f"hub:me/xx@{revision}"),
        lambda: tiny.push_to_hub("me/xx", revision=revision),
    ):
        with pytest.raises(ModelError, match="is not a revision"):
            use()
    assert not hub.requests


@pytest.mark.parametrize("path", ["encoder/../../../../../evil.json", "encoder/..\\evil.json"])
def test_a_repository_cannot_write_elsewhere(hub: Hub, model: Path, tmp_path: Path, path: str) -> None:
    hub.add("me/xx", {file.name: file.read_bytes() for file in model.iterdir()} | {path: b"{}"})
    with pytest.raises(ModelError, match=r"^hub:me/xx: cannot be fetched"):
        dt.load("hub:me/xx")
    assert not list(tmp_path.rglob("*evil*"))


# Without the network


def test_offline_the_cache_will_do(hub: Hub, tiny: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tiny.push_to_hub("me/xx").rpartition("/")[2]
    expected = dt.load("hub:me/xx")(TEXT)
    hub.requests.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert dt.load("hub:me/xx")(TEXT) == expected
    assert dt.load("hub:me/xx", revision=old)(TEXT) == expected
    with pytest.raises(ModelError, match=r"not in the cache, or not all of it, .*HF_HUB_OFFLINE"):
        dt.load("hub:me/xx", revision="v1")
    fresh_cache(monkeypatch, tmp_path / "another machine")
    with pytest.raises(ModelError, match=r"not in the cache, or not all of it, .*HF_HUB_OFFLINE"):
        dt.load("hub:me/xx")
    with pytest.raises(ModelError, match=r"me/xx: cannot be pushed .*HF_HUB_OFFLINE"):
        tiny.push_to_hub("me/xx")
    assert not hub.requests


def test_when_the_hub_is_down_the_cache_will_do(hub: Hub, tiny: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.push_to_hub("me/xx")
    found = fetch("hub:me/xx")
    hub.refuse = 500
    assert fetch("hub:me/xx") == found
    point_to(monkeypatch, "http://127.0.0.1:9")
    assert fetch("hub:me/xx") == found
    (found / "vocab.json").unlink()  # as after a download that was interrupted
    with pytest.raises(ModelError, match="not in the cache, or not all of it"):
        fetch("hub:me/xx")


# The command line, and the page


def test_pushing_from_the_command_line(hub: Hub, model: Path, tmp_path: Path) -> None:
    run = CliRunner()
    shown = run.invoke(app, ["models", str(model), "--to", "json"])
    assert json.loads(shown.stdout)["licence"] == ""
    card = json.loads(shown.stdout) | {"licence": "CC BY 4.0", "commercial": True}
    (tmp_path / "card.json").write_text(json.dumps(card))
    options = ["--card", str(tmp_path / "card.json"), "--private"]
    done = run.invoke(app, ["export", str(model), "--hub", "me/xx", *options])
    assert done.exit_code == 0
    assert done.stdout == f"{constants.ENDPOINT}/me/xx/commit/{hub.repositories['me/xx'].branches['main']}\n"
    assert hub.repositories["me/xx"].private

    assert json.loads(run.invoke(app, ["models", "hub:me/xx", "--to", "json"]).stdout) == card
    text = run.invoke(app, ["models", "hub:me/xx"]).stdout
    assert text.startswith("# small: German\n")
    assert "Licence: CC BY 4.0." in text
    assert isinstance(run.invoke(app, ["export", str(model), "--hub", "me"]).exception, ModelError)


def test_cards_keep_their_hands_off_the_terminal(hub: Hub, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # what makes rich take anything for a terminal
    files = {path.name: path.read_bytes() for path in model.iterdir()}
    page = "---\nlicense: mit\n---\n\n# xx\n\n\x1b]0;mine\x07 \x9b2J text"
    hub.add("me/xx", files | {"README.md": page.encode()})
    text = CliRunner().invoke(app, ["models", "hub:me/xx"]).stdout
    assert "text" in text
    assert "license" not in text
    assert not {"\x1b]", "\x07", "\x9b"} & {text[k : k + n] for k in range(len(text)) for n in (1, 2)}


@pytest.mark.slow
def test_the_environment_is_obeyed_and_errors_are_one_line(hub: Hub, tmp_path: Path) -> None:
    variables = {"HF_ENDPOINT": constants.ENDPOINT, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "error", "-m", "discotree", "models", "hub:me/xx"]
    refused = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"discotree: hub:me/xx: cannot be fetched from {constants.ENDPOINT}: ")
    assert refused.stderr.count("\n") == 1
    assert not hub.requests


@pytest.mark.slow
def test_the_page_runs(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """test_docs.py cannot run it: the hub of others is not for tests."""
    monkeypatch.chdir(tmp_path)
    saved_model(tmp_path / "runs" / "alpino" / "model", "nl")
    (tmp_path / "corpus.txt").write_text("Niemand weet waarom.")
    (tmp_path / "card.json").write_text(replace(FULL, name="dutch", language="Dutch", code="nl").to_json())
    namespace: dict[str, Any] = {}
    for block in blocks(ROOT / "docs" / "hub.md"):
        block = replace(block, code=block.code.replace("https://huggingface.co", constants.ENDPOINT))
        if block.language == "python":
            run_python(block, namespace)
            continue
        for command, expected in block.commands():
            assert matches(expected, run_command(command)[0]), command
    repository = hub.repositories["me/dutch"]
    assert repository.private
    assert namespace["commit"] in repository.commits
    assert repository.branches.keys() == {"main"}
    assert (tmp_path / "corpus.export").exists()
