"""discotree draw as a person uses it: real processes, a real terminal, files where they belong."""

import fcntl
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.helpers import right_branching
from support.renderers import hide_renderers, needs_renderer
from support.svgs import groups, parsed

import discotree as dt
from discotree.cli.draw import _file_name
from discotree.drawing import DrawingOptions, draw_comparison_text, draw_latex, draw_svg, draw_text

pytestmark = pytest.mark.slow  # a process for each; tests/drawing tests the drawings

DATA = Path(__file__).parents[1] / "data"
FIGURE1, SMALL, MANY = DATA / "figure1.export", DATA / "tiger.xml", DATA / "drawings" / "trees.export"
(TREE,) = dt.read(FIGURE1)
WRONG = "(ROOT (S (PPER 0=Es) (VVFIN 1=kam) (AP (PIS 2=nichts) (NN 3=Interessantes)) ($. 4=.)))\n"
QUERY = '#np:[cat="NP"] & discontinuous(#np) & #v:[pos="VVFIN"]'
SIGNATURES = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-"}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(*arguments: object, stdin: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "discotree", "draw", *map(str, arguments)],
            cwd=tmp_path, capture_output=True, text=True, input=stdin, env={**os.environ, **environment},
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        return done

    return run


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that a pager asks this terminal for keys and not the tester's


def on_a_terminal(*arguments: object, pager: str, width: int = 80, enough: bytes | None = None) -> tuple[bytes, float]:
    """Return what appears on a terminal, and the seconds until ``enough`` was there; then close the terminal."""
    ours, theirs = pty.openpty()
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "discotree", "draw", *map(str, arguments)],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, preexec_fn=_own_terminal,
        env={**os.environ, "PAGER": pager, "COLUMNS": str(width), "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    try:
        while enough is None or enough not in seen:
            seen += os.read(ours, 65536)
    except OSError:  # the other side is closed
        pass
    seconds = time.monotonic() - start
    os.close(ours)
    process.kill()
    process.wait()
    return seen.replace(b"\r\n", b"\n"), seconds


# --- text


def test_text_is_the_default_and_plain_in_a_pipe(run: Run) -> None:
    done = run(FIGURE1)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1\n{draw_text(TREE)}\n\n"


def test_text_options(run: Run) -> None:
    assert run(FIGURE1, "--functions").stdout == f"1\n{draw_text(TREE, functions=True)}\n\n"


def test_several_treebanks_and_standard_input(run: Run) -> None:
    done = run(FIGURE1, "-", stdin=WRONG)
    assert done.stdout.count("ROOT") == 2


def test_text_goes_into_a_file(run: Run, tmp_path: Path) -> None:
    assert run(SMALL, "-o", "out.txt").returncode == 0
    assert (tmp_path / "out.txt").read_text("utf-8").count("┌") > 3


def test_a_terminal_gets_colours_and_its_own_width() -> None:
    seen, _ = on_a_terminal(FIGURE1, pager="cat", width=24)
    assert seen.decode() == f"1\n{draw_text(TREE, color=True, width=24)}\n\n"
    assert "\x1b[35m" in seen.decode()


def test_a_terminal_without_a_pager_is_written_to() -> None:
    seen, _ = on_a_terminal(FIGURE1, pager="no-such-pager")
    assert b"Interessantes" in seen


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("less"), reason="less is not installed")
def test_less_shows_the_first_tree_of_a_huge_treebank_at_once(tmp_path: Path) -> None:
    huge = tmp_path / "huge.export"
    sentence = re.sub("(?m)^#FORMAT 4\n", "", FIGURE1.read_text("utf-8"))
    with huge.open("w", encoding="utf-8") as stream:
        stream.write("#FORMAT 4\n")
        stream.writelines(re.sub("(?m)(OS) 1$", rf"\1 {k}", sentence) for k in range(100_000))
    seen, seconds = on_a_terminal(huge, pager="less", enough=b"Interessantes")
    assert b"\x1b[35mNP" in seen
    assert seconds < 30  # all of them would take minutes


# --- which trees


def test_trees_are_chosen_by_id_and_by_number(run: Run) -> None:
    done = run(MANY, "--id", "gap2", "--number", "1", "--number", "3")
    assert [line for line in done.stdout.splitlines() if line in ("gap0", "gap1", "gap2", "gap3")] == ["gap0", "gap2"]


