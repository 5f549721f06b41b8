"""The command `graphalytics`: the benchmark LDBC Graphalytics on one graph."""

import sys
from pathlib import Path

from pipeline.cli.arguments import Integer, Json, print_json


def graphalytics(folder: Path, /, *, out: Path, runs: Integer = 1, backend: str = "auto", as_json: Json = False) -> None:
    """Run the algorithms of LDBC Graphalytics on a graph of the benchmark, validate the outputs, and write times.

    ```
    graphmill graphalytics graphs/graph500-22 --out out/graph500-22
    ```

    The algorithms are those that the `.properties` file lists, with its parameters: bfs, pr, wcc, cdlp, lcc and sssp. `OUT` gets
    a file `NAME-ALGORITHM` for each, and `results.json` with the times of loading, makespan and processing, EVPS and the machine.
    The exit code is 1 if an output is not valid.

    Args:
        folder: It has one `.properties` file, its vertex and edge files and, if there are some, reference outputs
            `NAME-ALGORITHM`; all may be compressed.
        out: Folder of the outputs.
        runs: How often each algorithm runs.
        backend: cpu, gpu, or auto (default): the GPU if there is one.
    """
    from pipeline.config.loading import checked
    from pipeline.config.products import GraphOptions
    from pipeline.errors import BadConfig
    from pipeline.graphalytics.benchmark import benchmark
    from pipeline.runtime.memory_watch import followed

    if runs < 1:
        raise BadConfig(f"--runs: must be at least 1 (got {runs})")
    with followed():
        results = benchmark(folder, out, checked(GraphOptions, "options", backend=backend), runs)
    if as_json:
        print_json(results)
    else:
        print(f"{results['graph']['name']}: loaded in {results['load']:.3f} s")
        for name, of in results["algorithms"].items():
            valid = {True: "valid", False: f"NOT VALID: {of.get('reason')}", None: "no reference output"}[of["valid"]]
            evps = f"{of['evps']:,.0f} EVPS" if of["evps"] else "no EVPS"
            print(f"{name:5} {min(of['processing']):10.6f} s processing {min(of['makespan']):10.6f} s makespan  {evps}; {valid}")
    if any(of["valid"] is False for of in results["algorithms"].values()):
        sys.exit(1)
