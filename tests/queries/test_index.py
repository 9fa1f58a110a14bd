"""An index gives the same trees and matches as the treebank; a damaged or hostile one is refused."""

import json
import os
import random
import re
import sqlite3
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from queries.test_query import random_case, readable_query
from support.strategies import random_tree

from discotree import Node, Token, Tree, TreebankError
from discotree.queries import index as index_module
from discotree.queries.index import CHECKSUM_BYTES, OFFSET_BYTES, Index, write_batches, write_index
from discotree.queries.query import Query
from discotree.queries.rows import row
from discotree.queries.search import search
from discotree.web.uploads import gap_counts

BEGIN = '["1", ["a", "N", null, null, null], [0], ["R", "S"], null, [-1]'  # of a record: tokens and nodes


def same(left, right):
    """Whether two trees are equal in everything, also in what comparing trees ignores."""
    details = [(t, t.id, t.secondary, t.comment, t.confidence, t.confidences) for t in (left, right)]
    return details[0] == details[1]


@pytest.fixture(scope="module")
def trees():
    rng = random.Random(5)
    made = [random_case(rng) if k % 4 else random_tree(rng, rng.randint(5, 6)) for k in range(40)]
    return [replace(tree, id=str(k), comment="é" * (k % 2)) for k, tree in enumerate(made)]


