"""The trees of a recipe: files, splits, ranges, tags, and what changes a checksum."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.networks import RULES, TREES
from support.tiny import TINY

from discotree import HeadRules, Token, TreebankError, to_dependencies, write
from discotree.config.recipes import load_recipe
from discotree.config.schema import Data, DataSource
from discotree.errors import ConfigError, DiscotreeError, HeadRuleError
from discotree.network.batch import IGNORED
from discotree.training.data import (
    SPLITS,
    checksums,
    corpus_of,
    format_tags,
    load_splits,
    matching,
    read_lemmas,
    read_tags,
    resolve,
)
from discotree.training.results import percentages
from discotree.training.run import build
from discotree.treebanks.reading import read_ids, select_ids
from discotree.trees.transforms import transform

BROKEN = "#BOS 99\nHund\t--\tNN\t--\t--\t777\n#EOS 99\n"


@pytest.fixture
def bank(tmp_path):
    """A treebank of twenty sentences, s1 to s20, and the settings that read it from a folder."""
    write(TREES, tmp_path / "all.export")
    rows = "".join(f"s{k}\t{'train' if k <= 12 else 'dev' if k <= 16 else 'test'}\n" for k in range(1, 21))
    (tmp_path / "splits.tsv").write_text("id\tsplit\n" + rows)
    everything = (DataSource("all.export"),)
    return Data(folder=str(tmp_path), train=everything, dev=everything, splits="splits.tsv")


def with_sources(data, *sources, **changes):
    return dataclasses.replace(data, train=tuple(sources), **changes)


def loaded(data):
    return load_splits(resolve(data))


def loaded_ids(data, split="train"):
    return [tree.id for tree in loaded(data)[split].trees]


def numbered(*numbers):
    return [f"s{k}" for k in numbers]


def message(data, error=TreebankError):
    with pytest.raises(error) as caught:
        loaded(data)
    return str(caught.value)


# Sources


def test_splits_hold_trees_and_their_encoding(bank):
    splits = loaded(bank)
    assert list(splits) == list(SPLITS)
    expected = [transform(tree, punctuation="move") for tree in TREES]
    assert splits["train"].trees == splits["dev"].trees == expected
    assert splits["train"].encoded == [to_dependencies(tree, RULES) for tree in expected]
    assert [len(split) for split in splits.values()] == [20, 20, 0]
    assert splits["train"].inputs == [list(map(Token, tree.words)) for tree in expected]
    assert splits["train"].skipped == 0


@pytest.mark.parametrize("punctuation", ["keep", "move", "remove", "root"])
@pytest.mark.parametrize("unaries", ["keep", "drop"])
def test_trees_are_transformed_as_the_recipe_says(bank, punctuation, unaries):
    split = loaded(dataclasses.replace(bank, punctuation=punctuation, unaries=unaries))["train"]
    assert split.trees == [transform(tree, punctuation=punctuation) for tree in TREES]
    assert split.encoded == [to_dependencies(tree, RULES, unaries) for tree in split.trees]


def test_head_rules_may_be_ours_or_a_file_of_the_treebank(bank, tmp_path):
    (tmp_path / "mine.headrules").write_text("S left-to-right NP PPER\n")
    mine = HeadRules.load(tmp_path / "mine.headrules")
    moved = [transform(tree, punctuation="move") for tree in TREES]
    split = loaded(dataclasses.replace(bank, heads="mine.headrules"))["train"]
    assert split.encoded == [to_dependencies(tree, mine) for tree in moved]
    marked = loaded(dataclasses.replace(bank, marked_heads=True, heads="mine.headrules"))["train"]
    rules = HeadRules.load(tmp_path / "mine.headrules", marked_first=True)
    assert marked.encoded == [to_dependencies(tree, rules) for tree in moved] != split.encoded
    assert "yours.headrules" in message(dataclasses.replace(bank, heads="yours.headrules"), HeadRuleError)


def test_a_split_is_what_the_table_says(bank):
    data = dataclasses.replace(bank, **{name: (DataSource("all.export", name),) for name in SPLITS})
    splits = loaded(data)
    assert [tree.id for tree in splits["train"].trees] == numbered(*range(1, 13))
    assert [tree.id for tree in splits["dev"].trees] == numbered(*range(13, 17))
    assert [tree.id for tree in splits["test"].trees] == numbered(*range(17, 21))


def test_a_source_may_have_a_table_of_its_own(bank, tmp_path):
    (tmp_path / "own.tsv").write_text("id\tsplit\ns3\ttrain\ns5\tdev\n")
    data = with_sources(bank, DataSource("all.export", "train", splits="own.tsv"), splits="")
    assert loaded_ids(data) == numbered(3)
    assert set(checksums(data, resolve(data))) == {"all.export", "own.tsv"}


def test_splits_that_lead_nowhere_are_named(bank, tmp_path):
    split = with_sources(bank, DataSource("all.export", "train"))
    assert "requires a table of splits; set data.splits" in message(dataclasses.replace(split, splits=""), ConfigError)
    assert "nothing.tsv: cannot be read" in message(dataclasses.replace(split, splits="nothing.tsv"))
    assert "no sentence belongs to the split 'trian'" in message(with_sources(bank, DataSource("all.export", "trian")))
    (tmp_path / "splits.tsv").write_text("id\tsplit\ns1\ttrain\ns99\ttrain\n")
    assert "1 of these ids are not in the treebank: s99" in message(split)


@pytest.mark.parametrize(
    ("sentences", "numbers"),
    [
        ("1-20", range(1, 21)),
        ("3", [3]),
        ("18-", [18, 19, 20]),
        ("2-4, 7,19-", [2, 3, 4, 7, 19, 20]),
        ("5-5", [5]),
        ("4-6,5-8,6", [4, 5, 6, 7, 8]),
        ("20-", [20]),
    ],
)
def test_sentences_are_selected_by_number(bank, sentences, numbers):
    assert loaded_ids(with_sources(bank, DataSource("all.export", sentences=sentences))) == numbered(*numbers)


@pytest.mark.parametrize("sentences", ["x", "1-2-3", "-5", "1,", "1.5", "0", "0-3", "5-3", "²", "1- 3"])
def test_ranges_that_make_no_sense_are_named(bank, sentences):
    complaint = message(with_sources(bank, DataSource("all.export", sentences=sentences)), ConfigError)
    assert "all.export: sentences: expected a" in complaint


@pytest.mark.parametrize("sentences", ["21", "18-21", "1-3,99-"])
def test_ranges_that_lead_nowhere_are_named(bank, sentences):
    complaint = message(with_sources(bank, DataSource("all.export", sentences=sentences)))
    assert "sentences, got 20" in complaint


def test_a_range_and_a_split_both_count(bank):
    source = DataSource("all.export", "dev", "13-16")
    assert loaded_ids(with_sources(bank, source)) == numbered(13, 14, 15, 16)


def test_sources_follow_one_another_and_may_be_patterns(bank, tmp_path):
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    for k, name in enumerate(("parts/b.export", "parts/a.export", "parts/deep/c.export")):
        write(TREES[3 * k : 3 * k + 3], tmp_path / name)
    single = DataSource("all.export", sentences="20")
    assert loaded_ids(with_sources(bank, single, DataSource("parts/*.export"))) == numbered(20, 4, 5, 6, 1, 2, 3)
    assert loaded_ids(with_sources(bank, DataSource("parts/**/*.export"))) == numbered(4, 5, 6, 1, 2, 3, 7, 8, 9)
    folder = loaded_ids(with_sources(bank, DataSource("parts")))
    assert len(folder) == 9
    assert [path.name for path in matching(str(tmp_path / "parts/[ab].export"))] == ["a.export", "b.export"]


def test_the_format_may_be_named(bank, tmp_path):
    write(TREES[:3], tmp_path / "trees.txt", "discbracket")
    split = loaded(with_sources(bank, DataSource("trees.txt", format="discbracket")))["train"]
    assert [tree.words for tree in split.trees] == [tree.words for tree in TREES[:3]]
    assert "unknown format 'discobracket'" in message(
        with_sources(bank, DataSource("trees.txt", format="discobracket")), ConfigError
    )


def test_broken_trees_stop_unless_they_are_skipped_and_counted(bank, tmp_path):
    whole = (tmp_path / "all.export").read_text("utf-8")
    (tmp_path / "broken.export").write_text(whole.replace("#BOS s3", BROKEN + "#BOS s3", 1), "utf-8")
    assert "broken.export:" in message(with_sources(bank, DataSource("broken.export")))
    split = loaded(with_sources(bank, DataSource("broken.export", skip_broken=True)))["train"]
    assert (len(split), split.skipped) == (20, 1)
    # A broken tree counts, so ranges mean the same whether it can be read or not.
    few = loaded(with_sources(bank, DataSource("broken.export", sentences="2-4", skip_broken=True)))["train"]
    assert ([tree.id for tree in few.trees], few.skipped) == (numbered(2, 3), 1)
    others = loaded(with_sources(bank, DataSource("broken.export", sentences="10-", skip_broken=True)))["train"]
    assert others.skipped == 0


def test_sentences_that_stand_in_dev_or_test_can_be_dropped_from_training(bank):
    data = dataclasses.replace(
        bank, dev=(DataSource("all.export", sentences="1-2"),), test=(DataSource("all.export", sentences="5"),)
    )
    assert len(loaded(data)["train"]) == 20
    dropped = loaded(dataclasses.replace(data, drop_repeats=True))
    assert [tree.id for tree in dropped["train"].trees] == numbered(3, 4, *range(6, 21))
    assert len(dropped["train"].encoded) == 17
    assert [len(dropped[name]) for name in ("dev", "test")] == [2, 1]
    overlapping = dataclasses.replace(data, dev=(DataSource("all.export", sentences="4-6"),), drop_repeats=True)
    assert loaded_ids(overlapping, "dev") == numbered(4, 6)  # test keeps what dev has, too
    assert loaded_ids(overlapping, "test") == numbered(5)
    assert loaded_ids(overlapping) == numbered(1, 2, 3, *range(7, 21))
    everything = dataclasses.replace(bank, drop_repeats=True)
    assert message(everything) == "no train trees found"


def test_a_recipe_without_trees_is_refused(bank):
    for name in ("train", "dev"):
        assert "data.train and data.dev" in message(dataclasses.replace(bank, **{name: ()}), ConfigError)
    assert loaded(dataclasses.replace(bank, test=()))["test"].trees == []


# Folders


def test_the_folder_is_that_of_the_recipe_or_of_the_environment_or_this_one(bank, tmp_path, monkeypatch):
    homeless = dataclasses.replace(bank, folder="")
    monkeypatch.delenv("DISCOTREE_DATA", raising=False)
    monkeypatch.chdir(tmp_path.parent)
    complaint = message(homeless)
    assert "all.export: no such file" in complaint
    assert "data.folder" in complaint
    assert "DISCOTREE_DATA" in complaint
    monkeypatch.setenv("DISCOTREE_DATA", str(tmp_path))
    assert len(loaded(homeless)["train"]) == 20
    monkeypatch.setenv("DISCOTREE_DATA", "/nowhere")
    assert len(loaded(bank)["train"]) == 20  # the recipe's own folder comes first
    absolute = DataSource(str(tmp_path / "all.export"))
    assert len(loaded(with_sources(homeless, absolute, dev=(absolute,)))["train"]) == 20
    monkeypatch.delenv("DISCOTREE_DATA")
    monkeypatch.chdir(tmp_path)
    assert resolve(homeless).train[0].file == str(tmp_path / "all.export")
    assert len(loaded(homeless)["train"]) == 20


def test_every_path_is_resolved_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("beside.tsv", "rules.headrules", "bank/trees.export", "bank/splits.tsv", "bank/v.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    source = DataSource("trees.export", "train", splits="splits.tsv")
    data = Data("bank", "beside.tsv", (source,), (), (source,), heads="rules.headrules", vectors="v.txt")
    found = resolve(data)
    assert found.train == found.test
    assert found.train[0].file == str(tmp_path / "bank/trees.export")
    assert found.train[0].splits == str(tmp_path / "bank/splits.tsv")
    assert (found.splits, found.heads) == (str(tmp_path / "beside.tsv"), str(tmp_path / "rules.headrules"))
    assert (found.vectors, found.predicted_tags) == (str(tmp_path / "bank/v.txt"), "")
    assert resolve(found) == found
    assert resolve(Data(heads="negra")).heads == "negra"
    monkeypatch.chdir("/")
    assert resolve(found) == found
    with pytest.raises(ConfigError, match="a data source without a file"):
        resolve(Data(train=(DataSource(""),)))


# Predicted tags


@pytest.fixture
def tagged(bank, tmp_path):
    rows = [(tree.id, [f"{token.tag}?" for token in tree.tokens]) for tree in TREES]
    (tmp_path / "tags.tsv").write_text(format_tags(rows), "utf-8")
    return dataclasses.replace(bank, tags="predicted", predicted_tags="tags.tsv")


def test_tags_are_gold_ones_predicted_ones_or_none(bank, tagged):
    gold = loaded(dataclasses.replace(bank, tags="gold"))
    assert gold["dev"].inputs == [[Token(token.form, token.tag) for token in tree.tokens] for tree in TREES]
    predicted = loaded(tagged)
    assert predicted["dev"].inputs == [[Token(token.form, f"{token.tag}?") for token in tree.tokens] for tree in TREES]
    without = loaded(dataclasses.replace(tagged, tags="none"))
    assert without["dev"].inputs == [[Token(word) for word in tree.words] for tree in TREES]


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda text: text.replace("s7\t", "s77\t"), "no tags for sentence 's7', expected 1"),
        (lambda text: text.replace("s7\tNN?", "s7\tNN? NN?"), "2 tags for sentence 's7', expected 1"),
        (lambda text: text + "s1\tNN\n", "tags.tsv:21: the sentence 's1' occurs twice"),
        (lambda text: text.replace("s3\t", "s3 "), "tags.tsv:3: expected an id, a tab and tags"),
        (lambda text: text + "\n", "tags.tsv:21: expected an id, a tab and tags"),
        (lambda _: "", "expected an id, a tab and tags"),
    ],
)
def test_tags_that_do_not_fit_are_named(tagged, tmp_path, edit, complaint):
    path = tmp_path / "tags.tsv"
    path.write_text(edit(path.read_text("utf-8")), "utf-8")
    assert complaint in message(tagged)


def test_a_missing_file_of_tags_is_refused_with_the_command_that_writes_it(tagged, tmp_path):
    (tmp_path / "tags.tsv").unlink()
    assert "with `discotree train --predict-tags`" in message(tagged)
    (tmp_path / "tags.tsv").write_bytes(b"\xff\xff")
    assert "with `discotree train --predict-tags`" in message(tagged)
    assert "data.predicted_tags" in message(dataclasses.replace(tagged, predicted_tags=""), ConfigError)


word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(st.dictionaries(word, st.lists(word, min_size=1, max_size=4), max_size=4))
def test_tags_come_back_from_their_file_or_are_refused(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any-tags.tsv"
    white = any(tag.split() != [tag] for tags in rows.values() for tag in tags)
    if white or any(set("\t\r\n") & set(id) for id in rows):
        with pytest.raises(TreebankError, match="cannot write the tags of"):
            format_tags(rows.items())
    elif rows:
        path.write_text(format_tags(rows.items()), "utf-8", newline="")
        assert read_tags(path) == rows


# Splits


def test_ids_may_be_a_list_or_a_table(tmp_path):
    path = tmp_path / "ids"
    path.write_text("s1\n\n s2 \ns1\n", "utf-8")
    assert read_ids(str(path), None) == {"s1", "s2"}
    path.write_text("\ufeffline\tid\tsplit\n1\ts1\ttrain\n2\ts2\tdev\n3\ts3\n", "utf-8")
    assert read_ids(str(path), None) == {"s1", "s2", "s3"}
    assert read_ids(str(path), "dev") == {"s2"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "the file contains no ids"),
        ("s1\ns2\n", ":1: a split needs a first line with the columns id and split"),
        ("\n\nid\tpart\ns1\tdev\n", ":3: a split needs a column named split"),
        ("split\tid\n\ndev\ts1\n\ndev\n", ":5: the line has no id"),
        ("id\tsplit\ns1\ttrain\n", "no sentence belongs to the split 'dev'"),
    ],
)
def test_tables_that_make_no_sense_are_named_with_their_line(tmp_path, content, complaint):
    path = tmp_path / "ids"
    path.write_text(content, "utf-8")
    with pytest.raises(TreebankError) as caught:
        read_ids(str(path), "dev")
    assert str(caught.value).startswith(str(path))
    assert complaint in str(caught.value)


def test_selected_trees_keep_their_order():
    assert list(select_ids(TREES, {"s5", "s2"}, "ids")) == [TREES[1], TREES[4]]
    with pytest.raises(TreebankError, match=r"ids: 2 of these ids are not in the treebank: a, b"):
        list(select_ids(TREES, {"b", "s1", "a"}, "ids"))


# Checksums


def test_checksums_name_every_file_that_is_read(bank, tagged, tmp_path):
    assert set(checksums(bank, resolve(bank))) == {"all.export"}
    split = with_sources(bank, DataSource("all.export", "train"))
    assert set(checksums(split, resolve(split))) == {"all.export", "splits.tsv"}
    assert set(checksums(tagged, resolve(tagged))) == {"all.export", "tags.tsv"}
    (tmp_path / "mine.headrules").write_text("S left-to-right NP\n")
    (tmp_path / "vectors.txt").write_text("1 1\na 0.5\n")
    more = dataclasses.replace(bank, heads="mine.headrules", vectors="vectors.txt")
    assert set(checksums(more, resolve(more))) == {"all.export", "mine.headrules", "vectors.txt"}


def test_files_that_are_not_read_need_not_be_there(bank):
    data = dataclasses.replace(bank, splits="nothing.tsv", predicted_tags="nothing.tags")
    assert checksums(data, resolve(data)) == checksums(bank, resolve(bank))
    with pytest.raises(DiscotreeError, match=r"nothing.tags: no such file"):
        checksums(tagged := dataclasses.replace(data, tags="predicted"), resolve(tagged))


def test_checksums_change_with_the_files_and_only_then(bank, tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("a.export", "b.export"):
        write(TREES[:2], tmp_path / "folder" / name)
    data = with_sources(bank, DataSource("folder"), DataSource("folder/*.export"), DataSource("all.export", "train"))
    before = checksums(data, resolve(data))
    assert checksums(data, resolve(data)) == before
    assert all(len(value) == 64 for value in before.values())
    (tmp_path / "folder" / "b.export").write_text("other", "utf-8")
    after = checksums(data, resolve(data))
    assert {name for name in before if before[name] != after[name]} == {"folder", "folder/*.export"}
    (tmp_path / "splits.tsv").write_text("id\tsplit\ns1\ttrain\n")
    assert {name for name in before if after[name] != checksums(data, resolve(data))[name]} == {"splits.tsv"}


# What a source says about its sentences


def test_a_source_may_repeat_its_sentences_and_its_words_still_count_once(bank):
    few, many = DataSource("all.export", sentences="1-2"), DataSource("all.export", sentences="3-4", repeat=3)
    splits = loaded(with_sources(bank, few, many))
    assert [tree.id for tree in splits["train"].trees] == numbered(1, 2, 3, 4)
    parser = build(load_recipe("alpino", TINY), splits)
    corpus = corpus_of(splits["train"], parser._forms(), has_tags=False)
    lengths = [len(tree.tokens) for tree in splits["train"].trees]
    assert corpus.lengths.tolist() == [*lengths[:2], *[lengths[2]] * 3, *[lengths[3]] * 3]
    plain = build(load_recipe("alpino", TINY), loaded(with_sources(bank, few, dataclasses.replace(many, repeat=1))))
    assert parser.vocab.singletons == plain.vocab.singletons


def test_repeating_is_for_training(bank):
    repeated = (DataSource("all.export", repeat=2),)
    for name in ("dev", "test"):
        data = dataclasses.replace(bank, **{name: repeated})
        assert f"data.{name}: repeat can only be used in data.train" in message(data, ConfigError)
    with pytest.raises(ConfigError, match="repeat: expected at least 1"):
        DataSource("all.export", repeat=0)


def test_annotation_that_a_source_ignores_is_neither_learned_nor_scored(bank):
    foreign = [dataclasses.replace(tree, tokens=[t._replace(tag=f"x{t.tag}") for t in tree.tokens]) for tree in TREES]
    write(foreign, f"{bank.folder}/foreign.export")
    own, other = (
        DataSource("all.export", sentences="1-5"),
        DataSource("foreign.export", sentences="6-9", ignore=("tag",)),
    )
    splits = loaded(with_sources(bank, own, other, dev=(own, other), tags="gold"))
    parser = build(load_recipe("alpino", [*TINY, "data.tags=gold"]), splits)
    assert not any(tag.startswith("x") for tag in parser.vocab.outputs["tag"].symbols)
    assert not any(tag.startswith("x") for tag in parser.vocab.tags.symbols)
    assert not any(" x" in pair for pair in parser.vocab.head_functions)
    corpus = corpus_of(splits["dev"], parser._forms(), has_tags=True)
    words = sum(len(tree.tokens) for tree in splits["dev"].trees[:5])
    assert (corpus.gold["tag"][:words] != IGNORED).all()
    assert (corpus.gold["tag"][words:] == IGNORED).all()
    assert (corpus.gold["function"] != IGNORED).any()
    right = {"tag": np.array([len(tree.tokens) for tree in splits["dev"].trees[:5]] + [0] * 4)}
    assert percentages(corpus, right, np.arange(9)) == {"tag": 100.0}
    assert percentages(corpus, right, np.arange(5, 9)) == {}


def test_an_auxiliary_head_that_every_source_ignores_is_refused(bank):
    splits = loaded(with_sources(bank, DataSource("all.export", ignore=("morph",))))
    with pytest.raises(ConfigError, match=r"every training source ignores 'morph'; set network.morph_weight=0"):
        build(load_recipe("alpino", TINY), splits)


def test_words_of_mark_up_are_left_out_and_so_are_sentences_of_nothing_else(bank, tmp_path):
    (tmp_path / "m.mrg").write_text("((S (NP (PRP I)) (VP (VBP go) (NP (CODE <x>))) (SU /)))\n((CODE <p>))\n((NN b))\n")
    split = loaded(with_sources(bank, DataSource("m.mrg", drop_tags=("CODE", "SU")), heads="ptb"))["train"]
    assert [str(tree) for tree in split.trees] == ["(ROOT (S (NP (PRP 0=I)) (VP (VBP 1=go))))", "(ROOT (NN 0=b))"]
    assert len(split.sources) == 2


def test_sentences_of_named_sources_are_found(bank):
    one, other = DataSource("all.export", sentences="1-3", name="A"), DataSource("all.export", sentences="7", name="B")
    split = loaded(with_sources(bank, one, DataSource("all.export", sentences="4"), other, one))["train"]
    assert split.by_source_name() == {"A": [0, 1, 2, 5, 6, 7], "B": [4]}


def test_trees_are_converted_source_by_source(bank, tmp_path):
    (tmp_path / "g.mrg").write_text("((NP (DT the) (NP (NN Tax) (NN gene))))\n")
    sources = DataSource("g.mrg"), DataSource("g.mrg", scheme="genia")
    native, converted = loaded(with_sources(bank, *sources, heads="ptb"))["train"].trees
    assert len(list(native.nodes())) == 3
    assert len(list(converted.nodes())) == 2


def test_a_table_gives_lemmas_to_a_treebank(bank, tmp_path):
    (tmp_path / "words.tsv").write_text("Hund\tNN\tHund Hunde\nhaben\tVAFIN\that\nder\tART\tden\n", "utf-8")
    split = loaded(with_sources(bank, DataSource("all.export", lemmas="words.tsv", sentences="2")))["train"]
    words = ["Den", "Hund", "hat", "er", "gesehen", "."]
    assert split.trees[0].words == tuple(words)
    assert [token.lemma for token in split.trees[0].tokens] == ["der", "Hund", "haben", None, None, None]
    assert split.lexicon() == [
        ("Hund", "NN", "Hund"), ("Hunde", "NN", "Hund"), ("hat", "VAFIN", "haben"), ("den", "ART", "der"),
    ]  # fmt: skip
    data = with_sources(bank, DataSource("all.export", lemmas="words.tsv"))
    assert "words.tsv" in checksums(data, resolve(data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Hund NN Hunde\n", "words.tsv:1: expected a lemma, a tag and forms, separated by tabs"),
        ("a\tN\tx\nb\tN\tx y\n", "words.tsv:2: 'x' with the tag 'N' has another lemma above"),
        (None, "the table of lemmas cannot be read"),
    ],
)
def test_a_broken_table_of_lemmas_is_an_error(bank, tmp_path, text, message):
    if text is not None:
        (tmp_path / "words.tsv").write_text(text, "utf-8")
    with pytest.raises(TreebankError, match=message):
        loaded(with_sources(bank, DataSource("all.export", lemmas="words.tsv")))


def test_the_german_recipes_have_lemmas():
    for name in ("german", "german-free"):
        data = load_recipe(name).data
        sources = [source for source in (*data.train, *data.dev, *data.test) if "everyday" not in source.file]
        assert {source.lemmas for source in sources} == {"lemmas/de.tsv"}
    table = read_lemmas(resolve(data).train[0].lemmas)
    assert (table["gibt", "VVFIN"], table["Häuser", "NN"]) == ("geben", "Haus")
