"""Valid files, from which the mutations start: small graphs in every format."""

import gzip
import lzma
import random
import sys
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = (
    "dimacs",
    "arcs",
    "edges",
    "snap",
    "konect",
    "matrix-market",
    "gra",
    "pace",
    "csv",
    "tsv",
    "metis",
    "dimacs-edge",
    "dimacs-max",
)
FORMATS = (*TEXT, "parquet")
PACKED = {"gzip": gzip.compress, "xz": partial(lzma.compress, preset=0), "zstd": zstd.compress}


def text(form: str, rng: random.Random) -> bytes:
    """A valid file of a text format."""
    vertices, count = rng.randint(1, 30), rng.randint(0, 40)
    low = 0 if form in {"snap", "konect", "csv", "tsv", "gra", "arcs", "edges"} else 1
    edges = [(rng.randrange(low, low + vertices), rng.randrange(low, low + vertices)) for _ in range(count)]
    weight = rng.choice([lambda: rng.randint(0, 99), lambda: rng.choice([0.5, 1e300, 5e-324, 7.0, rng.random()])])
    weighted = form in {"dimacs", "arcs", "edges", "dimacs-max"} or rng.random() < 0.5
    rows = [[*edge, weight()] if weighted else [*edge] for edge in edges]
    return "".join(f"{line}\n" for line in _WRITERS[form](vertices, edges, rows, rng)).encode()


def _dimacs(vertices, edges, rows, rng):
    yield from rng.choice([["c a comment"], []])
    yield f"p sp {vertices} {len(rows)}"
    yield from _arcs(vertices, edges, rows, rng)


def _arcs(vertices, edges, rows, rng):
    yield from (" ".join(map(str, ["a", *row])) for row in rows)


def _edges(vertices, edges, rows, rng):
    yield f"{vertices} {len(rows)}"
    yield from (" ".join(map(str, row)) for row in sorted(rows, key=lambda row: row[0]))


def _snap(vertices, edges, rows, rng):
    yield from rng.choice([["# Undirected graph", f"# Nodes: {vertices} Edges: {len(rows)}"], ["# x"], []])
    yield from ("\t".join(map(str, row)) for row in rows or [[0, 0]] * 0)


def _konect(vertices, edges, rows, rng):
    kind = rng.choice(["unweighted", "positive", "posweighted", "multiweighted", "signed"])
    counts = [f"% {len(rows)} {vertices} {vertices}"] if rng.random() < 0.5 else []
    yield from rng.choice([[f"% {rng.choice(['sym', 'asym'])} {kind}", *counts], ["% x"], ["%"]])
    time = rng.random() < 0.3 and rows and len(rows[0]) == 3
    yield from (rng.choice(" \t").join(map(str, [*row, 1082040961] if time else row)) for row in rows)


def _matrix(vertices, edges, rows, rng):
    if rng.random() < 0.3:
        yield from _array(vertices, rng)
        return
    kind = rng.choice(["real", "integer"]) if rows and len(rows[0]) == 3 else "pattern"
    if kind == "integer":
        rows = [[*edge, 3] for edge in edges]
    yield f"%%MatrixMarket matrix coordinate {kind} {rng.choice(['general', 'symmetric'])}"
    yield f"{vertices} {vertices} {len(rows)}"
    yield from (" ".join(map(str, row)) for row in rows)


def _metis(vertices, edges, rows, rng):
    form = rng.choice([[], ["0"], ["1"], ["10"], ["111", "2"], ["11"]])
    digits = form[0].rjust(3, "0") if form else "000"
    ends = [(min(edge), max(edge), rng.randint(0, 99)) for edge in edges if edge[0] != edge[1]]
    yield from rng.choice([["% comment"], []])
    yield " ".join(map(str, [vertices, len(ends), *form]))
    before = (digits[0] == "1") + (digits[1] == "1") * (int(form[1]) if len(form) > 1 else 1)
    for vertex in range(1, vertices + 1):
        near = [(sum(end[:2]) - vertex, end[2]) for end in ends if vertex in end[:2]]
        words = [word for neighbour in near for word in neighbour[: 1 + (digits[2] == "1")]]
        yield " ".join(map(str, [*(rng.randint(0, 9) for _ in range(before)), *words]))


