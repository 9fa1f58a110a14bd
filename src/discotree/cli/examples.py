"""Examples for the help of every command; a test checks that their options exist."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "parse": (
        'discotree parse "Zij heeft het boek gelezen."',
        "discotree parse corpus.txt -o corpus.export --model de",
        'discotree parse "Zij heeft het boek gelezen." -o tree.svg',
        "cat corpus.txt | discotree parse --from lines --to json",
    ),
    "bulk": (
        "discotree bulk corpus/ -o parsed",
        "discotree bulk s3://mine/corpus -o s3://mine/parsed --address auto --workers 400",
    ),
    "models": ("discotree models", "discotree models nl", "discotree models nl -o card.json"),
    "convert": (
        "discotree convert negra.export negra.tiger.xml",
        "discotree convert 'trees/*.mrg' -o trees.dbr --punctuation remove",
        "discotree convert negra.export --to conllu --heads negra",
    ),
    "stats": ("discotree stats negra.export tiger.xml", "discotree stats negra.export -o plot.svg"),
    "evaluate": (
        "discotree evaluate gold.export predicted.export --by label,gap",
        "discotree evaluate gold.export ours.dbr --against theirs.dbr",
        "discotree evaluate gold.export predicted.export -o report.html",
    ),
    "draw": (
        "discotree draw negra.export --number 1",
        "discotree draw negra.export --id 17 -o tree.svg",
        "discotree draw gold.export --against predicted.export -o errors.html",
    ),
    "serve": ("discotree serve", "discotree serve -m nl -m runs/pcc/model --port 9000"),
    "train": (
        "discotree train alpino --set data.folder=/my/treebanks",
        "discotree train negra --preset paper --scenario gold-pos --seeds 5 -o runs/negra-paper",
    ),
    "tag": ("discotree tag negra -o negra-tags.tsv",),
    "export": (
        "discotree export nl --onnx nl.onnx",
        "discotree export runs/pcc/model --onnx pcc.onnx --precision int8",
    ),
    "push": ("discotree push runs/alpino/model me/dutch --card card.json",),
}
