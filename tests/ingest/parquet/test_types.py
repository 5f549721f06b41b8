"""Every type in every column that a user names: read with its values, or refused with the column, its type and a way out."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.changes.reading import read_changes
from pipeline.config.graph import GraphConfig, Limits, NodeColumns
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.ingest.coordinates import coordinates_of
from pipeline.ingest.nodes import read_nodes
from pipeline.ingest.source import locate, stored
from pipeline.steps.pairs import batches, blocks
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.names import VertexNames, names_of, open_names
from tests.edge_lists import rows_of_edges
from tests.ingest.parquet.kinds import NUMBERS, WRITERS

INTEGER = r"u?int\d+|dictionary<values=int64.*"
TEXT = r"(large_)?string(_view)?|dictionary<values=(large_)?string.*|extension<arrow.json>"
NUMBER = rf"{INTEGER}|halffloat|float|double|decimal.*"
TIME = r"date.*|time.*|duration.*"
ID = rf"{INTEGER}|{TEXT}"
READ = {  # what is put into a column, and the types that are read from it
    "edge id": ID,
    "weight": rf"{INTEGER}|float|double",
    "pair id": ID,
    "facility": ID,
    "node id": ID,
    "attribute": rf"{NUMBER}|{TEXT}|{TIME}|bool|null",
    "x": rf"{NUMBER}|null",
    "op": TEXT,
    "changed id": ID,
    "changed weight": rf"{INTEGER}|float|double|null",
}


class Reader:
    """Reads a file in which one column has any type; `texts` are the values of that column if they are texts."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.path, self.monkeypatch = folder, folder / "file.parquet", monkeypatch

    def edges(self, **config):
        work = self.folder / "work"
        found = ingest(GraphConfig(source=str(self.path), **config), work)
        columns = [column.to_pylist() for column in rows_of_edges(found).columns]
        names = open_names(found)
        named = [[names.array()[number].as_py() for number in column] for column in columns[:2]] if names else columns[:2]
        for file in (work / "edges").iterdir():
            file.unlink()
        (work / "edges").rmdir()
        return named + columns[2:]

    def nodes(self, names: VertexNames | None):
        with stored(locate(str(self.path))) as content:
            return read_nodes(content, Limits(), names, NodeColumns())[0].to_pydict()

    def coordinates(self):
        with stored(locate(str(self.path))) as content:
            return coordinates_of(content, GraphConfig(source="g"), None)[0].to_pydict()

    def pairs(self, names: VertexNames | None):
        self.monkeypatch.setattr("pipeline.steps.pairs.names_beside", lambda _index: names)
        parts = [part for block in blocks(self.path, "file", 10) for part in batches(self.path, "file", block, "the index")]
        return [list(column) for column in zip(*(row.values() for part in parts for row in part.to_pylist()), strict=True)]

    def changes(self, named: bool, weight="double"):
        return read_changes(locate(str(self.path)), None, GraphConfig(source="edges.csv"), weight, named)


def columns_of(use: str, column) -> dict:
    """The columns of a file with a column of some kind, which is the last one, or the last ones."""
    changes = {"op": ["insert"] * 3, "src": NUMBERS, "dst": NUMBERS, "weight": NUMBERS}
    return {
        "edge id": {"src": column, "dst": column},
        "weight": {"src": NUMBERS, "dst": NUMBERS, "weight": column},
        "pair id": {"src": column, "dst": column},
        "facility": {"facility": column},
        "node id": {"vertex": column},
        "attribute": {"vertex": NUMBERS, "kind": column},
        "x": {"vertex": NUMBERS, "y": NUMBERS, "x": column},
        "op": {name: changes[name] for name in ("src", "dst", "weight")} | {"op": column},
        "changed id": {"op": changes["op"], "weight": NUMBERS, "src": column, "dst": column},
        "changed weight": {name: changes[name] for name in ("op", "src", "dst")} | {"weight": column},
        "beside edges": {"src": NUMBERS, "dst": NUMBERS, "other": column},
        "beside pairs": {"src": NUMBERS, "dst": NUMBERS, "other": column},
        "beside coordinates": {"vertex": NUMBERS, "x": NUMBERS, "y": NUMBERS, "other": column},
        "beside changes": changes | {"other": column},
    }[use]


