"""discotree search and index: what they print, their exit codes, and what they refuse."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.signals import heed_interrupts

import discotree as dt
from discotree.cli import app

DATA = Path(__file__).parents[1] / "data"
TIGER = str(DATA / "tiger.xml")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def treebank(tmp_path):
    lines = [
        "(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat)))",
        "(ROOT (S (NP (NN 0=Haus)) (V 1=ist)))",
        "(ROOT (V 0=geht))",
    ]
    path = tmp_path / "trees.dbr"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_matches_are_lines_of_words(run, treebank):
    done = run("search", '#n:[cat="NP"]', treebank)
    assert done.stdout.splitlines() == ["1\t" + " " * 41 + "[das] hat [Haus]", "2\t" + " " * 41 + "[Haus] ist"]
    assert done.stderr == "discotree: 2 matches in 2 trees\n"
    assert done.exit_code == 0
    assert run("search", "#w:[T]", treebank, "--max", 4).stderr.endswith("4 matches in 2 trees, stopped by --max 4\n")


def test_groups_sort_numbers_as_numbers(run, tmp_path):
    words = [" ".join(f"(N {k}=w)" for k in range(length)) for length in (10, 9, 2, 2, 9, 10)]
    (tmp_path / "a.dbr").write_text("".join(f"(ROOT (X {text}))\n" for text in words))
    grouped = run("search", '#n:[cat="X"]', "a.dbr", "--group-by", "#n.words").stdout
    assert grouped.splitlines()[1:] == ["2\t2", "9\t2", "10\t2"]
    crossed = run("search", '#n:[cat="X"]', "a.dbr", "--group-by", "#n.cat", "--group-by", "#n.words").stdout
    assert crossed.splitlines() == ["#n.cat \\ #n.words\t2\t9\t10", "X\t2\t2\t2"]


def test_hits_are_written_as_a_page_with_their_trees(run, treebank, tmp_path):
    assert run("search", '#n:[cat="NP"] > [T]', treebank, "-o", "hits.html").exit_code == 0
    page = (tmp_path / "hits.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert "<p>[das] hat [Haus]</p>" in page
    assert '<h1>#n:[cat="NP"] &gt; [T]</h1>' in page
    assert page.count('data-label="NP"') == page.count('data-variables="#n"') == 2
    assert not re.search(r"<script|<link|<img|(src|href)=\"(?!#)|url\(|@import", page)  # self-contained


def test_exit_codes_are_those_of_grep(run, treebank):
    assert run("search", '[cat="XP"]', treebank).exit_code == 1
    assert run("search", "[cat=", treebank).exit_code == 2
    assert run("search", "[]", "nowhere.export").exit_code == 2
    assert run("search", "[]", treebank, "--to", "pdff").exit_code == 2


def test_a_zero_is_explained(run, treebank):
    run("index", treebank)
    for source in (treebank, f"{treebank}.dtindex"):
        done = run("search", '[cat="np"]', source)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == "discotree: no match\ndiscotree: no constituent is called 'np' here; did you mean 'NP'?\n"
        counted = run("search", '#w:[lemma="Haus"]', source, "--count")
        assert counted.stdout == "0 matches in 0 trees\n"
        assert counted.stderr == "discotree: this treebank has no lemmas\n"


def test_counts_and_tables(run, treebank):
    assert run("search", '#n:[cat="NP"]', treebank, "--count").output == "2 matches in 2 trees\n"
    assert run("search", '#w:[pos="ART"]', treebank, "--count").output == "1 match in 1 tree\n"
    assert run("search", '#w:[pos="ART"]', treebank, "-o", "hits.csv").output == "1 match written to hits.csv\n"
    assert run("search", "#w:[T]", treebank, "--group-by", "#w.pos").output.splitlines() == [
        "#w.pos\tmatches", "V\t3", "NN\t2", "ART\t1",
    ]  # fmt: skip
    crossed = run("search", "#a:[NT] > #w:[T]", treebank, "--group-by", "#a.cat", "--group-by", "#w.pos").output
    assert crossed.splitlines()[:2] == ["#a.cat \\ #w.pos\tART\tNN\tV", "NP\t1\t2\t0"]
    table = run("search", '#n:[cat="NP"]', treebank, "--to", "csv").output
    assert table.splitlines()[:2] == [
        "id,left,match,right,#n.text,#n.label,#n.edge,#n.positions",
        "1,,[das] hat [Haus],,das … Haus,NP,--,0 2",
    ]


def test_trees_are_written_once_each(run, treebank, tmp_path):
    run("search", "#w:[T]", treebank, "--max", 4, "-o", "found.export")
    assert [tree.id for tree in dt.read(tmp_path / "found.export")] == ["1", "2"]


def test_an_index_is_searched_in_place_of_its_treebank(run, treebank):
    assert run("index", treebank).exit_code == 0
    plain = run("search", '#n:[cat="NP"]', treebank)
    assert run("search", '#n:[cat="NP"]', f"{treebank}.dtindex").output == plain.output
    assert run("search", "[]", f"{treebank}.dtindex", "--punctuation", "move").exit_code == 2
    assert run("index", treebank, "-o", "index.db").exit_code == 2


def test_commas_are_no_gaps_in_a_file_and_in_an_index(run, tmp_path):
    path = tmp_path / "commas.dbr"
    path.write_text("(ROOT (NP (NN 0=A) (NN 2=B)) ($, 1=,))\n")
    run("index", path)
    for source in (path, f"{path}.dtindex"):
        assert run("search", '#n:[cat="NP"] & discontinuous(#n)', source).exit_code == 1
        assert run("search", '#n:[cat="NP"] & discontinuous(#n, all)', source).exit_code == 0
        assert run("search", '#n:[cat="NP"] & gap-degree(#n, 1, all)', source).exit_code == 0
        groups = run("search", '#n:[cat="NP"]', source, "--group-by", "#n.gaps").stdout
        assert groups.splitlines()[1:] == ["0\t1"]
    assert run("search", "discontinuous(#n, all)", path, "--punctuation", "move").exit_code == 1


def test_the_output_is_not_the_input(run, treebank):
    done = run("search", "[]", treebank, "-o", treebank)
    assert done.exit_code == 2
    assert treebank.read_text().count("\n") == 3


def test_tables_are_written_as_parquet(run, treebank):
    pandas = pytest.importorskip("pandas")
    assert run("search", '#n:[cat="NP"] > #w:[pos=#p]', treebank, "-o", "hits.parquet").exit_code == 0
    hits = pandas.read_parquet("hits.parquet")
    assert hits["#n.positions"].map(list).tolist() == [[0, 2], [0, 2], [0]]
    assert hits["#p"].tolist() == ["ART", "NN", "NN"]
    assert run("search", "#w:[T]", treebank, "--group-by", "#w.pos", "-o", "counts.parquet").exit_code == 0
    assert pandas.read_parquet("counts.parquet").to_dict("list") == {"#w.pos": ["V", "NN", "ART"], "matches": [3, 2, 1]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", "-o", "n.parquet"], "--count cannot be combined with the format parquet"),
        (["--count", "--group-by", "#w.pos"], "--count cannot be combined with --group-by"),
        (["--group-by", "#w.pos", "-o", "n.export"], "--group-by cannot write export; use csv, tsv, parquet"),
    ],
)
def test_counts_are_not_written_in_a_format_that_cannot_hold_them(run, treebank, options, message):
    done = run("search", "#w:[T]", treebank, *options)
    assert (done.exit_code, message in done.output) == (2, True)


def test_the_trees_in_a_file_are_counted(run, treebank):
    assert (
        "4 matches in 2 trees written to t.export"
        in run("search", "#w:[T]", treebank, "--max", 4, "-o", "t.export").stderr
    )
    assert len(list(dt.read("t.export"))) == 2


def test_a_maximum_counts_matches(run, treebank):
    counted = run("search", "#w:[T]", treebank, "--max", 4, "--count")
    assert (counted.stdout, counted.stderr) == ("4 matches in 2 trees\n", "discotree: stopped by --max 4\n")
    assert len(run("search", "#w:[T]", treebank, "--max", 4).stdout.splitlines()) == 4
    assert run("search", "#w:[T]", treebank, "--max", 4, "--group-by", "#w.pos").output.count("\n") == 4


def test_ids_of_several_treebanks_tell_their_files(run, treebank, tmp_path):
    (tmp_path / "more.dbr").write_text("(ROOT (V 0=geht))\n")
    found = run("search", '[word="geht"]', treebank, "more.dbr").stdout.splitlines()
    assert [line.split() for line in found] == [["trees/3", "[geht]"], ["more/1", "[geht]"]]


LARGE = 20_000  # trees


@pytest.fixture
def large(tmp_path):
    """A treebank in which a search takes its time."""
    path = tmp_path / "large.dbr"
    path.write_text("(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat)))\n" * LARGE)
    return path


def start(*arguments, **options):
    command = [sys.executable, "-m", "discotree", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.slow
def test_who_reads_no_further_ends_the_search_quietly(large):
    with start("search", "#w:[T]", large, "--workers", 2) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.slow
def test_interrupts_end_all_processes(large):
    options = {"preexec_fn": heed_interrupts, "start_new_session": True}
    with start("search", "#w:[T]", large, "--workers", 2, **options) as process:
        for _ in range(10_000):  # until others are at work
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        process.stdout.read()
        assert process.wait() == 130
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process is left")


@pytest.mark.slow
def test_several_processes_write_what_one_writes(run, large, tmp_path):
    path = tmp_path / "part.dbr"
    path.write_text("".join(large.read_text().splitlines(keepends=True)[:5_000]))
    for workers in (1, 2):
        run("search", '#n:[cat="NP"]', path, "--workers", workers, "-o", f"{workers}.csv")
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    run("index", path, "-o", "part.dtindex")
    counts = [run("search", '[word="hat"]', "part.dtindex", "--count", "--workers", k).output for k in (1, 2)]
    assert counts == ["5,000 matches in 5,000 trees\n"] * 2


PEAK = """
import re, sys
from discotree.cli import app
app(sys.argv[1:], standalone_mode=False)
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks Linux for the peak of the memory")
def test_memory_does_not_grow_with_the_treebank(large, tmp_path):
    """Twenty times as many trees, and as many matches, take hardly more memory."""
    small = tmp_path / "small.dbr"
    small.write_text("".join(large.read_text().splitlines(keepends=True)[: LARGE // 20]))
    peaks = []
    for path in (small, large):
        command = [sys.executable, "-c", PEAK, "search", "#w:[T]", str(path), "--workers", "1"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
        peaks.append(int(done.stderr.split()[-1]))  # after the total
    assert peaks[1] < peaks[0] + 5_000  # KiB


QUERIES = """\
"noun phrase" = '#n:[cat="NP"]'
split = '''
#n:[cat="NP"]
& discontinuous(#n)'''
word = '#w:[T]'
"""


def test_named_queries_are_counted_in_one_pass(run, treebank, tmp_path, monkeypatch):
    (tmp_path / "queries.toml").write_text(QUERIES)
    run("index", treebank)
    table = [
        "construction  matches  trees  searched",
        "noun phrase         2      2         3",
        "split               1      1         3",
        "word                6      3         3",
    ]
    opened = []
    read_chunks = dt.queries.search.read_chunks
    monkeypatch.setattr(
        "discotree.queries.search.read_chunks",
        lambda path, *rest, **more: opened.append(path) or read_chunks(path, *rest, **more),
    )
    for source in (treebank, f"{treebank}.dtindex"):
        done = run("search", "--queries", "queries.toml", source)
        assert done.stdout.splitlines() == table
        assert (done.exit_code, done.stderr) == (0, "")
    assert opened == [str(treebank)]
    run("search", "--queries", "queries.toml", treebank, "-o", "counts.txt")
    assert (tmp_path / "counts.txt").read_text().splitlines() == table


def test_named_queries_are_counted_for_each_file(run, treebank, tmp_path):
    (tmp_path / "queries.toml").write_text(QUERIES)
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.dbr").write_text(treebank.read_text())
    (folder / "b.dbr").write_text("(ROOT (V 0=geht))\n")
    expected = [
        "construction,file,matches,trees,searched",
        *(
            "noun phrase,a,2,2,3",
            "noun phrase,b,0,0,1",
            "split,a,1,1,3",
            "split,b,0,0,1",
            "word,a,6,3,3",
            "word,b,1,1,1",
        ),
    ]
    assert run("search", "--queries", "queries.toml", folder, "-o", "counts.csv").exit_code == 0
    assert (tmp_path / "counts.csv").read_text().splitlines() == expected
    several = run(
        "search", "--queries", "queries.toml", folder / "a.dbr", folder / "b.dbr", "--to", "csv", "--workers", 2
    )
    assert several.stdout.splitlines() == expected
    run("index", folder)
    indexed = run("search", "--queries", "queries.toml", "corpus.dtindex", "--to", "tsv")
    assert indexed.stdout.splitlines() == [line.replace(",", "\t") for line in expected]
    run("search", "--queries", "queries.toml", folder, "-o", "counts.parquet")
    rows = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "counts.parquet").to_pylist()
    assert rows[0] == {"construction": "noun phrase", "file": "a", "matches": 2, "trees": 2, "searched": 3}


def test_named_queries_without_a_match_are_explained(run, treebank, tmp_path):
    (tmp_path / "queries.toml").write_text("""lower = '[cat="np"]'\nupper = '[cat="NP"]'\n""")
    done = run("search", "--queries", "queries.toml", treebank)
    assert done.stderr == "discotree: lower: no constituent is called 'np' here; did you mean 'NP'?\n"
    assert done.exit_code == 0
    (tmp_path / "queries.toml").write_text("""lower = '[cat="np"]'\n""")
    assert run("search", "--queries", "queries.toml", treebank).exit_code == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = '[]'\nb = '''\n[T] &\n[cat=\n'''\n", "queries.toml:5: b: query, character 13: expected a value"),
        ("a = '[]'\nb = 3\n", "queries.toml:2: b: expected a query in quotes, got 3"),
        ("a = '[]'\n[b]\nc = '[]'\n", "queries.toml:2: b: expected a query in quotes, got {'c': '[]'}"),
        ("a = '[]'\nb = [cat]\n", "queries.toml:2: Invalid value"),
        ("", "queries.toml: contains no query"),
        ("a = '\xe9'", "queries.toml: byte 0xe9 is not UTF-8"),
        (None, "queries.toml: cannot be read: No such file or directory"),
    ],
)
def test_errors_in_a_file_of_queries_have_a_line(run, treebank, tmp_path, content, message):
    if content is not None:
        (tmp_path / "queries.toml").write_text(content, "latin-1")
    done = run("search", "--queries", "queries.toml", treebank)
    assert message in done.stderr
    assert done.exit_code == 2


def test_named_queries_have_no_other_output(run, treebank, tmp_path):
    (tmp_path / "queries.toml").write_text(QUERIES)
    for options, message in (
        (["--max", 3], "--queries cannot be combined with --count, --group-by or --max"),
        (["--to", "draw"], "--queries cannot write draw; pass --to csv, tsv or parquet"),
        (["-o", "queries.toml", "--to", "csv"], "queries.toml is also an input"),
    ):
        done = run("search", "--queries", "queries.toml", treebank, *options)
        assert message in done.stderr
        assert done.exit_code == 2
    assert "missing argument 'TREEBANK...'" in run("search", "--queries", "queries.toml").stderr
    assert "missing argument 'TREEBANK...'" in run("search", "[]").stderr
    assert "missing argument 'QUERY'" in run("search").stderr
