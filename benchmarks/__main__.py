"""Run the benchmarks: `python -m benchmarks --help`. They time the CUDA kernels if there is a GPU, otherwise the CPU kernels."""

import argparse
import sys
from pathlib import Path

from kernels.gpu.devices import obstacle


def main() -> None:
    """Print the table, and write it as Parquet and Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder of the tables (default: out/benchmarks)")
    parser.add_argument("--cpu", action="store_true", help="time the CPU kernels even if there is a GPU")
    gpu = parser.add_argument_group("on a GPU")
    gpu.add_argument("--graphs", type=Path, help="a folder with further graphs, recognised by the names of their files")
    gpu.add_argument(
        "--only", action="append", default=[], metavar="GRAPH[:KERNEL]", help="run what matches, such as 'New York' or '*:bfs'"
    )
    gpu.add_argument(
        "--double-graph", type=Path, metavar="CLONE", help="a clone of doubleGraph, to compile it and compare with it"
    )
    gpu.add_argument("--seconds", type=float, default=float("inf"), help="start no measurement after so many seconds")
    options = parser.parse_args()
    reason = "--cpu" if options.cpu else obstacle()
    if reason:
        print(f"on the CPU: {reason}")
        from benchmarks.cpu import bench as cpu

        cpu.run(options.out)
    else:
        from benchmarks.one_gpu import bench as gpu

        sys.exit(not gpu.run(options.out, options.graphs, options.only, options.seconds, options.double_graph))


if __name__ == "__main__":
    main()
