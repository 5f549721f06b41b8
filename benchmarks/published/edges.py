"""Convert a DIMACS file to counted edges, the input of a source document: `python -m benchmarks.published.edges IN OUT`."""

import argparse
from pathlib import Path

import fsspec
import numpy as np


def convert(source: Path, target: Path) -> None:
    """Write the arcs of a `.gr` file in ascending order of their tails, with ids from 0 and integer weights."""
    with fsspec.open(source, "rt", compression="infer") as lines:
        _, _, vertices, count = next(line for line in lines if line.startswith("p")).split()
    arcs = np.loadtxt(source, np.int64, comments=("c", "p"), usecols=(1, 2, 3), ndmin=2)
    arcs = arcs[np.argsort(arcs[:, 0], kind="stable")] - (1, 1, 0)
    np.savetxt(target, arcs, "%d", header=f"{vertices} {count}", comments="")


def main() -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published.edges", description=__doc__)
    parser.add_argument("source", type=Path, help="a DIMACS file, also compressed")
    parser.add_argument("target", type=Path, help="the file to write")
    options = parser.parse_args()
    convert(options.source, options.target)


if __name__ == "__main__":
    main()
