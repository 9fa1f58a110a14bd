"""The files of the web page, and the folder of a page that needs no server.

index.html, page/       the page that ``discotree serve`` has; page/backend.js asks a parser in the browser
parser/                 the JavaScript package (js/)
runtime/                ONNX Runtime for browsers
models/NAME/            models as ``discotree export --web`` writes them
site.json               the models, the examples with their trees, and frequent words of their languages
service-worker.js       keeps the files for visits without a network
"""

import gzip
import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Collection, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discotree.drawing.measure import WIDTHS
from discotree.drawing.svg import DARK, LIGHT, RULES, SIZES, stylesheet
from discotree.encoding.head_rules import HeadRules
from discotree.errors import ConfigError, InputError
from discotree.models.card import CARD, Card
from discotree.text.recognition import MIN_MARGIN, UNLISTED, frequent_words
from discotree.trees.labels import label_names
from discotree.trees.punctuation import TAGS
from discotree.version import __version__

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

STATIC_BACKEND, PARSER_WORKER, SERVICE_WORKER = "static_backend.js", "parser_worker.js", "service_worker.js"
STATIC_FILES = (STATIC_BACKEND, PARSER_WORKER, SERVICE_WORKER)  # of the static page only
SERVER_FILES = re.compile(
    r"(annotate.*|by_example|docs|compare|counts|query-field|search|server_tabs|treebank|variables)\.\w+"
)
INDEX = "site.json"
RUNTIME_PACKAGE = "onnxruntime-web"
RUNTIME_MODULE, RUNTIME_BINARY = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)


def page_files() -> dict[str, bytes]:
    """Return the files of the page by name, including those that are made from tables in Python."""
    files = {file.name: file.read_bytes() for file in (resources.files(__package__) / "page").iterdir()}
    return files | {"tree.css": _tree_style().encode(), "tables.js": _tables().encode()}


def _tree_style() -> str:
    """Return the style sheet of trees: the theme of the system, unless the page sets ``data-theme``."""
    overrides = [
        f':root[data-theme="{name}"] .discotree{{{";".join(f"--dt-{key}:{value}" for key, value in colors.items())}}}\n'
        for name, colors in (("light", LIGHT._asdict()), ("dark", DARK._asdict()))
    ]
    return stylesheet() + "".join(overrides)


def _tables() -> str:
    """Return the module with the constants that drawing in Python and in JavaScript share."""
    tables = {
        "SIZES": SIZES._asdict(),
        "WIDTHS": WIDTHS,
        "RULES": RULES,
        "COLORS": {"light": LIGHT._asdict(), "dark": DARK._asdict()},
        "LABEL_NAMES": label_names(),
        "PUNCTUATION_TAGS": sorted(frozenset().union(*TAGS.values())),
    }
    lines = [f"export const {name} = {json.dumps(table, ensure_ascii=False)};\n" for name, table in tables.items()]
    return "".join(lines)


# The static page


def find_runtime(folder: str | None = None) -> Path:
    """Return the folder of the npm package onnxruntime-web; by default, look in node_modules and js/node_modules."""
    places = [Path(folder)] if folder else [Path("node_modules"), Path("js/node_modules")]
    if not folder and _checkout().is_dir():
        places.append(_checkout() / "node_modules")
    for place in places:
        for candidate in (place, place / RUNTIME_PACKAGE):
            if (candidate / "dist" / RUNTIME_BINARY).is_file():
                return candidate
    version = _runtime_version()
    raise InputError(
        f"{RUNTIME_PACKAGE} is not in {', '.join(map(str, places))}; install it with "
        f"'npm install {RUNTIME_PACKAGE}{version}', or pass its folder with --runtime"
    )


def _checkout() -> Path:
    """Return the folder js of a checkout of the repository."""
    return Path(__file__).parents[3] / "js"


def _parser_folder() -> Path:
    """Return the folder of the JavaScript modules: in the wheel, or in a checkout."""
    for folder in (Path(__file__).parent / "parser", _checkout() / "src"):
        if (folder / "index.js").is_file():
            return folder
    raise ConfigError(f"{Path(__file__).parent / 'parser'} is missing; install discotree again")


def _runtime_version() -> str:
    """Return the version of the runtime that the modules were tested with, as npm writes it."""
    package = _parser_folder() / "package.json"
    if not package.is_file():
        package = package.parents[1] / "package.json"
    return f"@{json.loads(package.read_text('utf-8'))['dependencies'][RUNTIME_PACKAGE]}" if package.is_file() else ""