@pytest.fixture(scope="module")
def path(trees, tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "trees.dtindex"
    assert write_index(trees, path) == 40
    return path


def test_an_index_gives_back_the_trees(trees, path):
    with Index(path) as index:
        assert index.last == 40
        assert all(map(same, index.trees(), trees))


def assert_same_matches(index, trees, seed, count):
    rng = random.Random(seed)
    found = 0
    for _ in range(count):
        query = readable_query(rng)
        in_index = [(match.view.id, match.bindings) for match in index.search(query)]
        assert in_index == [(match.tree.id, match.bindings) for match in search(trees, query)], query.text
        found += len(in_index)
    return found


def test_an_index_finds_what_the_treebank_has(trees, path):
    with Index(path) as index:
        assert assert_same_matches(index, trees, 6, 60) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_an_index_finds_what_the_treebank_has_for_many_queries(trees, path, seed):
    with Index(path) as index:
        count = int(os.environ.get("DISCOTREE_QUERIES", "500"))
        assert assert_same_matches(index, trees, 100 + seed, count) > 500


def test_found_nodes_and_lines_are_those_of_the_tree(trees, path):
    query = Query("#n:[NT] >* #w:[T]")
    with Index(path) as index:
        pairs = list(zip(index.search(query), search(trees, query), strict=True))
    for ours, expected in pairs:
        assert row(ours) == row(expected)
        assert (ours.concordance(9), repr(ours["#n"])) == (expected.concordance(9), repr(expected["#n"]))
        assert (ours["#n"].node, ours["#w"].node, ours.tree) == (expected["#n"].node, None, expected.tree)


def test_selective_queries_read_few_trees(trees, path):
    with Index(path) as index:
        query = Query('#n:[cat="VP"] & discontinuous(#n)')
        discontinuous = [k for k, t in enumerate(trees, 1) if any(n.is_discontinuous for n in t.find("VP"))]
        assert list(index.candidates(Query(query.text, all_gaps=True))) == discontinuous
        assert set(index.candidates(query)) < set(discontinuous)
        assert list(index.candidates(Query("[]"))) == list(range(1, index.last + 1))
        assert list(index.candidates(Query('[word="nowhere"]'))) == []


def test_gap_degrees_are_looked_up(trees, path):
    def having(low, high, label=None, all_gaps=False):
        counts = [gap_counts(tree, all_gaps) for tree in trees]
        wanted = [
            any(low <= gaps <= high and label in (None, n.label) for n, gaps in zip(tree.nodes(), of_tree, strict=True))
            for tree, of_tree in zip(trees, counts, strict=True)
        ]
        return [k for k, is_wanted in enumerate(wanted, 1) if is_wanted]

    with Index(path) as index:
        everything = list(range(1, 41))
        for text, expected in {
            "discontinuous(#n)": having(1, 99),
            "discontinuous(#n, all)": having(1, 99, None, True),
            "gap-degree(#n, 2, all)": having(2, 2, None, True),
            '#n:[cat="VP"] & discontinuous(#n, all)': having(1, 99, "VP", True),
            "gap-degree(#n, 2)": having(2, 2),
            "gap-degree(#n, 1, 2) & gap-degree(#n, 2, 9)": having(2, 2),
            "gap-degree(#n, 50, 60)": [],
            '#n:[cat="VP"] & gap-degree(#n, 1, 30)': having(1, 30, "VP"),
            '#n:[cat="VP"] & gap-degree(#n, 0, 3)': having(0, 99, "VP"),
            "gap-degree(#n, 0, 3)": everything,
            "!gap-degree(#n, 2)": everything,
            "continuous(#n)": everything,
        }.items():
            assert list(index.candidates(Query(text))) == expected, text
    assert 0 < len(having(2, 2)) < len(having(1, 99)) < len(having(1, 99, None, True)) < 40


def test_patterns_look_up_the_values_with_their_prefix(tmp_path):
    words = ["kona", "konungur", "konungs", "konunh", "konun", "þing", "þ\U0010ffff", "\U0010ffff", "k\ud7ff"]
    write_index([Tree((Token(word),), Node("S", [0])) for word in words], tmp_path / "words.dtindex")
    with Index(tmp_path / "words.dtindex") as index:
        assert index.values("word", "konung") == ["konungs", "konungur"]
        for pattern in ("konung.*", "kon(a|un)", "konungu?.*", "k.*", "þ.*", "\U0010ffff.*", "k\ud7ff.*", "kona|þing"):
            expected = [k for k, word in enumerate(words, 1) if re.fullmatch(pattern, word)]
            assert list(index.candidates(Query(f"[word=/{pattern}/]"))) == expected
        assert list(index.candidates(Query('[word=(/konung.*/|"kona")]'))) == [1, 2, 3]
        for text in ('[word="\ud800"]', "[word=/\ud800.*/]"):
            assert list(index.candidates(Query(text))) == []


def test_several_threads_read_one_index(trees, path):
    query = Query("#n:[NT] > #w:[T]")
    expected = sum(1 for _ in search(trees, query))
    with Index(path) as index, ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: sum(1 for _ in index.search(query)), range(8)))
        interrupted = index.trees()
        next(interrupted)
    assert counts == [expected] * 8
    with pytest.raises(TreebankError, match="the index is closed"):
        next(Index.candidates(index, Query('[word="a"]')))


