"""Every recipe reads its treebank in the format and folders in which it is distributed."""

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.layouts import LAYOUTS, NEGRA, TIGER, WSJ, negra, put
from support.tiny import TINY
from support.treebanks import many_objects

from discotree import Tree, read
from discotree.config.recipes import PRESETS, RECIPES, SCENARIOS, load_recipe, recipe_names, recipe_path
from discotree.config.schema import Config, Data, DataSource
from discotree.errors import ConfigError, TreebankError
from discotree.training.data import (
    SPLITS,
    Split,
    checksums,
    format_tags,
    load_splits,
    matching,
    read_splits,
    resolve,
    select_numbers,
    words_of,
)
from discotree.training.run import build, train, with_vectors

RANGES = {  # in the small files, in place of the real ones
    "negra": {"train": "1-5", "test": "6-7", "dev": "8-9"},
    "tiger": {"train": "1-2", "dev": "3-4", "test": "5-6"},
}
RANGES |= {f"{name}-bert": RANGES[name] for name in ("negra", "tiger")}


def prepared(name: str, data: Path, folder: Path, settings: list[str] | None = None, **choice: str) -> Config:
    """Return the recipe, with a small treebank in the folder that it reads."""
    LAYOUTS[name](data, folder)
    config = load_recipe(name, [f"data.folder={folder}", *(settings or [])], **choice)
    small = {split: tuple(smaller(name, config.data, split)) for split in SPLITS}
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **small, drop_repeats=False))


def smaller(name: str, data: Data, split: str) -> Iterator[DataSource]:
    """Yield the sources of a split with small ranges: the last two sentences are dev and test."""
    for source in getattr(data, split):
        if is_bundled(source):
            source = dataclasses.replace(source, sentences="1-20")  # another test reads all of them
        elif source.sentences:
            (found,) = resolve(dataclasses.replace(data, train=(source,))).train
            n = sum(1 for path in matching(found.file) for _ in read(path))
            usual = {"train": f"1-{n - 2}", "dev": f"{n - 1}", "test": f"{n}"}
            source = dataclasses.replace(source, sentences=RANGES.get(name, usual)[split])
        yield source


def loaded(data: Data) -> dict[str, Split]:
    return load_splits(resolve(data))


def ids(split: Split) -> list[str]:
    return [tree.id for tree in split.trees]


def is_bundled(source: DataSource) -> bool:
    """Return whether a source consists of the everyday trees, which come with the recipes."""
    return Path(source.file).parent.name == "everyday"


def test_every_recipe_is_tested() -> None:
    assert recipe_names() == sorted(LAYOUTS)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_recipe_reads_its_treebank(name: str, data: Path, tmp_path: Path) -> None:
    splits = loaded(prepared(name, data, tmp_path).data)
    for split in SPLITS:
        assert len(splits[split]) > 0
        assert len(splits[split].encoded) == len(splits[split])
    everything = [id for split in SPLITS for id in ids(splits[split])]
    assert len(set(everything)) == len(everything)  # predicted tags are found by id


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_recipe_says_where_its_treebank_comes_from_and_how_it_is_used(name: str) -> None:
    header = (RECIPES / f"{name}.toml").read_text("utf-8").partition("[data]")[0]
    assert "http" in header
    assert re.search("[Ll]icence", header)
    assert "data.folder" in header
    assert f"discotree train {name}" in header or f"--recipe {name}" in header


def test_negra_is_latin_1(data: Path, tmp_path: Path) -> None:
    splits = loaded(prepared("negra", data, tmp_path).data)
    assert ids(splits["train"]) == ["1", "2", "3", "4", "5"]
    assert (ids(splits["test"]), ids(splits["dev"])) == (["6", "7"], ["8", "9"])
    assert splits["train"].trees[0].words[:2] == ("Über", "Bücher")