def build_site(models: Sequence[str], output: str, runtime: str | None = None) -> tuple[int, int]:
    """Write the static page to a folder, which appears when it is complete; return the number of files and bytes."""
    runtime_folder, parser_folder = find_runtime(runtime), _parser_folder()
    folder = Path(output).absolute()
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / INDEX).exists())):
        raise InputError(f"{output}: exists and is not a page that discotree has made; choose another folder")
    temporary = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.mkdir(parents=True)
        index = _write_models(models, temporary)
        (temporary / INDEX).write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), "utf-8")
        _write_runtime(runtime_folder / "dist", temporary / "runtime")
        shutil.copytree(parser_folder, temporary / "parser")
        _write_licences(parser_folder, temporary)
        _write_page(temporary)
        files = [path for path in temporary.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return len(files), size


def _write_models(names: Sequence[str], folder: Path) -> dict[str, Any]:
    """Write the models, and return the content of site.json."""
    from discotree.models import finding
    from discotree.models.folder import read_model
    from discotree.models.web import write_web_model
    from discotree.parsing.parser import load

    examples: list[list[Any]] = [[*row, {}] for row in json.loads(page_files()["examples.json"])]
    models, languages = [], set[str]()
    for given in names:
        source = finding.find(given)
        name = source.resolve().name if Path(given).is_dir() else given
        if (folder / "models" / name).exists():
            raise ConfigError(f"two models have the name {name!r}; rename the folder of one of them")
        finding.announce_licence(source)
        size = write_web_model(read_model(source), folder / "models" / name)
        parser = load(given, "cpu", engine="onnx-float32")  # the precision of the browser
        card = Card.read(source / CARD) if (source / CARD).exists() else None
        models.append({**model_info(name, parser, card), "folder": f"models/{name}/", "bytes": size})
        languages.add(parser.config.language)
        for language, _, sentence, trees in examples:
            if language == parser.config.language:
                trees[name] = list(_records(parser, sentence))
    return {
        "version": __version__,
        "models": models,
        "examples": [row for row in examples if row[0] in languages],
        "recognition": recognition_tables(languages),
    }


def recognition_tables(languages: Collection[str]) -> dict[str, Any]:
    """Return what the page needs to recognise which of these languages a text is in."""
    known = {code: frequent_words()[code] for code in sorted(languages) if code in frequent_words()}
    return {
        "unlisted": UNLISTED,
        "margin": MIN_MARGIN,
        "words": {code: language.words for code, language in known.items()},
        "yields": [code for code, language in known.items() if language.yields],
    }


def model_info(name: str, parser: "Parser", card: Card | None) -> dict[str, Any]:
    """Describe a model as ``/api/models`` does."""
    test = card.scores.test if card else None
    return {
        "name": name,
        "language": parser.config.language,
        "title": card.language if card else name,
        "needs_tags": parser.has_tags,
        "licence": card.licence if card else None,
        "quality": {"f1": test.f1, "discontinuous_f1": test.discontinuous_f1} if test else None,
        "inventory": parser.vocab.inventory(),
        "head_rules": rule_table(parser.head_rules),
    }


def rule_table(rules: HeadRules) -> dict[str, Any]:
    """Return head rules for the page, which draws dependencies."""
    return {"rules": rules.rules, "marked_first": rules.marked_first}


def _records(parser: "Parser", text: str) -> Iterator[dict[str, Any]]:
    for number, tree in enumerate(parser.parse_text(text), 1):
        yield tree.to_dict() | {"id": str(number), "sentence": number}


def _write_runtime(source: Path, folder: Path) -> None:
    """Copy ONNX Runtime; its binary is compressed, because many hosts do not compress it."""
    folder.mkdir()
    shutil.copyfile(source / RUNTIME_MODULE, folder / RUNTIME_MODULE)
    binary = (source / RUNTIME_BINARY).read_bytes()
    (folder / f"{RUNTIME_BINARY}.gz").write_bytes(gzip.compress(binary, mtime=0))


def _write_licences(parser_folder: Path, folder: Path) -> None:
    """Write the licences of the modules and of ONNX Runtime, both MIT; those of models lie in their folders."""
    places = (parser_folder, parser_folder.parent)  # in the wheel, in a checkout
    licence = next(place / "LICENSE" for place in places if (place / "LICENSE").is_file()).read_text("utf-8")
    (folder / "parser" / "LICENSE").write_text(licence, "utf-8")
    theirs = re.sub(r"(?m)^Copyright.*$", "Copyright (c) Microsoft Corporation", licence)
    (folder / "runtime" / "LICENSE").write_text(theirs, "utf-8")


def _write_page(folder: Path) -> None:
    """Write the page, and the service worker with the names of all files but the models."""
    files = {name: content for name, content in page_files().items() if not SERVER_FILES.fullmatch(name)}
    worker = files.pop(SERVICE_WORKER).decode()
    files["backend.js"] = files.pop(STATIC_BACKEND)
    del files["examples.json"]  # it is part of site.json
    modules = {name for name in files if name.endswith(".js") and not name.startswith("editor")} - {PARSER_WORKER}
    preload = "".join([f'  <link rel="modulepreload" href="page/{name}">\n' for name in sorted(modules)])
    page = files.pop("index.html").decode()
    page = page.replace('<html lang="en">', '<html lang="en" class="static">', 1)
    page = page.replace(
        "</title>\n", f'</title>\n  <meta http-equiv="Content-Security-Policy" content="{POLICY}">\n{preload}', 1
    )
    page = page.replace('  <link rel="stylesheet" href="page/search.css">\n', "", 1)
    (folder / "page").mkdir()
    for name, content in files.items():
        (folder / "page" / name).write_bytes(content)
    (folder / "index.html").write_text(page, "utf-8")
    kept = {"./": folder / "index.html"}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith("models/") and path.name not in ("index.html", "LICENSE"):
            kept[name] = path
    digest = hashlib.sha256()
    for name, path in kept.items():
        digest.update(f"{name}\n".encode() + path.read_bytes())
    worker = worker.replace('"VERSION"', f'"{digest.hexdigest()[:16]}"').replace('["FILES"]', json.dumps([*kept]))
    (folder / "service-worker.js").write_text(worker, "utf-8")