def test_parts_of_an_index_have_their_lists_apart(trees, tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "SEGMENT_TREES", 7)
    monkeypatch.setattr(index_module, "WRITTEN_TREES", 10)
    write_index(trees, tmp_path / "parts.dtindex")
    write_index([], tmp_path / "empty.dtindex")
    with Index(tmp_path / "parts.dtindex") as index:
        for segment in range(1, len(index.segments) + 1):
            numbers = [k for label in index.values("cat") for k in index._postings(segment, "cat", label)]
            assert {(number - 1) // 7 + 1 for number in numbers} == {segment}
        expected = [k for k, tree in enumerate(trees, 1) if tree.find("NP")]
        assert list(index.candidates(Query('[cat="NP"]'))) == expected
        assert index.last == 40
    with Index(tmp_path / "empty.dtindex") as index:
        assert (index.last, list(index.search("[]"))) == (0, [])


def test_another_file_is_no_index(tmp_path):
    with pytest.raises(TreebankError, match="no such index"):
        Index(tmp_path / "none.dtindex")
    path = tmp_path / "text.dtindex"
    path.write_text("no database at all, but long enough to be one" * 30)
    with pytest.raises(TreebankError, match="not an index"):
        Index(path)
    sqlite3.connect(tmp_path / "other.dtindex").execute("CREATE TABLE a (b)")
    with pytest.raises(TreebankError, match="create one with discotree index"):
        Index(tmp_path / "other.dtindex")


def test_an_index_of_another_format_is_refused(path, tmp_path):
    """Formats 1 and 2 were SQLite files."""
    old, new = tmp_path / "old.dtindex", tmp_path / "new.dtindex"
    database = sqlite3.connect(old)
    database.executescript("PRAGMA application_id = 0x64747265; PRAGMA user_version = 2; CREATE TABLE trees (a, b)")
    database.close()
    with pytest.raises(TreebankError, match=r"\(format 2, .*create it again with discotree index"):
        Index(old)
    new.write_bytes(re.sub(rb"^discotree index [0-9]+", b"discotree index 99", path.read_bytes()))
    with pytest.raises(TreebankError, match="newer discotree"):
        Index(new)


def test_damaged_records_have_an_address(path, tmp_path):
    damaged = tmp_path / "damaged.dtindex"
    content = bytearray(path.read_bytes())
    with Index(path) as index:
        content[index._feature(1, "")[1][2] + 9] ^= 1
    damaged.write_bytes(content)
    with Index(damaged) as index:
        for read in (index.trees, index.views, lambda: index.search("[]")):
            with pytest.raises(TreebankError, match=r"damaged\.dtindex: tree 3 is damaged"):
                list(read())


def test_a_flipped_bit_is_an_error_or_changes_nothing(path, tmp_path):
    queries = ['#n:[cat="VP"] & discontinuous(#n)', "[word=/w1.*/]", '#n:[cat="NP"] > #w:[T]', '[word="nowhere"]']

    def results(name):
        with Index(name) as index:
            return [[(match.view.id, match.bindings) for match in index.search(query)] for query in queries]

    expected, whole = results(path), path.read_bytes()
    rng = random.Random(7)
    damaged = tmp_path / "damaged.dtindex"
    errors = 0
    for _ in range(150):
        place = rng.randrange(len(whole) * 8)
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        damaged.write_bytes(content)
        try:
            assert results(damaged) == expected, place
        except TreebankError:
            errors += 1
    assert 50 < errors < 150  # some bits are in trees that no query reads


def test_a_truncated_index_is_refused(path, tmp_path):
    whole = path.read_bytes()
    for size in (0, 1, 10, 20, 27, len(whole) // 2, len(whole) - 1):
        (tmp_path / "short.dtindex").write_bytes(whole[:size])
        with pytest.raises(TreebankError, match=r"not an index|is damaged; create it again with discotree index$"):
            Index(tmp_path / "short.dtindex")


@pytest.mark.parametrize(
    "record",
    [
        f'{BEGIN.replace("[0]", "[5]")}, [], "", null, []]',  # a parent that is not there
        '["1", ["a", "N", null, null, null], [0], ["R", "S", "T"], null, [1, 0], [], "", null, []]',  # a cycle
        '["1", ["a", "N", null, null, null], [0], ["R", "S", "T"], null, [-1, -1], [], "", null, []]',  # no words
        f'{BEGIN.replace("[0]", "[0.0]")}, [], "", null, []]',
        f'{BEGIN.replace("null, null, null", "null, null")}, [], "", null, []]',
        f'{BEGIN.replace("[0]", "[0, 0]")}, [], "", null, []]',  # two words, one form
        f'{BEGIN}, [["x", 0, 9]], "", null, []]',
        f'{BEGIN}, [["x", 0, 1e999]], "", null, []]',
        f"{BEGIN}, [], 5, null, []]",
        f'{BEGIN}, [], "", "high", []]',
        "[" * 100_000,
        "[" + "[]," * (1 << 24) + "[]]",  # 50 MB, which would take 1.5 GB
        '{"a": 1}',
    ],
    ids=range(13),
)
def test_a_hostile_record_is_refused_within_bounds(record, tmp_path):
    path = tmp_path / "hostile.dtindex"
    packed = zlib.compress(record.encode())
    write_batches([([packed], {})], path)
    with Index(path) as index:
        tracemalloc.start()
        try:
            with pytest.raises(TreebankError, match="tree 1 is damaged"):
                list(index.search("[]"))
            assert tracemalloc.get_traced_memory()[1] < 300_000_000
        finally:
            tracemalloc.stop()


TREES, SEGMENTS = 0, 2  # parts of a head


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *[(TREES, number) for number in (10**15, 10**40, 41 * 10**6, -1, 40.0, None)],
        *[(SEGMENTS, spans) for spans in ([], [[0, 10**30]], [[float("nan"), 3]], [["a", "b"]], 5, {})],
    ],
)
def test_a_hostile_head_is_refused(part, value, path, tmp_path):
    """The checksum of the head is right."""
    whole = path.read_bytes()
    start = int.from_bytes(whole[-OFFSET_BYTES:], "little")
    head = json.loads(whole[start + CHECKSUM_BYTES : -OFFSET_BYTES])

    def with_head(head):
        text = json.dumps(head).encode()
        hostile = tmp_path / "hostile.dtindex"
        hostile.write_bytes(whole[:start] + index_module._checksum(text, start) + text + whole[-OFFSET_BYTES:])
        return hostile

    with Index(with_head(head)) as index:
        assert len(list(index.search('#n:[cat="NP"] & root(#n)'))) >= 0
    head[part] = value
    with pytest.raises(TreebankError, match="damaged"), Index(with_head(head)) as index:
        list(index.search('[cat="NP"]'))


