"""The formats of source files: one module each, which declares its name, suffixes, first line and reader.

To add one, write its module, list it in FORMATS, and add its name to `pipeline.config.graph.Format` and docs/formats.md.
"""

from pipeline.ingest.formats import delimited, dimacs, gra, matrix_market, pace, parquet, snap
from pipeline.ingest.formats.format import FileFormat, TextFormat

# In the order in which detection tries them.
FORMATS: dict[str, TextFormat | FileFormat] = {
    entry.name: entry
    for entry in (
        parquet.FORMAT,
        matrix_market.FORMAT,
        dimacs.FORMAT,
        dimacs.ARCS,
        pace.FORMAT,
        snap.FORMAT,
        snap.KONECT,
        delimited.CSV,
        delimited.TSV,
        gra.FORMAT,
    )
}
