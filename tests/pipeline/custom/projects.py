"""Folders of users with stages of their own."""

import json
from pathlib import Path
from typing import Any

from pipeline.config.loading import load_run
from pipeline.run import run
from pipeline.store.manifest import Folder

EDGES = [(3, 90), (90, 14), (14, 3), (90, 7), (7, 250), (250, 3), (3, 14), (250, 90), (41, 7), (41, 500)]
# Of each vertex its out-degree, the degrees of its out-neighbours together, their mean, and the first of its out-neighbours.
PROGRAM = """\
import numpy as np
from graphmill import Frontier, advance, compute

def solve(graph, options):
    rows = Frontier.everything(graph)
    degrees, around, first = (np.zeros(graph.num_vertices, np.int64, like=graph.ids) - 1 for _ in range(3))

    def count(row, degree):
        degrees[row] = degree

    def of_neighbour(row, neighbour, place):
        if place == 0:
            first[row] = neighbour
        return degrees[neighbour]

    def keep(row, total):
        around[row] = total

    compute(rows, count)
    advance(rows, of_neighbour, collect="sum", after=keep)
    around = around * options.get("times", 1)
    mean = np.where(degrees > 0, around / np.maximum(degrees, 1), np.nan)
    return {"degree": degrees.astype(np.int32), "around": around, "mean": mean, "half": (degrees / 2).astype(np.float32),
            "is_end": degrees == 0, "first": first}
"""
COLUMNS = {"degree": "int32", "around": "int64", "mean": "float64", "half": "float32", "is_end": "bool", "first": "vertex"}
CERTIFICATE = "\ndef certify(graph, answer, options):\n    return {}\n"


def program_of_the_page() -> str:
    """The program of docs/custom-stages.md, whose blocks tests/project/test_docs.py runs."""
    page = (Path(__file__).parents[3] / "docs" / "custom-stages.md").read_text(encoding="utf-8")
    return page.partition("cat > mine/rounds.py <<'END'\n")[2].partition("\nEND\n")[0] + "\n"


def expected(edges: list[tuple[int, int]], times: int = 1) -> list[dict[str, Any]]:
    """The rows of that table."""
    after: dict[int, set[int]] = {vertex: set() for edge in edges for vertex in edge}
    for src, dst in edges:
        after[src].add(dst)
    rows = []
    for vertex, neighbours in sorted(after.items()):
        degree, around = len(neighbours), times * sum(len(after[other]) for other in neighbours)
        rows.append({
            "vertex": vertex, "degree": degree, "around": around, "mean": around / degree if degree else None, "half": degree / 2,
            "is_end": not degree, "first": min(neighbours, default=None),
        })  # fmt: skip
    return rows


def write(folder: Path, program: str = PROGRAM, edges: Any = EDGES, columns: Any = None, more: str = "") -> Path:
    """A graph, a program and a run with it; `more` is TOML behind the stage."""
    (folder / "edges.csv").write_text("src,dst\n" + "".join(f"{src},{dst}\n" for src, dst in edges))
    (folder / "around.py").write_text(program)
    types = ", ".join(f"{name} = {json.dumps(kind)}" for name, kind in (columns or COLUMNS).items())
    (folder / "own.toml").write_text(
        'output = "out"\nbackend = "cpu"\nstages = ["wcc"]\ngraph = { source = "edges.csv" }\n'
        f'[[custom]]\nname = "around"\nfile = "around.py"\ncolumns = {{ {types} }}\n{more}'
    )
    return folder / "own.toml"


def published(path: Path, **changes: Any) -> Folder:
    """The run of a file."""
    return run(load_run(path, **changes))
