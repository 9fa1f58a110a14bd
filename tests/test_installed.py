"""What users install: the wheels in clean virtual environments, without a model, with one, and with all of them.

Texts of all kinds, in every format. It takes some minutes, so it has to be asked for: ``pytest -m installed``. Nothing
here needs torch, or any other extra.
"""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from model_package import MAX_WHEEL_MB
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from support.texts import INVISIBLE, LANGUAGES, files, paragraphs

from discotree import __version__
from discotree.errors import counted
from discotree.parsing.inputs import LINES, TEXT, TOKENS
from discotree.parsing.outputs import DRAW, JSON, OUTPUTS
from discotree.treebanks import TEXT_FORMATS as FORMATS  # formats that need no extra

pytestmark = pytest.mark.installed

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
NAMES = sorted(path.parent.name for path in MODELS.glob("*/pyproject.toml"))
SENTENCE = "Ik heb het hem niet kunnen zeggen."
NEEDED = "pip install 'discotree[train]'"
WHEEL_MB = 20
PEAK_MB = 1000
FIRST_TREE_SECONDS = 15  # of processor time; a few on an idle machine
SIDE_BY_SIDE = 2
SENTENCES = 2  # sentences converted between every pair of formats
PENN = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "``": '"',
    "''": '"',
}  # forms of English only

INPUTS = (TEXT, LINES, TOKENS, *FORMATS)
# Every input and every output once; all pairs of them are in tests/cli/test_parse.py.
WAYS = [(INPUTS[n % len(INPUTS)], OUTPUTS[n % len(OUTPUTS)]) for n in range(max(len(INPUTS), len(OUTPUTS)))]
# Every format for two of the four languages
WRITTEN = [(language, format) for n, language in enumerate(LANGUAGES) for format in tuple(FORMATS)[n % 2 :: 2]]

