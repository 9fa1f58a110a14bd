"""distill from the command line: what it shows, what it writes, what it refuses."""

import io
import json

import pytest
from click.testing import CliRunner
from support.distilling import EASY, config_of, teacher_in, text_file

from discotree.cli import app
from discotree.cli import distill as command
from discotree.cli.console import data_console
from discotree.config.schema import Training
from discotree.errors import DiscotreeError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text_file(tmp_path)
    teacher_in(tmp_path)
    config_of(tmp_path)
    network = "word_size = 6\nchar_size = 5\nchar_filters = 4\nlstm_size = 5\nlstm_layers = 1\ndecoder_size = 7"
    (tmp_path / "tiny.toml").write_text(
        f"""language = "de"
[data]
folder = "{tmp_path}"
train = [{{ file = "small.export", sentences = "1-10" }}]
dev = [{{ file = "small.export", sentences = "11-20" }}]
[network]
{network}
arc_size = 6
label_size = 4
subwords = ""
[training]
epochs = 1
device = "cpu"
[distillation]
min_count = {EASY.min_count}
""",
        "utf-8",
    )
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, ["distill", "--recipe", "tiny.toml", *arguments])
    if isinstance(result.exception, DiscotreeError):
        raise result.exception
    return result


@pytest.mark.usefixtures("folder")
def test_text_is_prepared_and_scored():
    result = run("text.txt", "-o", "text", "--prepare")
    assert result.stdout.splitlines()[-2:] == ["40 sentences of text, 200 words", "text: text"]
    result = run("--prepared", "text", "-t", "teacher", "-o", "targets", "--prepare")
    assert result.stdout.splitlines()[-2:] == [
        "40 sentences of text, 200 words, scored by teacher",
        "targets: targets",
    ]


@pytest.mark.usefixtures("folder")
def test_what_makes_no_sense_is_refused():
    assert "--prepare needs TEXT" in run("--prepared", "text", "-o", "out", "--prepare").stderr
    with pytest.raises(DiscotreeError, match=r"missing\.txt: no such file"):
        run("missing.txt", "-t", "teacher", "-o", "out")
    with pytest.raises(DiscotreeError, match="there is no model 'nobody'"):
        run("text.txt", "-t", "nobody", "-o", "out")
    with pytest.raises(DiscotreeError, match="contains the input"):
        run("text.txt", "-t", "teacher", "-o", ".")


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    lines = io.StringIO()
    monkeypatch.setattr(command, "err", data_console(file=lines, width=200))
    watch = command.DistillationProgress(Training(), "dev/las", "LAS")
    for done in (1 << 20, 2 << 20):
        watch.text("reading text", done, 5 << 20)
    watch.text("scoring", 1000, 2000)
    assert lines.getvalue().splitlines() == ["reading text  1 of 5 MB", "scoring  1,000 of 2,000 sentences"]


@pytest.mark.slow
def test_a_small_model_comes_with_its_scores(folder):
    result = run("text.txt", "-t", "teacher", "-o", "out")
    assert result.exit_code == 0, result.output
    assert "40 sentences of text, 200 words, scored by teacher\nmodel: out/model" in result.stdout
    results = json.loads((folder / "out" / "results.json").read_text("utf-8"))
    assert results["distillation"]["teachers"] == ["teacher"]
    assert results["config"]["distillation"]["min_count"] == 1