def read(use: str, reader: Reader, values: list):
    """What is read from the column."""
    named = isinstance(values[0], str)
    names = names_of(pa.array(values)) if named else None
    numbered = [sorted(values).index(value) for value in values] if named else values
    if use in ("edge id", "weight", "beside edges"):
        return reader.edges()[2 if use == "weight" else 1]
    if use in ("pair id", "beside pairs"):
        found = reader.pairs(names)[1]
        return values if use == "pair id" and found == numbered else found
    if use == "facility":
        reader.monkeypatch.setattr("pipeline.steps.products.vertices.open_names", lambda _edges: names)
        reader.monkeypatch.setattr(
            "pipeline.steps.products.vertices.numbers_of", lambda _edges, asked: [values.index(one) for one in asked]
        )
        reader.monkeypatch.setattr("pipeline.steps.products.vertices.nearest", lambda _edges, _graph, found, _runtime: found)
        reader.monkeypatch.setattr("pipeline.steps.products.vertices.rows_of_sources", lambda _graph, found: found)
        return [values[number] for number in read_vertices(str(reader.path), "edges", "graph", Runtime(reader.path))]
    if use == "node id":
        found = reader.nodes(names)["vertex"]
        return values if found == numbered else found
    if use == "attribute":
        return reader.nodes(None)["kind"]
    if use in ("x", "beside coordinates"):
        return reader.coordinates()["x"]
    listed = reader.changes(named and use == "changed id")
    return {"op": listed.ops, "changed weight": listed.weights}.get(use, listed.dst).tolist()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("use", READ)
def test_a_type_is_read_or_refused_by_name(use, writer, tmp_path, monkeypatch):
    reader, wrong = Reader(tmp_path, monkeypatch), {}
    read_types = set()
    for kind, column in WRITERS[writer].kinds.items():
        WRITERS[writer].write(reader.path, columns_of(use, column))
        *_, name = pq.read_schema(reader.path).names
        stated = pq.read_table(reader.path, columns=[name])[name]
        values = stated.to_pylist()
        if use == "x":
            values = [float(value) for value in values if value is not None and re.fullmatch(NUMBER, str(stated.type))]
        try:
            found = read(use, reader, values if len(values) == 3 else [*values, 0, 0, 0])
        except BadInput as error:
            of_value = re.search(
                rf"row \d+: ({name}|the id) is (null|missing)|op '.*' is not one of|has an id that is none", str(error)
            )
            first = "src" if name == "dst" else name  # both have the same type, and the first one is named
            helps = re.escape(f"column {first!r} is {stated.type}".replace(repr(name), repr(first))) + "[,;] .*write it as"
            if re.fullmatch(READ[use], str(stated.type)) and not of_value:
                wrong[kind] = f"refused: {error}"[:300]
            elif not of_value and not re.search(helps, str(error)):
                wrong[kind] = f"the message does not help: {error}"[:300]
            continue
        read_types.add(str(stated.type))
        if not re.fullmatch(READ[use], str(stated.type)):
            wrong[kind] = f"read as {found}"[:300]
        elif found != values:
            wrong[kind] = f"{found} instead of {values}"[:300]
    assert wrong == {}
    assert read_types or use == "op"


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("use", ["beside edges", "beside pairs", "beside coordinates", "beside changes"])
def test_a_column_that_is_not_read_has_any_type(use, writer, tmp_path, monkeypatch):
    reader, wrong = Reader(tmp_path, monkeypatch), {}
    for kind, column in WRITERS[writer].kinds.items():
        WRITERS[writer].write(reader.path, columns_of(use, column))
        try:
            found = read(use, reader, NUMBERS)
        except BadInput as error:
            wrong[kind] = str(error)[:300]
        else:
            if found != NUMBERS:
                wrong[kind] = found
    assert wrong == {}
