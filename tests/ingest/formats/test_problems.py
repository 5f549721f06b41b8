"""DIMACS problems and forms of Matrix Market, which SciPy writes and reads for comparison."""

import io
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from pipeline.config.graph import GraphConfig, Limits
from pipeline.errors import BadInput
from pipeline.ingest import ingest
from pipeline.tables import files as tables
from tests.faults.test_bad_input import refusing_at


def ingested(folder, content, **options):
    (folder / "g").write_bytes(content)
    return ingest(GraphConfig(source=str(folder / "g"), **options), folder / "work")


def read(folder):
    return tables.read(folder.path).to_pydict()


COLOURING = b"c x\np edge 4 3\nn 1 7\nn 2 -3\ne 1 2\nc y\ne 2 3\ne 3 1\n"
FLOW = b"c x\np max 4 3\nn 4 t\nc y\nn 1 s\na 1 2 5\na 2 3 0\na 3 4 7\n"


@pytest.mark.parametrize("text", [COLOURING, COLOURING.replace(b"p edge", b"p col")])
def test_a_colouring_problem_is_undirected_without_weights(text, tmp_path):
    folder = ingested(tmp_path, text)
    assert read(folder) == {"src": [1, 2, 3], "dst": [2, 3, 1]}
    facts = [folder.facts[name] for name in ("format", "directed", "weight", "first_id", "declared_vertices", "stated")]
    assert facts == ["dimacs-edge", False, None, 1, 4, {"values of vertices": 2}]


def test_a_flow_problem_has_capacities_and_states_its_source_and_sink(tmp_path):
    folder = ingested(tmp_path, FLOW)
    assert read(folder) == {"src": [1, 2, 3], "dst": [2, 3, 4], "weight": [5, 0, 7]}
    facts = [folder.facts[name] for name in ("format", "directed", "weight", "first_id", "declared_vertices", "stated")]
    assert facts == ["dimacs-max", True, "int64", 1, 4, {"sink": 4, "source": 1}]


WRONG = {
    "edges missing": (COLOURING.replace(b"4 3", b"4 4"), 2, "declares 4, but the file has 3"),
    "id": (COLOURING.replace(b"e 3 1", b"e 3 5"), 8, "dst '5' is not in 1..4"),
    "weight": (COLOURING.replace(b"e 3 1", b"e 3 1 9"), 8, "3 fields, expected 2"),
    "value of no vertex": (COLOURING.replace(b"n 2", b"n 9"), 4, "vertex 9 is not in 1..4"),
    "late value": (COLOURING + b"n 1 2\n", 9, "starts with 'n', expected 'e'"),
    "two sources": (FLOW.replace(b"n 4 t", b"n 4 s"), 5, "a second source, 1; the first is 4"),
    "both": (FLOW.replace(b"n 4 t", b"n 1 t"), 5, "vertex 1 is both source and sink"),
    "sink beyond": (FLOW.replace(b"n 4", b"n 5"), 3, "vertex 5 is not in 1..4"),
    "no word": (FLOW.replace(b"n 4 t", b"n 4 x"), 3, "expected \"n ID s, or n ID t\", found 'n 4 x'"),
    "capacity": (FLOW.replace(b"3 4 7", b"3 4 -7"), 8, "weight '-7' is not in"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_problems_are_refused(name, tmp_path):
    text, line, reason = WRONG[name]
    with refusing_at(tmp_path / "g", line, reason):
        ingested(tmp_path, text)


def market(matrix, **options):
    sink = io.BytesIO()
    scipy.io.mmwrite(sink, matrix, **options)
    return sink.getvalue()


def entries(content):
    """The entries that SciPy reads, as a set of triples."""
    matrix = scipy.sparse.coo_array(scipy.io.mmread(io.BytesIO(content)))
    return {(int(i) + 1, int(j) + 1, value) for i, j, value in zip(*matrix.coords, matrix.data.tolist(), strict=True)}


def both_ways(edges):
    return {pair for src, dst, weight in edges for pair in ((src, dst, weight), (dst, src, weight))}


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_dense_matrices_have_the_entries_that_scipy_reads(symmetry, kind, tmp_path):
    dense = np.random.default_rng(5).integers(0, 3, (7, 7)).astype(kind) / (1 if kind is np.int64 else 4)
    dense = (dense if symmetry == "general" else dense + dense.T).astype(kind)
    content = market(dense, symmetry=symmetry)
    assert b" array " in content.splitlines()[0]
    folder = ingested(tmp_path, content)
    found = set(zip(*read(folder).values(), strict=True))
    assert (found if symmetry == "general" else both_ways(found)) == entries(content)
    assert folder.facts["directed"] == (symmetry == "general")
    assert folder.facts["weight"] == ("int64" if kind is np.int64 else "double")
    values = 49 if symmetry == "general" else 28
    assert folder.facts["stated"] == {"zeros": values - len(found)}
    assert folder.facts["declared_vertices"] == 7


STRUCTURES = {
    "skew": market(scipy.sparse.coo_array([[0, 2.5, 0], [-2.5, 0, 1], [0, -1, 0]]), symmetry="skew-symmetric"),
    "dense skew": market(np.array([[0, 2.5, 0], [-2.5, 0, 1], [0, -1, 0]]), symmetry="skew-symmetric"),
    "hermitian": market(scipy.sparse.coo_array([[0, 2j, 0], [-2j, 0, 1], [0, 1, 0]]), symmetry="hermitian"),
    "complex": market(scipy.sparse.coo_array([[0, 2j], [3, 0]]), symmetry="general"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_values_that_are_no_weights_are_refused_by_name_and_their_structure_is_read(name, tmp_path):
    content = STRUCTURES[name]
    with pytest.raises(BadInput, match="skew-symmetric: half of" if "skew" in name else "has complex values") as caught:
        ingested(tmp_path, content)
    assert "weight = false" in caught.value.reason
    folder = ingested(tmp_path, content, columns={"weight": False})
    found = {(*edge, 1) for edge in zip(*read(folder).values(), strict=True)}
    expected = {(i, j, 1) for i, j, _ in entries(content)}
    assert (found if folder.facts["directed"] else both_ways(found)) == expected
    assert folder.facts["directed"] == (name == "complex")


MATRICES = {
    "diagonal": (b"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n", "an entry on its diagonal, in row 2"),
    "value": (b"%%MatrixMarket matrix array real general\n1 1\n-1\n", "weight '-1' is not in"),
    "pattern": (b"%%MatrixMarket matrix array pattern general\n1 1\n1\n", "'array pattern general' matrices"),
    "large": (b"%%MatrixMarket matrix array real general\n99999 99999\n1\n", "declares 9999800001 values, the limit"),
}


@pytest.mark.parametrize("name", MATRICES)
def test_wrong_matrices_are_refused(name, tmp_path):
    content, reason = MATRICES[name]
    options = {"columns": {"weight": False}} if name == "diagonal" else {"limits": Limits(edges=1000)}
    with pytest.raises(BadInput, match=re.escape(reason)):
        ingested(tmp_path, content, **options)
