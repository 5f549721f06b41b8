"""Stages that users write, on a GPU: the bytes of the CPU, and what happens where these differ."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import pytest

pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

from pipeline.errors import BadInput, ProofFailed
from pipeline.tables import files as tables
from tests.pipeline.changes.histories import differing
from tests.pipeline.custom.projects import CERTIFICATE, EDGES, PROGRAM, expected, program_of_the_page, published, write

ON_GPU = "type(degrees).__module__ != 'numpy'"
OTHERWISE = PROGRAM.replace("around = around *", f"around = around + ({ON_GPU}) *")


def test_the_tables_are_those_of_the_cpu(tmp_path):
    project = write(tmp_path)
    runs = [published(project, output=tmp_path / backend, backend=backend) for backend in ("cpu", "gpu")]
    assert differing(*(run.path for run in runs)) == []
    assert [run.facts["custom"]["around"]["proved"] for run in runs] == ["not proved", "compared on CPU and GPU"]
    assert "around" not in runs[1].facts["proofs"]
    text = (runs[1].path / "report.html").read_text()
    assert "<p>Compared on CPU and GPU.</p>" in text and "<li>the CPU gives the same bytes as the GPU</li>" in text


def test_the_program_of_the_page_is_proved(tmp_path):
    edges = [(1, 2), (2, 3), (1, 4), (4, 3), (3, 5), (9, 5)]
    run = published(write(tmp_path, program_of_the_page(), edges, {"round": "int64"}), backend="gpu")
    assert run.facts["custom"]["around"]["proved"] == "proved by the user's certificate"
    assert dict(zip(*tables.read(run.path / "around").to_pydict().values(), strict=True)) == {1: 0, 2: 1, 3: 2, 4: 1, 5: 3, 9: 0}


def test_a_program_that_differs_is_refused_unless_its_certificate_holds(tmp_path):
    project = write(tmp_path, OTHERWISE)
    refused = r"around: around of vertex \d+ is not the same on the GPU and on the CPU; define certify, .* in .*around.py"
    with pytest.raises(ProofFailed, match=refused):
        published(project, backend="gpu")
    assert not (tmp_path / "out" / "latest").exists()
    write(tmp_path, OTHERWISE + CERTIFICATE.format("(answer['around'] >= 0).all()"))
    run = published(project, backend="gpu")
    assert (
        run.facts["custom"]["around"]["proved"] == "proved by the user's certificate" and run.facts["proofs"]["around"]["holds"]
    )
    write(tmp_path, OTHERWISE + CERTIFICATE.format("(answer['around'] < 0).all()"))
    with pytest.raises(ProofFailed, match=r"certify of .*around.py does not hold"):
        published(project, backend="gpu")


def test_what_a_program_writes_into_the_graph_stays_in_its_call(tmp_path):
    """Arrays on a GPU are never read-only."""
    writing = PROGRAM.replace(
        "    around = around *", "    graph.out.indices[:] = 0\n    graph.ids[:] = 0\n    around = around *"
    )
    certificate = CERTIFICATE.format("int(graph.ids.max()) == 500 and int(graph.out.indices.max()) > 0")
    more = '[[custom]]\nname = "second"\nfile = "second.py"\ncolumns = { first = "vertex", around = "int64" }\n'
    project = write(tmp_path, writing + certificate, more=more)
    chosen = "for name in ('first', 'around')}\n"
    (tmp_path / "second.py").write_text(
        PROGRAM.replace('return {"degree"', 'every = {"degree"') + "    return {name: every[name] " + chosen
    )
    run = published(project, backend="gpu")
    known = [(row["vertex"], row["first"], row["around"]) for row in expected(EDGES)]
    for table in ("around", "second"):
        rows = tables.read(run.path / table).to_pylist()
        assert [(row["vertex"], row["first"], row["around"]) for row in rows] == known


def test_an_error_of_an_operator_that_nobody_waited_for_names_its_line(tmp_path):
    project = write(tmp_path, PROGRAM.replace("    return {", "    compute(rows, beyond)\n    return {").replace(
        "    compute(rows, count)", "    def beyond(row):\n        degrees[row + 4] = 0\n\n    compute(rows, count)"
    ))  # fmt: skip
    refused = r"around.py: line 20: index 7 is not in 0..6, the entries of degrees .*; row 3 is vertex \d+"
    with pytest.raises(BadInput, match=refused):
        published(project, backend="gpu")
    program = tmp_path / "around.py"
    program.write_text(program.read_text().replace("    return {", "    1 / 0\n    return {"))  # which fails after the operator
    with pytest.raises(BadInput, match=refused):
        published(project, backend="gpu")