def test_tiger_and_its_spmrl_files_have_the_ids_of_the_treebank(data: Path, tmp_path: Path) -> None:
    splits = loaded(prepared("tiger", data, tmp_path).data)
    assert [ids(splits[split]) for split in SPLITS] == [["s1", "s2"], ["s3", "s4"], ["s5", "s6"]]
    splits = loaded(prepared("tiger-spmrl", data, tmp_path).data)
    assert [ids(splits[split]) for split in SPLITS] == [["s1", "s2"], ["s40475", "s40476"], ["s45475", "s45476"]]
    assert splits["dev"].trees[0].words[1] == "Dafür"


def test_a_node_of_tiger_with_two_parents_that_cannot_be_read_keeps_its_number(data: Path, tmp_path: Path) -> None:
    config = prepared("tiger", data, tmp_path)
    path = tmp_path / TIGER
    text = path.read_bytes()
    again = b'<edge label="SB" idref="s3_3" />'
    path.write_bytes(text.replace(b'<edge label="SB" idref="s3_4" />', again))
    splits = loaded(config.data)
    assert [ids(splits[split]) for split in SPLITS] == [["s1", "s2"], ["s4"], ["s5", "s6"]]
    assert [splits[split].skipped for split in SPLITS] == [0, 1, 0]


def test_the_penn_treebank_is_split_by_sections(data: Path, tmp_path: Path) -> None:
    config = prepared("dptb", data, tmp_path)
    splits = loaded(config.data)
    sections = {split: sorted({id[4:6] for id in ids(splits[split])}) for split in SPLITS}
    assert sections == {"train": [f"{section:02}" for section in range(2, 22)], "dev": ["22"], "test": ["23"]}
    assert ids(splits["dev"])[:2] == ["wsj_2200/1", "wsj_2200/2"]
    assert splits["train"].trees[0].is_discontinuous
    before = checksums(config.data, resolve(config.data))
    put(tmp_path / WSJ.format("02", 3), b"( (S (NP (NN Rain)) (VP (VBD fell))) )")
    after = checksums(config.data, resolve(config.data))
    assert [name for name in before if before[name] != after[name]] == ["treebank_3/parsed/mrg/wsj/0[2-9]"]


# The real treebanks

TABLES = {  # recipes that are not here have the ranges of those that are: see the test of ranges below
    "alpino": ["alpino_cdb"],
    "english": ["craft", "genia", "masc"],
    "icelandic": ["icepahc", "farpahc"],
    "german-free": ["squoia_de"],
    "mcvf-ppchf": ["mcvf_ppchf"],
    "ref-mercurius": ["ref_mercurius_low"],
    "squoia-es": ["squoia_es"],
    **{name: [name] for name in ("masc", "n1904", "pcc", "ppchy")},
}
SPEAKERS = {  # sentences of plays that begin with the name of the speaker
    *[f"1697e-purim/1697E-PURIM,{n}" for n in ("320.401", "321.403", "361.451", "362.453", "379.504", "395.499")],
    *[f"1697e-purim/1697E-PURIM,{n}" for n in ("396.502", "607.830")],
    *[f"1798w-diskurs/1798W-DISKURS,{n}" for n in ("164.25", "164.26", "164.30", "164.35")],
}
# Training sentences that are left out, because they occur word for word in dev or test: three of MASC without mark-up,
# one of FarPaHC in IcePaHC's. Or because of their speakers.
REPEATED = {
    "english": {"Day3PMSession/197", "ReidSandra/164", "ReidSandra/168"},
    "masc": {"Day3PMSession/197", "ReidSandra/164", "ReidSandra/168"},
    "icelandic": {"1928.ntacts.rel-bib/1928.NTACTS.REL-BIB,.825"},
    "ppchy": SPEAKERS,
}
needs_treebanks = pytest.mark.skipif(
    "DISCOTREE_DATA" not in os.environ, reason="DISCOTREE_DATA names no folder of treebanks"
)


