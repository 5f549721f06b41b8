"""The formats of source files: the name of each in a configuration, and where `pipeline.ingest.formats` declares it.

To add one, write its module and list it here (docs/adding-a-format.md). Detection tries the formats in this order, binary ones
first.
"""

FORMATS = {
    "dimacs": "dimacs:FORMAT",
    "arcs": "dimacs:ARCS",
    "edges": "counted:FORMAT",
    "pace": "pace:FORMAT",
    "matrix-market": "matrix_market:FORMAT",
    "snap": "snap:FORMAT",
    "konect": "snap:KONECT",
    "metis": "metis:FORMAT",
    "graphml": "labelled.graphml:FORMAT",
    "gml": "labelled.gml:FORMAT",
    "pajek": "labelled.pajek:FORMAT",
    "dimacs-edge": "dimacs:EDGE",
    "dimacs-max": "dimacs:MAX",
    "osm": "osm:FORMAT",
    "overture": "overture:FORMAT",
    "csv": "delimited:CSV",
    "tsv": "delimited:TSV",
    "gra": "gra:FORMAT",
    "parquet": "parquet:FORMAT",
}

OF_ROADS = ("osm", "overture")  # those of road networks, which a profile reads
