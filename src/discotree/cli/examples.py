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
        "discotree draw tiger.xml --id s17 --no-punctuation --triangle PP --gloss glosses.txt -o figure.tex",
        "discotree draw tiger.xml --highlight '#np:[cat=\"NP\"] & discontinuous(#np)' -o examples.pdf",
    ),
    "search": (
        "discotree search '#np:[cat=\"NP\"] >RC #rc & discontinuous(#np)' tiger.xml",
        "discotree search '#v:[pos=/VV.*/]' tiger.dtindex --group-by '#v.lemma'",
        "discotree search '[word=\"het\"]' alpino/ --count",
        "discotree search '#n:[cat=\"NP\"] & discontinuous(#n)' corpus/ --workers 8 -o hits.parquet",
    ),
    "index": ("discotree index tiger.xml", "discotree index 'corpus/*.psd' -o corpus.dtindex"),
    "serve": (
        "discotree serve",
        "discotree serve -m nl -m runs/pcc/model --port 9000",
        "discotree serve --treebank tiger.xml --treebank alpino='corpus/*.xml'",
    ),
    "annotate": (
        "discotree annotate news.txt --model nl -o news.export",
        "discotree annotate news.txt --model runs/news/model --held-out gold.export",
        "discotree annotate news.txt --export -o news.tiger.xml --to tigerxml",
    ),
    "train": (
        "discotree train alpino --set data.folder=/my/treebanks",
        "discotree train negra --preset paper --scenario gold-pos --seeds 5 -o runs/negra-paper",
        "discotree train --from nl --train trees.export -o mine",
        "discotree train pcc --from de --set training.epochs=30",
    ),
    "tag": ("discotree tag negra -o negra-tags.tsv", "discotree tag negra -o negra-tags.tsv --jobs 6 --epochs 15"),
    "vectors": ("discotree vectors news.txt.bz2 'novels.txt*8' -o vectors.txt --language nl",),
    "pretrain": (
        "discotree pretrain news.txt.bz2 'novels.txt*8' -o encoder --hold-out alpino",
        "discotree pretrain news.txt -o encoder --from bert --set training.max_seconds=600",
        "discotree train alpino --preset bert --set network.encoder=hf:encoder",
    ),
    "distill": (
        "discotree distill news.txt.bz2 'novels.txt*8' --teacher nl-large --recipe alpino -o runs/small",
        "discotree distill news.txt --recipe alpino -o sentences --prepare",
        "discotree distill --prepared sentences -t one -t two --recipe alpino -o targets --prepare",
        "discotree distill --prepared targets --recipe alpino -o runs/small --set network.lstm_size=256",
    ),
    "calibrate": (
        "discotree calibrate runs/alpino/model",
        "discotree calibrate nl mine.export -o mine",
    ),
    "export": (
        "discotree export nl --onnx nl.onnx",
        "discotree export runs/pcc/model --onnx pcc.onnx --precision int8",
    ),
    "push": ("discotree push runs/alpino/model me/dutch --card card.json",),
}