def published(table: str, split: str) -> list[str]:
    lines = Path(os.environ["DISCOTREE_SPLITS"], f"{table}.tsv").read_text("utf-8").splitlines()[1:]
    return [id for _, id, own in (line.split("\t") for line in lines) if own == split]


def one_by_one(names: Iterable[str]) -> pytest.MarkDecorator:
    """Run a test for these recipes; all tests of one recipe go to one process, which reads its treebanks once."""
    slow = {"mcvf-ppchf": [pytest.mark.slow]}  # 102,496 trees
    params = [
        pytest.param(name, marks=[pytest.mark.xdist_group(f"recipe {name}"), *slow.get(name, [])]) for name in names
    ]
    return pytest.mark.parametrize("real", params, indirect=True)


def read_unchanged(name: str) -> dict[str, Split]:
    """Return the splits of a recipe without conversions, which keep ids and words and take longer than reading."""
    data = resolve(load_recipe(name).data)
    plain = {split: tuple(dataclasses.replace(s, scheme="") for s in getattr(data, split)) for split in SPLITS}
    with many_objects():
        return read_splits(dataclasses.replace(data, punctuation="keep", **plain))


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> tuple[str, dict[str, Split]]:
    """A recipe and the splits of its real treebanks."""
    return request.param, read_unchanged(request.param)


@pytest.mark.data
@needs_treebanks
@one_by_one(TABLES)
def test_a_recipe_splits_its_treebank_as_published(real: tuple[str, dict[str, Split]]) -> None:
    name, splits = real
    for split in SPLITS:
        dropped = REPEATED.get(name, set()) if split == "train" else set()
        expected = [id for table in TABLES[name] for id in published(table, split) if id not in dropped]
        found = zip(splits[split].trees, splits[split].sources, strict=True)
        assert [tree.id for tree, source in found if not is_bundled(source)] == expected
        assert len(set(expected)) == len(expected)


@pytest.mark.data
@needs_treebanks
def test_the_new_sub_corpora_of_alpino_are_used_as_published() -> None:
    splits = read_unchanged("alpino-all")
    train = [id for id in ids(splits["train"]) if id.split("/")[0] in ("eans", "paco-test", "qtleap1q")]
    assert train == published("alpino_more", "train")


@pytest.mark.data
@needs_treebanks
@one_by_one(["english", "german", "icelandic"])
def test_no_training_sentence_of_one_treebank_stands_in_dev_or_test_of_another(
    real: tuple[str, dict[str, Split]],
) -> None:
    """Compared without case, punctuation and tokenisation."""
    name, splits = real

    def bare(tree: Tree) -> str:
        return re.sub(r"[\W_]", "", "".join(tree.words)).casefold()

    def treebank(source: DataSource) -> str:
        return Path(source.file.replace("genia_no_rnr", "genia")).parts[-2]

    scored: dict[str, set[str]] = {}
    for split in ("dev", "test"):
        for tree, source in zip(splits[split].trees, splits[split].sources, strict=True):
            scored.setdefault(bare(tree), set()).add(treebank(source))
    train = zip(splits["train"].trees, splits["train"].sources, strict=True)
    found = [tree.id for tree, source in train if scored.get(bare(tree), set()) - {treebank(source)}]
    # "og bundu hann ," is Icelandic and Faroese, and a verse of the Bible in both
    assert found == (["1859.hugvekjur.rel-ser/1859.HUGVEKJUR.REL-SER,.504"] if name == "icelandic" else [])


