"""The folder that ``discotree page`` writes, without a browser; test_static_page.py has one."""

import gzip
import json
import re
from pathlib import Path

import pytest
from support.commands import run
from support.models import CARD, saved_model, with_card

import discotree as dt
from discotree.errors import InputError
from discotree.web.site import RUNTIME_BINARY, RUNTIME_MODULE, build_site, find_runtime


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the npm package."""
    folder = tmp_path_factory.mktemp("npm") / "onnxruntime-web"
    (folder / "dist").mkdir(parents=True)
    (folder / "dist" / RUNTIME_MODULE).write_text("export const env = {};")
    (folder / "dist" / RUNTIME_BINARY).write_bytes(b"\0asm")
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_card(saved_model(tmp_path_factory.mktemp("models") / "de"), CARD | {"name": "de"})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, runtime: Path, model: Path) -> Path:
    folder = tmp_path_factory.mktemp("page") / "site"
    build_site([str(model)], str(folder), str(runtime))
    return folder


def test_everything_that_the_page_names_is_there(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert {"page/main.js", "page/style.css", "page/backend.js"} <= set(named)
    for name in {*named} - {"docs"}:
        assert (site / name).is_file(), name
    for module in (site / "page").glob("*.js"):
        for imported in re.findall(r'(?:from|import\() ?"(\./[^"]+|\.\./[^"]+)"', module.read_text("utf-8")):
            if imported not in ("./server_tabs.js", "./by_example.js"):  # imported where there is a server
                assert (module.parent / imported).resolve().is_file(), f"{module.name}: {imported}"


def test_the_page_differs_from_that_of_the_server_by_its_backend_only(site: Path) -> None:
    source = Path(dt.__file__).parent / "web" / "page"
    for path in (site / "page").iterdir():
        if path.name not in ("backend.js", "tree.css", "tables.js"):
            assert path.read_bytes() == (source / path.name).read_bytes(), path.name
    assert "HAS_SERVER = false" in (site / "page" / "backend.js").read_text("utf-8")
    page = (site / "index.html").read_text("utf-8")
    assert '<html lang="en" class="static">' in page
    assert "script-src 'self' 'wasm-unsafe-eval';" in page


def test_examples_come_with_their_trees(site: Path, model: Path) -> None:
    index = json.loads((site / "site.json").read_text("utf-8"))
    (info,) = index["models"]
    assert (info["name"], info["title"], info["folder"]) == ("de", "German", "models/de/")
    assert (site / "models" / "de" / "model.json").is_file()
    assert "Microsoft" in (site / "runtime" / "LICENSE").read_text("utf-8")
    parser = dt.load(str(model), "cpu", engine="onnx-float32")
    gallery = json.loads((Path(dt.__file__).parent / "web" / "page" / "examples.json").read_text("utf-8"))
    assert len(index["examples"]) == sum(language == "de" for language, _, _ in gallery) > 0
    for language, _, sentence, trees in index["examples"]:
        assert language == "de"
        assert [str(dt.Tree.from_dict(record)) for record in trees["de"]] == [
            str(t) for t in parser.parse_text(sentence)
        ]


def test_the_service_worker_keeps_all_files_but_the_models(site: Path) -> None:
    text = (site / "service-worker.js").read_text("utf-8")
    files = json.loads(re.search(r"FILES = (\[.*\]);", text)[1])  # type: ignore[index]
    present = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    present -= {name for name in present if name.startswith("models/") or name.endswith("/LICENSE")}
    present -= {"service-worker.js", "index.html"}
    assert {*files} == present | {"./"}
    assert re.search('VERSION = "[0-9a-f]{16}"', text)
    assert gzip.decompress((site / "runtime" / f"{RUNTIME_BINARY}.gz").read_bytes()) == b"\0asm"


def test_a_changed_file_is_another_version(site: Path, tmp_path: Path, runtime: Path, model: Path) -> None:
    worker = (site / "service-worker.js").read_text("utf-8")
    build_site([str(model)], str(tmp_path / "same"), str(runtime))
    assert (tmp_path / "same" / "service-worker.js").read_text("utf-8") == worker
    (runtime / "dist" / RUNTIME_MODULE).write_text("export const env = {}; // another")
    build_site([str(model)], str(tmp_path / "same"), str(runtime))  # replaces the page that is there
    assert (tmp_path / "same" / "service-worker.js").read_text("utf-8") != worker


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path, runtime: Path, model: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a page"):
        build_site([str(model)], str(tmp_path), str(runtime))
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_without_the_runtime_the_error_says_how_to_install_it(tmp_path: Path, model: Path) -> None:
    with pytest.raises(InputError, match=r"npm install onnxruntime-web@\d"):
        find_runtime(str(tmp_path))
    done = run(["page", "-o", str(tmp_path / "site"), "-m", str(model), "--runtime", str(tmp_path)])
    assert done["code"] == 1
    assert "npm install" in done["err"].replace("\n", " ")
    assert not (tmp_path / "site").exists()
