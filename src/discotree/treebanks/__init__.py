"""Treebanks: ``read`` and ``write`` trees in any format of the field, as a stream.

    for tree in read("negra.export"): …
    write(trees, "negra.dbr")

The format follows from the name, for reading also from the content; ``FORMATS`` lists the formats. Files may be
compressed (.gz, .bz2, .xz), ``-`` is standard input or output, and folders and archives (.tar.gz, .zip …)
are read file by file.

A sentence keeps its id through every conversion. In a folder or an archive, where ids are only unique
within a file, the file's name goes in front: ``maz-00001/s2165``. Sentences without an id get their number.
"""

from discotree.files.reading import ReadLimits
from discotree.treebanks.formats import FORMATS, TEXT_FORMATS, Format, guess_format, write
from discotree.treebanks.reading import files, read
from discotree.treebanks.writer import Writer

__all__ = [
    "FORMATS",
    "TEXT_FORMATS",
    "Format",
    "ReadLimits",
    "Writer",
    "files",
    "guess_format",
    "read",
    "write",
]