@pytest.mark.parametrize("name", ["english", "german", "german-free", "icelandic"])
def test_recipes_of_several_treebanks_have_the_ranges_of_the_single_ones(name: str) -> None:
    singles = ["craft", "genia", "masc", "pcc", "squoia-de", "icepahc", "farpahc"]
    own = {(source.file, split): source for one in singles for split, source in sources(one)}
    for split, source in [pair for pair in sources(name) if not is_bundled(pair[1])]:
        original = own[source.file.replace("genia_no_rnr", "genia"), split]
        expected = dataclasses.replace(original, file=source.file)  # all but what is for training and reports
        same = {"name": "", "scheme": "", "repeat": 1, "ignore": (), "lemmas": ""}
        assert dataclasses.replace(source, **same) == dataclasses.replace(expected, **same)


def sources(name: str) -> Iterator[tuple[str, DataSource]]:
    data = load_recipe(name).data
    return ((split, source) for split in SPLITS for source in getattr(data, split))


@pytest.mark.parametrize("name", recipe_names())
def test_trees_are_converted_for_training_alone(name: str) -> None:
    """Scores on converted trees cannot be compared. The exception measures how well TIGER's scheme is learned."""
    if name not in ("german-free", "de-free-large", "de-small"):
        assert [split for split, source in sources(name) if source.scheme and split != "train"] == []


SLOW_RECIPES = [pytest.param(name, marks=pytest.mark.slow) for name in ("english", "alpino-all")]


@pytest.mark.parametrize("name", ["icelandic", "masc", *SLOW_RECIPES])
def test_a_recipe_with_new_options_trains_and_reports_every_treebank(name: str, data: Path, tmp_path: Path) -> None:
    config = prepared(name, data, tmp_path, TINY)
    results = train(config, tmp_path / "run", allow_overlap=True)  # there are only a few trees
    for split in ("dev", "test"):
        named = [source.name for source in getattr(config.data, split) if source.name]
        scores = results["scores"][split]
        assert list(scores.get("sources", {})) == named
        assert dict.fromkeys(named, 1) == results["data"]["sources"].get(split, {})
    assert all(math.isfinite(epoch["loss"]) for epoch in results["history"])


@pytest.mark.slow
def test_all_of_negra_is_used_as_the_standard_split_says(tmp_path: Path) -> None:
    sentence = b"#BOS %d 0 898511055 0\nWort\t\t\tNN\t--\t\tHD\t500\n#500\t\t\tNP\t--\t\t--\t0\n#EOS %d\n"
    words = b"".join(sentence % (number, number) for number in range(1, 20603))
    put(tmp_path / NEGRA, b"#FORMAT 3\n" + words)
    data = load_recipe("negra", [f"data.folder={tmp_path}"]).data
    splits = loaded(data)
    found = {name: (len(split), split.trees[0].id, split.trees[-1].id) for name, split in splits.items()}
    assert found == {
        "train": (18602, "1", "18602"),
        "test": (1000, "18603", "19602"),
        "dev": (1000, "19603", "20602"),
    }
    put(tmp_path / NEGRA, b"#FORMAT 3\n" + words[: words.index(b"#BOS 10001 ")])
    with pytest.raises(TreebankError, match=r"expected at least 18,602 sentences, got 10,000"):
        loaded(data)


def test_the_other_split_of_negra_can_be_had(data: Path, tmp_path: Path) -> None:
    """The recipe's comment shows the settings; here they have small numbers."""
    negra(data, tmp_path)
    header = (RECIPES / "negra.toml").read_text("utf-8")
    given = re.findall(r"--set '(data\.\w+=\[.*\])'", header)
    assert given == [
        'data.dev=[{file="negra/negra-corpus.export", sentences="18603-19602"}]',
        'data.test=[{file="negra/negra-corpus.export", sentences="19603-20602"}]',
    ]
    small = [text.replace("18603-19602", "6-7").replace("19603-20602", "8-") for text in given]
    train = 'data.train=[{file="negra/negra-corpus.export", sentences="1-5"}]'
    splits = loaded(load_recipe("negra", [f"data.folder={tmp_path}", train, *small]).data)
    assert (ids(splits["dev"]), ids(splits["test"])) == (["6", "7"], ["8", "9"])