def with_junk(rng, content):
    """A copy of a JSON value in which one part is missing, is there twice or is something else."""
    if not (isinstance(content, list | dict) and content) or rng.random() < 0.1:
        return rng.choice(
            [None, True, -1, 5, 10**30, 1.5, float("nan"), float("inf"), "", "x", [], [[]], {"a": 1}, [1, 2]]
        )
    content = content.copy()
    place = rng.choice(list(content)) if isinstance(content, dict) else rng.randrange(len(content))
    if rng.random() < 0.2:
        del content[place]
    elif isinstance(content, list) and rng.random() < 0.2:
        content.insert(place, content[place])
    else:
        content[place] = with_junk(rng, content[place])
    return content


@pytest.mark.slow
def test_no_content_of_an_index_gives_another_error(trees, tmp_path, monkeypatch):
    """All checksums are right; what is stored may be anything."""
    rng = random.Random(4)
    encode = index_module._json
    path = tmp_path / "hostile.dtindex"
    errors = 0
    for _ in range(200):
        damaged, count = rng.randrange(30), iter(range(10**6))

        def write(content, damaged=damaged, count=count):
            raw = encode(content)
            return encode(with_junk(rng, json.loads(raw))) if next(count) == damaged else raw

        monkeypatch.setattr(index_module, "_json", write)
        write_index(trees[:15], path)
        for text in ('#n:[cat="NP"] & discontinuous(#n)', "gap-degree(#n, 1, 3)", "[word=/w1.*/]", "#n:[NT] >* #w:[T]"):
            try:
                with Index(path) as index:
                    assert all(row(match) for match in index.search(text))
            except TreebankError:
                errors += 1
    assert errors > 50


def test_a_tree_too_large_for_an_index_is_an_error(tmp_path):
    tree = Tree((Token("a"),), Node("S", [0]), "7", comment="x" * 9_000_000)
    with pytest.raises(TreebankError, match=r"sentence 7: 9,000,0.. bytes exceed the limit of 8,388,608"):
        write_index([tree], tmp_path / "large.dtindex")


def test_an_index_that_fails_leaves_nothing_behind(trees, tmp_path):
    def failing():
        yield trees[0]
        raise TreebankError("broken tree")

    with pytest.raises(TreebankError, match="broken tree"):
        write_index(failing(), tmp_path / "a.dtindex")
    assert list(tmp_path.iterdir()) == []