Command = dict[str, Any]
Answer = dict[str, Any]
Record = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Installed:
    """A virtual environment, and an empty folder to work in."""

    programs: Path
    work: Path

    def __call__(self, program: str, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a program of the environment, with nothing of ours around it."""
        command = [str(self.programs / program), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, cwd=self.work, env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.defpath, "OMP_NUM_THREADS": "1"}

    def answers(self, commands: list[Command]) -> tuple[list[Answer], int]:
        """Run commands in one process; return the answers and the peak memory in MB."""
        done = self("python", str(ROOT / "tests" / "support" / "commands.py"), stdin=json.dumps(commands).encode())
        assert done.returncode == 0, done.stderr.decode()
        said = json.loads(done.stdout)
        return said["answers"], said["peak"] // 1000


@contextmanager
def installed(wheels: Iterable[Path], folder: Path) -> Iterator[Installed]:
    """Yield a fresh environment with these and what they require, and nothing else: not even pip."""
    venv.create(folder / "venv", symlinks=True)
    work = folder / "work"
    work.mkdir()
    here = Installed(folder / "venv" / "bin", work)
    # Compiled as it is imported: most of it never is.
    pip("--python", str(here.programs / "python"), "install", "--no-compile", *map(str, wheels))
    yield here
    shutil.rmtree(folder / "venv")  # a gigabyte, which pytest would keep


def pip(*arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")
    command = [sys.executable, "-m", "pip", "--quiet", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def built(project: Path, folder: Path) -> Path:
    """Build the wheel of a project, with the hatchling that is here."""
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(project))
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def model_wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of the models, by name."""
    return {name: built(MODELS / name, tmp_path_factory.mktemp("model")) for name in NAMES}


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """What `pip install discotree` gives: no torch, no model."""
    with installed([wheel], tmp_path_factory.mktemp("bare")) as here:
        yield here


@pytest.fixture(scope="session")
def dutch(wheel: Path, model_wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """What `pip install discotree-nl` gives."""
    with installed([wheel, model_wheels["nl"]], tmp_path_factory.mktemp("dutch")) as here:
        yield here


@pytest.fixture(scope="session")
def full(wheel: Path, model_wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """All models, still without torch."""
    with installed([wheel, *model_wheels.values()], tmp_path_factory.mktemp("full")) as here:
        yield here


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Print a measurement while the tests run."""

    def say(measurement: str) -> None:
        with capsys.disabled():
            print(f"\n    {measurement}", end="")

    return say


# The wheels


def files_of(folder: Path, prefix: str) -> set[str]:
    """Return the files of a package as a wheel has to name them."""
    return {
        f"{prefix}/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def sizes_in(wheel: Path) -> dict[str, int]:
    """Return the packed sizes of the files in a wheel but those about it."""
    items = zipfile.ZipFile(wheel).infolist()
    return {item.filename: item.compress_size for item in items if ".dist-info/" not in item.filename}


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path, say: Say) -> None:
    sizes = sizes_in(wheel)
    parser = "discotree/web/parser"  # the JavaScript modules that discotree page copies
    modules = files_of(ROOT / "js" / "src", parser) | {f"{parser}/package.json", f"{parser}/LICENSE"}
    assert sizes.keys() == files_of(ROOT / "src" / "discotree", "discotree") | modules
    for kind in (
        "config/recipes/alpino.toml",
        "encoding/rules/negra.headrules",
        "evaluation/params/proper.prm",
        "models/published.toml",
        "network/pieces/",
        "treebanks/samples/",
        "py.typed",
    ):
        assert any(name.startswith(f"discotree/{kind}") for name in sizes), kind
    assert [name for name in sizes if name.endswith("weights.safetensors")] == []
    say(f"wheel {wheel.stat().st_size / 1e6:.1f} MB")
    assert wheel.stat().st_size <= WHEEL_MB * 1e6


@pytest.mark.parametrize("name", NAMES)
def test_the_wheel_of_a_model_holds_all_files_of_its_folder(model_wheels: dict[str, Path], name: str, say: Say) -> None:
    wheel, package = model_wheels[name], f"discotree_{name.replace('-', '_')}"
    sizes = sizes_in(wheel)
    assert sizes.keys() == files_of(MODELS / name / "src" / package, package)
    for file in ("config.json", "vocab.json", "weights.safetensors", "card.json", "README.md"):
        assert f"{package}/model/{file}" in sizes
    say(f"{wheel.name} {wheel.stat().st_size / 1e6:.1f} MB")
    assert wheel.name.startswith(f"{package}-")
    assert wheel.stat().st_size < MAX_WHEEL_MB * 1e6


# Without a model


def test_without_a_model_it_is_said_what_to_install(bare: Installed) -> None:
    hints = {
        ("parse", SENTENCE): "no model is installed: pip install discotree-nl, or name a folder or hub:ORG/NAME",
        ("parse", SENTENCE, "--model", "nl"): "the model 'nl' is not installed: pip install discotree-nl",
        ("models", "de"): "the model 'de' is not installed: pip install discotree-de",
        ("export", "is", "--onnx", "is.onnx"): "the model 'is' is not installed: pip install discotree-is",
    }
    for arguments, hint in hints.items():
        done = bare("discotree", *arguments)
        assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"discotree: {hint}\n"), arguments
    script = "import discotree as dt\ntry: dt.load('en')\nexcept dt.ModelError as error: print(error)"
    said = bare("python", "-c", script).stdout.decode()
    assert said == "the model 'en' is not installed: pip install discotree-en\n"
    listed = bare("discotree", "models")
    assert (listed.returncode, listed.stderr) == (0, b"")
    assert listed.stdout.decode().startswith("no models are installed\n")
    assert "\nnl-large " in listed.stdout.decode()
    assert "\nto install one: pip install discotree-NAME\n" in listed.stdout.decode()


def test_a_folder_is_parsed_with_where_no_model_is_installed(bare: Installed) -> None:
    done = bare("discotree", "parse", SENTENCE, "--model", str(MODELS / "nl" / "src" / "discotree_nl" / "model"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.findall(r"\d+=([^()\s]+)", done.stdout.decode())[:2] == ["Ik", "heb"]


def test_with_one_model_the_others_are_asked_for(dutch: Installed) -> None:
    done = dutch("discotree", "parse", SENTENCE)
    assert (done.returncode, done.stderr, done.stdout.count(b"zeggen")) == (0, b"", 1)
    done = dutch("discotree", "parse", "Darüber hat er nie ein Wort verloren.")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "looks like German, which no installed model is for: pip install discotree-de, or" in done.stderr.decode()
    done = dutch("discotree", "parse", "Darüber hat er nie ein Wort verloren.", "--model", "nl")
    assert done.returncode == 0
    assert "Alpino Treebank" in dutch("discotree", "models", "nl").stdout.decode()
    listed = dutch("discotree", "models").stdout.decode()
    assert re.search(r"^nl +Dutch +\d+ +\d+ +\d+\.\d", listed, re.MULTILINE)
    assert re.search(r"^is +Icelandic +\d+ +\d+ +CC-BY-4.0", listed, re.MULTILINE)


# What needs no model


@pytest.fixture(scope="session")
def treebanks(bare: Installed) -> Path:
    """A few Dutch sentences in every treebank format, made by discotree itself."""
    sample = next(bare.programs.parent.glob("lib/*/site-packages/discotree/treebanks/samples/dutch.discbracket"))
    (bare.work / "sample.dbr").write_text(
        "".join(sample.read_text("utf-8").splitlines(keepends=True)[:SENTENCES]), "utf-8"
    )
    commands = [
        {"arguments": ["convert", "sample.dbr", f"in.{format}", "--to", format], "read": [f"in.{format}", format]}
        for format in FORMATS
    ]
    for answer in bare.answers(commands)[0]:
        assert answer["code"] == 0, answer["err"]
    return bare.work


@pytest.fixture(scope="session")
def sample_words(treebanks: Path) -> list[list[str]]:
    lines = (treebanks / "sample.dbr").read_text("utf-8").splitlines()
    leaves = [re.findall(r"\b(\d+)=([^()\s]+)", line) for line in lines]
    return [[word for _, word in sorted(found, key=lambda leaf: int(leaf[0]))] for found in leaves]


def test_every_format_becomes_every_other(bare: Installed, sample_words: list[list[str]]) -> None:
    pairs = [(one, other) for one in FORMATS for other in FORMATS]
    answers, _ = bare.answers(
        [
            {
                "arguments": ["convert", f"in.{one}", f"{one}.{other}", "--from", one, "--to", other],
                "read": [f"{one}.{other}", other],
            }
            for one, other in pairs
        ]
    )
    for pair, answer in zip(pairs, answers, strict=True):
        assert answer["code"] == 0, (pair, answer["err"])
        assert [tree["words"] for tree in answer["trees"]] == sample_words, pair
        assert [tree["nodes"] for tree in answer["trees"]] == [tree["nodes"] for tree in answers[0]["trees"]], pair


@pytest.mark.usefixtures("treebanks")
def test_what_needs_no_model_works_without_one(bare: Installed) -> None:
    commands = {
        "models": "Icelandic",
        "stats in.export": "trees",
        "evaluate in.export in.penn": "100.00",
        "draw in.export --number 1": "┌",
        "draw in.export --number 1 --to svg": "<svg",
        "draw in.export --to html": "<!doctype html>",
        "draw in.export --to latex": "\\documentclass",
        "convert in.export - --to conllu --heads alpino": "# sent_id = 1",
    }
    answers, _ = bare.answers([{"arguments": line.split(), "read": None} for line in commands])
    for (line, shown), answer in zip(commands.items(), answers, strict=True):
        assert (answer["code"], answer["err"]) == (0, ""), line
        assert shown.lower() in answer["out"].lower(), line


# All models


def test_a_model_is_exported_without_torch(full: Installed) -> None:
    done = full("discotree", "export", "is", "--onnx", "is.onnx")
    size = (full.work / "is.onnx").stat().st_size
    assert (done.returncode, done.stderr.decode()) == (0, f"{size:,} bytes written to is.onnx\n")


def test_what_is_missing_is_said_with_what_to_install(full: Installed) -> None:
    done = full("discotree", "parse", SENTENCE, "--model", "nl", "--engine", "torch")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"discotree: torch is missing: {NEEDED}\n"
    script = "import discotree as dt\ntry: dt.load('nl', engine='torch')\nexcept ImportError as error: print(error)"
    assert full("python", "-c", script).stdout.decode() == f"torch is missing: {NEEDED}\n"


@pytest.mark.parametrize(
    ("line", "module", "extra"),
    [
        ("import discotree.integrations.spacy", "spacy", "spacy"),
        ("from discotree.integrations.nltk import to_nltk", "nltk", "nltk"),
        ("import discotree as dt; dt.write([], 'x.parquet')", "pyarrow", "tables"),
        ("from discotree.treebanks.tables import constituents; constituents([]).to_arrow()", "pyarrow", "tables"),
        ("import discotree as dt; dt.load('hub:org/name')", "huggingface_hub", "hub"),
        ("from discotree.cli import main; import sys; sys.argv[1:] = ['bulk', 'x', '-o', 'y']; main()", None, "ray"),
        ("from discotree.cli import main; import sys; sys.argv[1:] = ['serve']; main()", None, "web"),
    ],
)
def test_every_integration_says_which_extra_it_needs(
    bare: Installed, line: str, module: str | None, extra: str
) -> None:
    done = bare("python", "-c", line)
    said = done.stderr.decode().strip().splitlines()[-1]
    assert done.returncode == 1
    assert said.endswith(f"{module or ''} is missing: pip install 'discotree[{extra}]'")


# The first tree


@pytest.mark.parametrize("model", LANGUAGES)
def test_the_first_tree_comes_soon_and_takes_little_memory(full: Installed, model: str, say: Say) -> None:
    command = [str(full.programs / "discotree"), "parse", SENTENCE, "--model", model]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=full.work, env={"PATH": os.defpath})
    assert process.stdout is not None
    with process.stdout as stream:
        tree = stream.readline().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    say(f"{model}: first tree after {seconds:.1f} s, at most {usage.ru_maxrss / 1000:.0f} MB")
    assert process.returncode == 0
    assert re.findall(r"\d+=([^()\s]+)", tree).count("zeggen") == 1
    assert seconds < FIRST_TREE_SECONDS
    assert usage.ru_maxrss / 1000 < PEAK_MB


# Text of all kinds


@dataclass(frozen=True)
class Parsed:
    """What a model made of all kinds of text."""

    text: str  # the short texts, joined
    offsets: dict[str, tuple[int, int]]  # offsets of each
    outputs: dict[str, Answer]  # answers for this text, by output
    alone: dict[str, Answer]  # answers for the other texts, as JSON
    work: Path
    peak: int

    @classmethod
    def by(cls, full: Installed, language: str) -> "Parsed":
        work = full.work / language
        work.mkdir()
        text, offsets = "", {}
        for kind, piece in paragraphs(language).items():
            text += "\n\n" if text else ""
            offsets[kind] = (len(text), len(text) + len(piece))
            text += piece
        (work / "text").write_bytes(text.encode())
        for kind, content in files(language).items():
            (work / kind).write_bytes(content)
        written = list(dict.fromkeys([JSON, DRAW, *(format for own, format in WRITTEN if own == language)]))
        commands = [parsing(f"{language}/text", language, output, "text", f"{language}/{output}") for output in written]
        alone = [
            parsing(f"{language}/{kind}", language, JSON, "text", f"{language}/{kind}.json") for kind in files("nl")
        ]
        answers, peak = full.answers(commands + alone)
        outputs = dict(zip(written, answers, strict=False))
        return cls(text, offsets, outputs, dict(zip(files("nl"), answers[len(written) :], strict=True)), work, peak)

    def records(self, name: str) -> list[Record]:
        return [json.loads(line) for line in (self.work / name).read_bytes().splitlines()]


def parsing(source: str, model: str, output: str, kind: str, target: str, *options: str) -> Command:
    """Return the command, and how to read what it writes."""
    arguments = ["parse", source, "--model", model, "--from", kind, "--to", output, "-o", target, *options]
    return {"arguments": arguments, "read": [target, output] if output in FORMATS else None}


@pytest.fixture(scope="session")
def parsed(full: Installed) -> dict[str, Parsed]:
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = pool.map(lambda language: Parsed.by(full, language), LANGUAGES)
        return dict(zip(LANGUAGES, found, strict=True))


def tokens_of(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    for record in records:
        yield from record["tokens"]


def assert_covered(text: str, tokens: list[dict[str, Any]], begin: int, end: int) -> None:
    """Check that every visible character is in exactly one token, and that offsets fit."""
    covered = Counter(offset for token in tokens for offset in range(token["start"], token["end"]))
    assert covered.total() == len(covered)
    visible = [offset for offset in range(begin, end) if not text[offset].isspace() and text[offset] not in INVISIBLE]
    assert all(offset in covered for offset in visible)
    for token in tokens:
        there = text[token["start"] : token["end"]].translate(dict.fromkeys(map(ord, INVISIBLE)))
        assert there in (token["form"], PENN.get(token["form"]))


@pytest.mark.parametrize("kind", paragraphs("nl"))
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_a_text_is_lost(parsed: dict[str, Parsed], language: str, kind: str) -> None:
    found = parsed[language]
    begin, end = found.offsets[kind]
    tokens = [token for token in tokens_of(found.records(JSON)) if begin <= token["start"] < end]
    assert_covered(found.text, tokens, begin, end)


@pytest.mark.parametrize("kind", files("nl"))
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_a_file_is_lost(parsed: dict[str, Parsed], language: str, kind: str) -> None:
    found = parsed[language]
    assert found.alone[kind]["code"] == 0
    text = files(language)[kind].decode("utf-8-sig")
    records = found.records(f"{kind}.json")
    assert_covered(text, list(tokens_of(records)), 0, len(text))
    assert found.alone[kind]["err"] == f"{counted(len(records), 'sentence')} written to {language}/{kind}.json\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_line_ends_and_a_byte_order_mark_change_nothing(parsed: dict[str, Parsed], language: str) -> None:
    found = parsed[language]
    words = [
        [[token["form"] for token in record["tokens"]] for record in found.records(f"{kind}.json")]
        for kind in ("no line end", "Windows line ends", "old Mac line ends", "byte order mark")
    ]
    assert words[0] == words[1] == words[2] == words[3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_all_trees_are_valid(parsed: dict[str, Parsed], language: str) -> None:
    found = parsed[language]
    for name in (JSON, *(f"{kind}.json" for kind in files(language))):
        for record in found.records(name):
            size = len(record["tokens"])
            phrases = [set(row["positions"]) for row in record["constituents"]]
            assert phrases[0] == set(range(size))
            assert all(one <= other or other <= one or not one & other for one, other in combinations(phrases, 2))
            assert all(phrases)
            assert 0 <= record["confidence"] <= 1
            assert any("tag" in token for token in record["tokens"])


@pytest.mark.parametrize(("language", "output"), WRITTEN)
def test_every_format_gives_the_same_trees_or_says_which_not(
    parsed: dict[str, Parsed], language: str, output: str
) -> None:
    found = parsed[language]
    answer = found.outputs[output]
    refused = set(re.findall(r"sentence (\d+): \w+ cannot represent the (?:word|text)", answer["err"]))
    wanted = {
        record["id"]: (
            [token["form"] for token in record["tokens"]],
            [[row["label"], row["positions"]] for row in record["constituents"]],
        )
        for record in found.records(JSON)
        if record["id"] not in refused
    }
    assert {tree["id"]: (tree["words"], tree["nodes"]) for tree in answer["trees"]} == wanted
    assert answer["code"] == (1 if refused else 0)
    assert f"{len(wanted)} sentences written" in answer["err"]
    assert "Traceback" not in answer["err"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_formats_cannot_hold_is_little(parsed: dict[str, Parsed], language: str) -> None:
    """Control characters in XML, and what looks like the format's own marks."""
    found = parsed[language]
    odd = [found.offsets[kind] for kind in ("control characters", "marks of formats", "list")]
    wanted = {record["id"] for record in found.records(JSON)}
    starts = {record["id"]: record["tokens"][0]["start"] for record in found.records(JSON)}
    for output in (format for own, format in WRITTEN if own == language):
        for id in wanted - {tree["id"] for tree in found.outputs[output]["trees"]}:
            assert any(begin <= starts[id] < end for begin, end in odd), (output, id)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_tree_is_drawn(parsed: dict[str, Parsed], language: str) -> None:
    found = parsed[language]
    assert found.outputs[DRAW]["code"] == 0
    drawings = (found.work / DRAW).read_text("utf-8").split("\n\n")
    records = found.records(JSON)
    assert len(drawings) == len(records) + 1
    for drawing, record in zip(drawings, records, strict=False):
        for token in record["tokens"]:
            assert token["form"] in drawing or not token["form"].isprintable()


def test_memory_stays_small(parsed: dict[str, Parsed], say: Say) -> None:
    for language, found in parsed.items():
        say(f"{language}: all texts in all formats in one process, at most {found.peak} MB")
        assert found.peak < PEAK_MB


# Every input, every output


@pytest.fixture(scope="session")
def matrix(full: Installed, treebanks: Path, sample_words: list[list[str]]) -> dict[tuple[str, str], Answer]:
    """Return the answers for pairs of an input and an output, each with one of the models."""
    text = "\n".join(" ".join(words) for words in sample_words)
    for kind in INPUTS:
        content = (treebanks / f"in.{kind}").read_bytes() if kind in FORMATS else text.encode()
        (full.work / f"in.{kind}").write_bytes(content)
    commands = [
        parsing(f"in.{kind}", LANGUAGES[number % len(LANGUAGES)], output, kind, f"{kind}-{output}")
        for number, (kind, output) in enumerate(WAYS)
    ]
    shares = [commands[part::SIDE_BY_SIDE] for part in range(SIDE_BY_SIDE)]
    found: dict[tuple[str, str], Answer] = {}
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for part, (answers, _) in enumerate(pool.map(full.answers, shares)):
            found |= dict(zip(WAYS[part::SIDE_BY_SIDE], answers, strict=True))
    return found


@pytest.mark.parametrize(("kind", "output"), WAYS)
def test_every_input_is_read_and_every_output_written(
    full: Installed,
    matrix: dict[tuple[str, str], Answer],
    sample_words: list[list[str]],
    kind: str,
    output: str,
) -> None:
    answer = matrix[kind, output]
    target = f"{kind}-{output}"
    *notices, last = answer["err"].splitlines()
    assert (answer["code"], last) == (0, f"{SENTENCES} sentences written to {target}")
    assert all("looks like Dutch" in notice or "commercial" in notice for notice in notices), notices
    content = (full.work / target).read_text("utf-8")
    if output == DRAW:
        words = [drawing.splitlines()[-1].split() for drawing in content.split("\n\n")[:-1]]
    elif output == JSON:
        words = [[token["form"] for token in json.loads(line)["tokens"]] for line in content.splitlines()]
    else:
        words = [tree["words"] for tree in answer["trees"]]
    assert words == sample_words


# What else people do


def test_bytes_that_are_no_text_cost_one_sentence_or_none(full: Installed) -> None:
    (full.work / "latin").write_bytes("Wij lopen.\n\nHet café is open.\n\nZij zwemmen.\n".encode("latin-1"))
    options = [(), ("--errors", "replace"), ("--encoding", "latin-1")]
    commands = [parsing("latin", "nl", JSON, "text", f"latin{n}", *more) for n, more in enumerate(options)]
    (strict, replaced, named), _ = full.answers(commands)
    assert strict["code"] == 1
    assert (
        "latin:3: sentence 2: byte 0xe9 is not utf-8; it looks like Windows-1252; use --encoding cp1252"
        in strict["err"]
    )
    assert "2 sentences written" in strict["err"]
    assert replaced["code"] == named["code"] == 0
    written = [(full.work / f"latin{n}").read_bytes().splitlines() for n in range(3)]
    words = [[token["form"] for token in tokens_of(map(json.loads, lines))] for lines in written]
    assert words[0] == ["Wij", "lopen", ".", "Zij", "zwemmen", "."]
    assert words[1][3:8] == ["Het", "caf�", "is", "open", "."]
    assert words[2][3:8] == ["Het", "café", "is", "open", "."]


def test_text_through_pipes_and_several_processes(full: Installed, sample_words: list[list[str]]) -> None:
    text = "\n".join(" ".join(words) for words in sample_words).encode()
    alone = full("discotree", "parse", "-", "--from", "tokens", "--model", "nl", stdin=text)
    together = full("discotree", "parse", "-", "--from", "tokens", "--model", "nl", "--workers", "2", stdin=text)
    assert (alone.returncode, alone.stderr) == (together.returncode, together.stderr) == (0, b"")
    assert alone.stdout == together.stdout
    assert alone.stdout.count(b"\n") == len(sample_words)


API = f"""
from itertools import count, islice
import sys
import discotree as dt
from discotree.config import recipes

assert "numpy" not in sys.modules
assert "site-packages" in dt.__file__, dt.__file__
parser = dt.load("nl")
tree = parser("{SENTENCE}")
assert tree.words == ("Ik", "heb", "het", "hem", "niet", "kunnen", "zeggen", ".")
assert tree.is_discontinuous
assert tree.draw().splitlines()[-1].split() == list(tree.words)
rows = tree.constituents()
assert rows[0].label == "ROOT" and rows[0].positions == tuple(range(8))
assert all(0 < row.confidence <= 1 for row in rows)
arcs = tree.dependencies()
assert arcs.heads.count(-1) == 1 and len(arcs.labels) == 8
assert dt.to_tree(arcs).root == tree.root
assert 0 < tree.confidence <= 1

best = parser.k_best("{SENTENCE}", 5)
assert len(set(best)) == 5 and all(0 < one.confidence <= 1 for one in best)
assert best[0].root == tree.root

assert [len(one) for one in parser.parse(["Ja.", ["Wij", "lopen"], tree])] == [2, 2, 8]
asked = count(1)
endless = parser.parse((f"Dat is nummer {{number}}." for number in asked), window=4)
assert [one.words[3] for one in islice(endless, 6)] == list("123456")
assert next(asked) == 9  # two windows were read, and no more

assert [recipes.load_recipe(name).name for name in recipes.recipe_names()] == recipes.recipe_names()
print("done")
"""


def test_the_interface_for_python(full: Installed) -> None:
    done = full("python", "-c", API)
    assert (done.stdout, done.stderr.decode()) == (b"done\n", "")


# Licences


def licence_of(wheel: Path) -> tuple[str, set[str]]:
    """Return the licence of a wheel, and the texts that come with it, all of which have to be there."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata_name,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(metadata_name))
    folder = metadata_name.removesuffix("METADATA") + "licenses/"
    listed = set(metadata.get_all("License-File") or [])
    assert {f"{folder}{name}" for name in listed} <= set(names)
    licence = metadata["License-Expression"]
    assert canonicalize_license_expression(licence) == licence
    return licence, listed


def test_the_wheel_names_the_licences_of_all_that_it_holds(wheel: Path) -> None:
    licence, texts = licence_of(wheel)
    pieces = "src/discotree/network/pieces"
    assert set(licence.split(" AND ")) == {"MIT", "Apache-2.0"}
    words = "src/discotree/text/frequent_words"
    assert texts == {"LICENSE", "NOTICE.md", f"{pieces}/LICENSE", f"{pieces}/NOTICE", f"{words}/LICENSE"}


@pytest.mark.parametrize("name", NAMES)
def test_the_wheel_of_a_model_has_the_licence_of_its_card(model_wheels: dict[str, Path], name: str) -> None:
    with zipfile.ZipFile(model_wheels[name]) as archive:
        (card,) = [json.loads(archive.read(path)) for path in archive.namelist() if path.endswith("/model/card.json")]
        (about,) = [archive.read(path) for path in archive.namelist() if path.endswith(".dist-info/METADATA")]
    assert licence_of(model_wheels[name]) == (card["licence"], {"LICENSE", "NOTICE"})
    metadata = email.message_from_bytes(about)
    assert metadata["Name"] == f"discotree-{name}"
    (needed,) = metadata.get_all("Requires-Dist") or []
    assert Requirement(needed).name == "discotree"
    assert Requirement(needed).specifier.contains(__version__)
    assert "License :: " not in str(about)
    assert f"# {name}: " in metadata.get_payload()  # its card is its page
