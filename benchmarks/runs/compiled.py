"""Write `kernels/gpu/ahead/requests.json`: `python -m benchmarks.runs.compiled` on a machine with a GPU.

Each kind of run is made in a process of its own, which notes what CuPy compiles.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.runs import sources
from kernels.gpu.ahead.requests import Request
from kernels.gpu.ahead.turn import REQUESTS
from kernels.gpu.cupy_internals import compilations
from kernels.gpu.loader import C_NAMES, constants_of
from pipeline.config.loading import load_run
from pipeline.run import run

SOCIAL, ROADS = 20, 1200  # the scale of a Kronecker graph, the side of a grid
FIVE = ["bfs", "sssp", "mst", "wcc", "pagerank"]
SEVEN = [*FIVE, "scc", "reachability"]
COUNTING = ["cdlp", "lcc", "triangles", "cores"]
KINDS: dict[str, tuple[str, bool, list[str]]] = {  # source, directed, stages
    "social": ("social", False, FIVE),
    "roads": ("roads", False, FIVE),
    "social, floats": ("social-floats", False, FIVE),
    "roads, floats": ("roads-floats", False, FIVE),
    "social, without weights": ("social-plain", False, FIVE),
    "roads, directed": ("roads", True, SEVEN),
    "social, directed": ("social", True, SEVEN),
    "social, directed, without weights": ("social-plain", True, SEVEN),
    "social, counting": ("social-plain", False, COUNTING),
    "social, directed, counting": ("social-plain", True, COUNTING),
}
NAMES = {of: name.name for name, of in C_NAMES.items()}  # of types, by what they are called in C


def record() -> None:
    """Make a run of each kind, and store what they need; what more kinds need comes first."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_sources(folder)
        needed: list[list[str]] = []
        for kind in KINDS:
            out = folder / "requests"
            subprocess.run([sys.executable, "-m", "benchmarks.runs.compiled", "--kind", kind, str(folder), str(out)], check=True)
            needed.append(out.read_text(encoding="utf-8").splitlines())
            print(f"{kind}: {len(needed[-1])}")
    kinds = Counter(line for lines in needed for line in lines)
    first = {line: place for place, line in reversed([*enumerate(line for lines in needed for line in lines)])}
    ordered = sorted(kinds, key=lambda line: (-kinds[line], first[line]))
    REQUESTS.write_text("[\n" + ",\n".join(ordered) + "\n]\n", encoding="utf-8")
    print(f"{len(ordered)} requests, {REQUESTS.stat().st_size:,} bytes")


def note(kind: str, folder: Path, out: Path) -> None:
    """Make one run, and write its requests to `out`, one a line."""
    source, directed, stages = KINDS[kind]
    file = folder / "run.toml"
    file.write_text(
        f'output = "{folder / "out" / kind}"\nstages = {json.dumps(stages)}\nbackend = "gpu"\n'
        f'[graph]\nsource = "{folder / source}.parquet"\ndirected = {json.dumps(directed)}\n',
        encoding="utf-8",
    )
    with compilations() as noted:
        run(load_run(file))
    lines = [json.dumps(request) for source, options in noted if (request := request_of(source, options))]
    out.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)), encoding="utf-8")


def request_of(source: str, options: tuple[str, ...]) -> Request | None:
    """The request for what CuPy compiled; None for functions of users."""
    head, _, _ = source.partition("\n")
    if not head.startswith("// headers "):
        return {"text": source, "options": [*options]}
    kernel = head.split()[-1]
    if kernel == "generated":
        return None
    defined = dict(option[2:].split("=", 1) for option in options if option.startswith("-D"))
    constants = dict(constants_of(kernel))
    macros: dict[str, Any] = {name: NAMES.get(value) or int(value) for name, value in defined.items() if name not in constants}
    return {"kernel": kernel, "macros": macros}


def _write_sources(folder: Path) -> None:
    for name, tables in (("social", sources.kronecker(SOCIAL)), ("roads", sources.grid(ROADS))):
        sources.write_parquet(tables, folder / f"{name}.parquet")
        table = pq.read_table(folder / f"{name}.parquet")
        pq.write_table(table.drop_columns(["weight"]), folder / f"{name}-plain.parquet")
        floats = pa.array(np.sqrt(table["weight"].to_numpy()))
        pq.write_table(table.set_column(2, "weight", floats), folder / f"{name}-floats.parquet")


def main(arguments: list[str] | None = None) -> None:
    """Record all kinds of runs, or note one of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs.compiled", description=__doc__)
    parser.add_argument("--kind", nargs=3, metavar=("KIND", "FOLDER", "OUT"), help="make one run of the sources in a folder")
    if kind := parser.parse_args(arguments).kind:
        note(kind[0], Path(kind[1]), Path(kind[2]))
    else:
        record()


if __name__ == "__main__":
    main()