def test_nothing_is_read_after_the_last_tree_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.dbr").write_text(WRONG + "(broken\n", "utf-8")
    assert run("broken.dbr", "--number", "1").returncode == 0
    assert run("broken.dbr").returncode == 1
    done = run("broken.dbr", "--skip-broken")
    assert done.returncode == 0
    assert "1 broken tree skipped" in done.stderr


def test_a_tree_that_is_not_there_is_named(run: Run) -> None:
    done = run(MANY, "--id", "gap1", "--id", "gap9", "--number", "99")
    assert done.returncode == 1
    assert "no tree with the id or number 99, gap9" in done.stderr


# --- pictures


def test_one_tree_goes_to_standard_output_or_into_a_file(run: Run, tmp_path: Path) -> None:
    assert run(FIGURE1, "--to", "svg").stdout == draw_svg(TREE)
    assert run(FIGURE1, "-o", "tree.svg", "--theme", "dark", "--hide", "functions").returncode == 0
    assert (tmp_path / "tree.svg").read_text("utf-8") == draw_svg(TREE, theme="dark", functions=False)


def test_many_trees_go_into_a_folder(run: Run, tmp_path: Path) -> None:
    done = run(MANY, FIGURE1, FIGURE1, "--to", "svg", "-o", "a/b")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert {"1_Es_kam_nichts_Interessantes.svg", "1_Es_kam_nichts_Interessantes-2.svg"} <= names
    assert len(names) == len(list(dt.read(MANY))) + 2
    for path in (tmp_path / "a" / "b").iterdir():
        parsed(path.read_text("utf-8"))


def test_many_trees_do_not_go_into_one_picture(run: Run, tmp_path: Path) -> None:
    for arguments in (("--to", "svg"), ("-o", "all.svg"), ("-o", "all.png")):
        done = run(SMALL, *arguments)
        assert done.returncode == 2
        assert "file holds one tree; choose a tree with --id or --number, write to a folder" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sentences", "names"),
    [
        (["a", "a", "A", "a-2"], ["a", "a-2", "A-3", "a-2-2"]),
        (["../../etc/passwd", "/etc/passwd"], ["etc_passwd", "etc_passwd-2"]),
        (["..", ".", "", "\x00", "---"], ["tree", "tree-2", "tree-3", "tree-4", "tree-5"]),
        (["a/b", "a\\b", "a:b", "a b\n"], ["a_b", "a_b-2", "a_b-3", "a_b-4"]),
        (["é", "e\u0301", "文/字"], ["é", "é-2", "文_字"]),
        (["x" * 500], ["x" * 80]),
        (["文" * 500], ["文" * 26]),
        (["17 Es kam nichts Interessantes .", "a , b"], ["17_Es_kam_nichts_Interessantes", "a_b"]),
        ([" ".join(["word"] * 50)], ["_".join(["word"] * 16)]),
    ],
    ids=ascii,
)
def test_pictures_are_named_after_their_sentences(sentences: list[str], names: list[str]) -> None:
    taken: dict[str, int] = {}
    assert [_file_name(sentence, taken) for sentence in sentences] == names