def test_all_of_tiger_is_used_as_the_shared_task_says() -> None:
    config = load_recipe("tiger").data
    sentences: list = list(range(1, 50473))
    splits = {split: select_numbers(sentences, getattr(config, split)[0]) for split in SPLITS}
    assert {split: (len(found), found[0], found[-1]) for split, found in splits.items()} == {
        "train": (40472, 1, 40472),
        "dev": (5000, 40473, 45472),
        "test": (5000, 45473, 50472),
    }


def test_a_range_may_be_open_and_must_lead_somewhere() -> None:
    trees: list = list(range(1, 11))
    assert select_numbers(trees, DataSource("x", sentences="1-3, 7,9-")) == [1, 2, 3, 7, 9, 10]
    for wrong in ("5-11", "11", "11-"):
        with pytest.raises(TreebankError, match=r"x: sentences: expected at least 11 sentences, got 10"):
            select_numbers(trees, DataSource("x", sentences=wrong))


# The paper's table: two treebanks, four scenarios, and both presets


def with_tags(config: Config, folder: Path) -> Config:
    """Add a file of predicted tags if the scenario needs one."""
    if config.data.tags != "predicted":
        return config
    gold = loaded(dataclasses.replace(config.data, tags="none"))
    rows = [(tree.id, [token.tag for token in tree.tokens]) for split in gold.values() for tree in split.trees]
    (folder / "tags.tsv").write_text(format_tags(rows), "utf-8")
    return dataclasses.replace(config, data=dataclasses.replace(config.data, predicted_tags="tags.tsv"))


@pytest.mark.parametrize("name", ["negra", "tiger"])
@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_builds_a_network(name: str, preset: str, scenario: str, data: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("Dafür 1 2 3\nBücher 4 5 6\n", "utf-8")
    config = prepared(name, data, tmp_path, TINY, scenario=scenario, preset=preset)
    if scenario != "bare":
        config = dataclasses.replace(config, data=dataclasses.replace(config.data, vectors="vectors.txt"))
    config = with_tags(config, tmp_path)
    splits = loaded(config.data)
    settings, vectors = with_vectors(config, resolve(config.data).vectors, words_of(splits))
    parser = build(settings, splits, vectors)
    assert ("encoder.tags.weight" in parser.model.weights) == (scenario in ("gold-pos", "predicted-pos"))
    assert settings.network.word_size == (8 if scenario == "bare" else 3)
    assert settings.data.unaries == ("drop" if preset == "paper" else "keep")
    assert ("unary" in parser.vocab.outputs) == (preset == "default")


def test_the_scenario_bare_looks_at_nothing_but_the_treebank() -> None:
    for preset in PRESETS:
        config = load_recipe("negra", scenario="bare", preset=preset)
        assert (config.data.tags, config.data.vectors, config.network.subwords) == ("none", "", "")
        assert not config.network.transformer


@pytest.mark.parametrize(
    ("name", "preset", "scenario"), [("negra", "paper", "predicted-pos"), ("tiger", "default", "")]
)
def test_a_recipe_trains(name: str, preset: str, scenario: str, data: Path, tmp_path: Path) -> None:
    config = with_tags(prepared(name, data, tmp_path, TINY, preset=preset, scenario=scenario), tmp_path)
    results = train(config, tmp_path / "run", allow_overlap=True)  # there are only a few trees
    assert set(results["scores"]) == {"dev", "test"}
    assert results["data"]["skipped"] == {}


# Names


def test_a_name_means_our_recipe_even_beside_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "negra").mkdir()
    monkeypatch.chdir(tmp_path)
    assert recipe_path("negra") == RECIPES / "negra.toml"
    (tmp_path / "own.toml").write_text("[training]\nseed = 3")
    assert load_recipe("own.toml").training.seed == 3
    with pytest.raises(ConfigError, match=r"own: neither a file nor one of the recipes alpino, "):
        load_recipe("own")
