"""C++ peers, compiled from clones: the algorithms of NeuG (`neug.cpp`), and GAP's breadth-first search and components.

NeuG's package downloads its algorithms as an extension, so a machine without a network has none; its sources have all four.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphalytics.inputs import BenchmarkGraph
from kernels.cpu.parallel import cores
from kernels.graph import Array
from pipeline.graphalytics.validation import UNREACHED

HERE = Path(__file__).parent
FLAGS = ("-O3", "-march=native", "-std=c++20", "-w")
_GDS = Path("extension/gds")
_NAMES = ("bfs", "wcc", "cdlp", "lcc_undirected")
_TYPES = {"bfs": "u4", "wcc": "i8", "cdlp": "i8", "lcc": "f8"}  # of the values in the files that neug.cpp writes
Measured = tuple[dict[str, list[float]], dict[str, Array]]  # seconds of each run, values by ascending vertices


def neug(clone: Path, graph: BenchmarkGraph, folder: Path, runs: int) -> Measured:
    """NeuG's algorithms; `folder` gets the program, the graph and the answers."""
    sources = [clone / _GDS / "include/utils/parallel_utils.h"]
    for name in _NAMES:
        sources += [clone / _GDS / f"include/impl/{name}_impl.h", clone / _GDS / f"src/impl/{name}_impl.cc"]
    text = (HERE / "neug.cpp").read_text(encoding="utf-8").replace("// THE ALGORITHMS", "".join(map(_algorithm, sources)))
    (folder / "neug.cpp").write_text(text, encoding="utf-8")
    subprocess.run(["g++", *FLAGS, "neug.cpp", "-o", "neug", "-pthread"], cwd=folder, check=True)
    with (folder / "graph").open("wb") as file:
        np.array([len(graph.ids), len(graph.src)], np.int64).tofile(file)
        for offsets, neighbours in graph.sides():
            offsets.tofile(file)
            neighbours.tofile(file)
    rounds = graph.properties.algorithms["cdlp"]["max-iterations"]
    numbers = map(str, (graph.source, rounds, cores(), runs))
    done = subprocess.run(["./neug", "graph", ".", *numbers], cwd=folder, check=True, capture_output=True, text=True)
    times: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        name, seconds = line.split()
        times.setdefault(name, []).append(float(seconds))
    values: dict[str, Array] = {name: np.fromfile(folder / f"{name}.{kind}", kind) for name, kind in _TYPES.items()}
    values["bfs"] = np.where(values["bfs"] == np.iinfo(np.uint32).max, UNREACHED, values["bfs"].astype(np.int64))
    values["cdlp"] = graph.ids[values["cdlp"]]
    return times, values


def gap(clone: Path, graph: BenchmarkGraph, folder: Path, runs: int) -> dict[str, list[float]]:
    """The GAP benchmark's programs, which verify their answers by themselves: seconds of each run."""
    offsets, neighbours = graph.arcs()
    with (folder / "graph.sg").open("wb") as file:
        np.array([False]).tofile(file)
        np.array([len(neighbours), len(graph.ids)], np.int64).tofile(file)
        offsets.tofile(file)
        neighbours.tofile(file)
    times = {}
    for name, program, options in (("bfs", "bfs", ["-r", str(graph.source)]), ("wcc", "cc", [])):
        command = ["g++", *FLAGS, "-fopenmp", str(clone / f"src/{program}.cc"), "-o", program]
        subprocess.run(command, cwd=folder, check=True)
        given = [f"./{program}", "-f", "graph.sg", "-n", str(runs), "-v", *options]
        said = subprocess.run(given, cwd=folder, check=True, capture_output=True, text=True).stdout
        if said.count("PASS") != runs:
            raise ValueError(f"GAP's {program} does not verify its answer")
        times[name] = [float(seconds) for seconds in re.findall(r"Trial Time:\s+(\S+)", said)]
    return times


def _algorithm(source: Path) -> str:
    """A source without the headers of the database and the function that fills a table."""
    text = source.read_text(encoding="utf-8")
    text = re.sub(r'^#(include "[^"]*"|pragma once)$', "", text, flags=re.MULTILINE)
    head, sink, _ = text.partition("::sink(")
    if not sink:
        return text
    return head.rpartition("void")[0] + "}  // namespace gds\n}  // namespace neug\n"


def version(clone: Path) -> str:
    """The commit of a clone."""
    done: Any = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=clone, capture_output=True, text=True, check=False)
    return str(done.stdout.strip() or "unknown")
