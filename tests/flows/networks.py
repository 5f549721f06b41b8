"""Small road, social and voting networks as files, and the run files that name them."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

WIDTH, HEIGHT = 12, 9
CROSSINGS = WIDTH * HEIGHT


def road_run(folder: Path, name: str = "roads", source: str = "roads.gr", settings: str = "") -> Path:
    """Write a grid of roads (DIMACS, ids from 1) with its coordinates and its run file; return the run file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roads.gr").write_text(roads())
    places = [f"v {vertex} {(vertex - 1) % WIDTH * 1000} {(vertex - 1) // WIDTH * 1000}" for vertex in range(1, CROSSINGS + 1)]
    (folder / "roads.co").write_text("\n".join([f"p aux sp co {CROSSINGS}", *places, ""]))
    run = folder / f"{name}.toml"
    run.write_text(
        f'output = "out-{name}"\nsources = [1, 50]\n{settings}\n'
        f'[graph]\nname = "{name}"\nsource = "{source}"\ncoordinates = "roads.co"\n'
    )
    return run


def roads() -> str:
    """A grid in DIMACS format: both directions of every road."""
    arcs = []
    for vertex in range(1, CROSSINGS + 1):
        east, south = vertex + 1, vertex + WIDTH
        for neighbour in ([east] if vertex % WIDTH else []) + ([south] if south <= CROSSINGS else []):
            length = 100 + vertex * neighbour % 37
            arcs += [f"a {vertex} {neighbour} {length}", f"a {neighbour} {vertex} {length}"]
    return "\n".join([f"p sp {CROSSINGS} {len(arcs)}", *arcs, ""])


def social_run(folder: Path, name: str = "people", settings: str = "") -> Path:
    """Write a hub, a ring and a separate pair (SNAP, undirected) and its run file; return the run file."""
    folder.mkdir(parents=True, exist_ok=True)
    ties = [(0, person) for person in range(1, 40)] + [(person, person + 1) for person in range(40, 107)] + [(39, 40), (200, 201)]
    (folder / "people.txt").write_text("# ties\n" + "".join(f"{a}\t{b}\n" for a, b in ties))
    run = folder / f"{name}.toml"
    run.write_text(
        f'output = "out-{name}"\n{settings}\n[graph]\nname = "{name}"\nsource = "people.txt"\nformat = "snap"\ndirected = false\n'
    )
    return run


def votes_run(folder: Path, name: str = "votes", stages: Iterable[str] = ("wcc", "reachability")) -> Path:
    """Write a cycle of three with an arc into it and two out of it (SNAP, directed), pairs, and the run file; return the last."""
    folder.mkdir(parents=True, exist_ok=True)
    votes = [(1, 2), (2, 3), (3, 4), (4, 2), (4, 5), (4, 6)]
    (folder / "votes.txt").write_text("# votes\n" + "".join(f"{a}\t{b}\n" for a, b in votes))
    pq.write_table(pa.table({"src": [1, 2, 5, 5], "dst": [6, 4, 6, 1]}), folder / "pairs.parquet")
    run = folder / f"{name}.toml"
    run.write_text(
        f'output = "out-{name}"\nstages = {list(stages)}\n'
        f'[graph]\nname = "{name}"\nsource = "votes.txt"\nformat = "snap"\n[queries]\npairs = "pairs.parquet"\n'
    )
    return run