@needs_renderer
@pytest.mark.parametrize("format", SIGNATURES)
def test_png_and_pdf(run: Run, tmp_path: Path, format: str) -> None:
    done = run(FIGURE1, "-o", f"tree.{format}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f"tree.{format}").read_bytes().startswith(SIGNATURES[format])


def test_a_png_that_would_take_gigabytes_is_refused(run: Run, tmp_path: Path) -> None:
    dt.write([right_branching(300)], tmp_path / "deep.export")
    done = run("deep.export", "-o", "deep.png")
    assert done.returncode == 1
    assert "would take too much memory; use SVG or PDF" in done.stderr
    assert not (tmp_path / "deep.png").exists()


def test_png_without_a_renderer_names_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_renderers(tmp_path, monkeypatch)
    done = run(FIGURE1, "-o", "tree.png")
    assert done.returncode == 1
    assert "rsvg-convert" in done.stderr
    assert "pip install 'discotree[draw]'" in done.stderr
    assert not (tmp_path / "tree.png").exists()


def test_latex_and_html(run: Run, tmp_path: Path) -> None:
    assert run(MANY, "-o", "trees.tex").returncode == 0
    assert (tmp_path / "trees.tex").read_text("utf-8").count("\\begin{tikzpicture}") == 13
    assert run(MANY, "-o", "trees.html").returncode == 0
    page = (tmp_path / "trees.html").read_text("utf-8")
    assert page.count("<section") == 13
    assert "<h1>trees.export</h1>" in page


@needs_renderer
def test_several_trees_make_one_pdf(run: Run, tmp_path: Path) -> None:
    done = run(SMALL, "-o", "all.pdf", "--hide", "root")
    assert done.returncode == 0, done.stderr
    pdf = (tmp_path / "all.pdf").read_bytes()
    assert pdf.startswith(SIGNATURES["pdf"])
    (count,) = re.findall(rb"/Count (\d+)", pdf) or [b"0"]
    assert int(count) in (0, sum(1 for _ in dt.read(SMALL)))  # 0 where the list of pages is compressed


# --- looks


def test_a_look_in_every_format(run: Run, tmp_path: Path) -> None:
    (tmp_path / "glosses.txt").write_text("# 1\nIt came nothing interesting\nNothing came.\n", "utf-8")
    options = (
        "--hide",
        "punctuation",
        "--hide",
        "root",
        "--hide",
        "tags",
        "--gloss",
        "glosses.txt",
        "--highlight",
        QUERY,
    )
    drawing = DrawingOptions(
        punctuation=False, root=False, tags=False, glosses=["It", "came", "nothing", "interesting", ""],
        translation="Nothing came.",
    )  # fmt: skip
    highlight = {"#np": (7,), "#v": (1,)}
    assert run(FIGURE1, *options).stdout == f"1\n{draw_text(TREE, options=drawing, highlight=highlight)}\n\n"
    assert run(FIGURE1, *options, "--to", "svg").stdout == draw_svg(TREE, options=drawing, highlight=highlight)
    assert run(FIGURE1, *options, "--to", "latex").stdout == draw_latex(TREE, options=drawing, highlight=highlight)
    assert "Nothing came." in run(FIGURE1, *options, "--to", "html").stdout


def test_a_legend_and_arrows(run: Run) -> None:
    drawing = DrawingOptions(legend=True, arrows=True)
    assert run(FIGURE1, "--legend", "--arrows", "--to", "svg").stdout == draw_svg(TREE, options=drawing)
    assert run(FIGURE1, "--legend", "--arrows", "--to", "latex").stdout == draw_latex(TREE, options=drawing)
    done = run(FIGURE1, "--legend")
    assert "NP: noun phrase\n" in done.stdout
    assert not done.stderr
    done = run("-", "--from", "discbracket", "--legend", stdin="(ROOT (foo (bar 0=a) (baz 1=b)))\n")
    assert "--legend: the labels belong to none of the schemes alpino, tiger, penn, icepahc" in done.stderr


def test_triangles_by_query_by_label_and_by_depth(run: Run) -> None:
    expected = f"1\n{draw_text(TREE, options=DrawingOptions(triangles=[8]))}\n\n"
    assert run(FIGURE1, "--triangle", '#n:[cat="NP"] & [cat="NP"] > #n').stdout == expected
    assert run(FIGURE1, "--depth", "3").stdout == expected
    assert run(FIGURE1, "--triangle", "NP").stdout == f"1\n{draw_text(TREE, options=DrawingOptions(triangles=[7]))}\n\n"


def test_a_query_that_finds_nothing_is_told(run: Run) -> None:
    done = run(FIGURE1, "--highlight", "AP", "--to", "svg")
    assert done.returncode == 0
    assert '--highlight [cat="AP"]: no match in these trees' in done.stderr


def test_the_glosses_are_not_written_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "glosses.txt").write_text("# 1\n", "utf-8")
    assert "is also an input" in run(FIGURE1, "--gloss", "glosses.txt", "-o", "glosses.txt").stderr


# --- arcs and comparisons


def test_arcs(run: Run) -> None:
    picture = parsed(run(FIGURE1, "--arcs", "--heads", "negra", "--to", "svg").stdout)
    assert {group.get("data-label") for group in groups(picture, "arc")} == {"NP#2", "ROOT", "NP#1", "S#1", "ROOT#2"}
    assert run(FIGURE1, "--arcs", "--to", "svg").returncode == 0


def test_gold_against_predicted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.dbr").write_text(WRONG, "utf-8")
    (wrong,) = dt.read(tmp_path / "wrong.dbr")
    assert run(FIGURE1, "--predicted", "wrong.dbr").stdout == f"1\n{draw_comparison_text(TREE, wrong)}\n\n"
    picture = parsed(run(FIGURE1, "--predicted", "wrong.dbr", "--to", "svg").stdout)
    assert len(groups(picture, "missing")) == 1
    assert len(groups(picture, "changed")) == 2
    assert "− missing" in run(FIGURE1, "--predicted", "wrong.dbr", "--to", "html").stdout
    done = run(MANY, "--predicted", "wrong.dbr")
    assert done.returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--arcs",), "--arcs cannot be drawn as text"),
        (("--arcs", "--to", "latex"), "--arcs cannot be drawn as latex"),
        (("--arcs", "--predicted", "x", "--to", "svg"), "cannot be combined"),
        (("--heads", "negra"), "--heads needs --arcs"),
        (("--predicted", "x", "--to", "latex"), "--predicted cannot be drawn as latex"),
        (("--lines", "slanted"), "text cannot show slanted lines or arrows"),
        (("--arrows",), "text cannot show slanted lines or arrows"),
        (("--arcs", "--hide", "root", "--to", "svg"), "cannot be combined with --arcs"),
        (("--predicted", "x", "--triangle", "NP"), "cannot be combined with --predicted"),
        (("--gloss", "nothing"), "expected lemma, morph or a file"),
        (("--highlight", "#n:["), "--highlight: query, character 5"),
        (("--to", "gif"), "'gif'"),
    ],
)
def test_what_does_not_go_together_is_refused(run: Run, arguments: tuple[str, ...], complaint: str) -> None:
    done = run(FIGURE1, *arguments)
    assert done.returncode == 2
    assert complaint in " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