def _dimacs_edge(vertices, edges, rows, rng):
    yield from rng.choice([["c a comment"], []])
    yield f"p {rng.choice(['edge', 'col'])} {vertices} {len(edges)}"
    yield from rng.choice([[], [f"n {vertices} 7", "n 1 -2.5"]])
    yield from (f"e {src} {dst}" for src, dst in edges)


def _dimacs_max(vertices, edges, rows, rng):
    yield f"p max {vertices} {len(rows)}"
    yield from rng.choice([[], ["n 1 s", "c between", f"n {vertices} t"] if vertices > 1 else []])
    yield from _arcs(vertices, edges, rows, rng)


def _array(vertices, rng):
    symmetry, whole = rng.choice(["general", "symmetric"]), rng.random() < 0.5
    vertices = min(vertices, 6)
    yield f"%%MatrixMarket matrix array {'integer' if whole else 'real'} {symmetry}"
    yield f"{vertices} {vertices}"
    for _ in range(vertices * (vertices if symmetry == "general" else vertices + 1) // (1 if symmetry == "general" else 2)):
        yield str(rng.choice([0, 0, rng.randint(1, 99)]) if whole else rng.choice([0.0, 0.5, 7, rng.random()]))


def _gra(vertices, edges, rows, rng):
    yield "graph_for_greach"
    yield str(vertices)
    for vertex in range(vertices):
        yield f"{vertex}: {''.join(f'{dst} ' for src, dst in edges if src == vertex)}#"


def _pace(vertices, edges, rows, rng):
    yield f"p tw {vertices} {len(edges)}"
    yield from (f"{src} {dst}" for src, dst in edges)


def _delimited(delimiter):
    def write(vertices, edges, rows, rng):
        names = ["src", "dst", "weight"][: len(rows[0]) if rows else 2]
        extra = rng.random() < 0.5
        yield delimiter.join([*names, "note"] if extra else names)
        form = rng.choice([str, str, str, "v{}".format, "{:03}".format, "Zo\u00eb {}".format, "\ufeff{}".format])
        rows = [[form(src), form(dst), *weight] for src, dst, *weight in rows]
        notes = ["", "x", '"quoted"', '"a""b"', f'"a{delimiter}b"']
        yield from (delimiter.join([*map(str, row), rng.choice(notes)] if extra else map(str, row)) for row in rows)

    return write


_WRITERS = {
    "dimacs": _dimacs, "arcs": _arcs, "edges": _edges, "snap": _snap, "konect": _konect, "matrix-market": _matrix, "gra": _gra,
    "pace": _pace, "csv": _delimited(","), "tsv": _delimited("\t"), "metis": _metis,
    "dimacs-edge": _dimacs_edge, "dimacs-max": _dimacs_max,
}  # fmt: skip


def parquet(rng: random.Random) -> bytes:
    """A valid Parquet file with one of many encodings, page sizes and compressions."""
    random_ids = np.random.default_rng(rng.randrange(2**32))
    rows = rng.choice([0, 1, 7, 100, 300])
    kinds = [np.int64, np.int32, np.uint8, np.uint64]
    columns = {name: random_ids.integers(0, rng.choice([2, 100]), rows).astype(rng.choice(kinds)) for name in ("src", "dst")}
    if rng.random() < 0.6:
        columns["weight"] = random_ids.random(rows) if rng.random() < 0.5 else random_ids.integers(0, 2**40, rows)
    if rng.random() < 0.3:
        columns["note"] = [f"x{row % 3}" for row in range(rows)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns), sink,
        compression=rng.choice(["none", "snappy", "gzip", "zstd"]),
        use_dictionary=rng.random() < 0.5,
        row_group_size=rng.choice([50, 1000]),
        data_page_size=rng.choice([64, 2**20]),
        data_page_version=rng.choice(["1.0", "2.0"]),
        write_statistics=rng.random() < 0.7,
        write_page_checksum=rng.random() < 0.3,
        store_schema=rng.random() < 0.3,
    )  # fmt: skip
    return sink.getvalue().to_pybytes()
