"""Every kernel and method on small graphs, each answer certified, under compute-sanitizer: `python -m tests.gpu.sanitized`.

Each tool first has to report a canary, a kernel with the error that the tool looks for: a checker that sees nothing proves
nothing. CuPy's pool is off, so that the checkers know where each array ends.

Racecheck is not among the tools. It breaks off at clusters of blocks that share memory (bfs/top_down.cu, sssp/long_paths.cu:
«failed to handle a hardware exception»), and reports what union-find does by design, reading a parent while another thread joins
it (wcc/wcc.cu), as it reports CuPy's own `nonzero`.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent.parent
FOUND = 33  # exit status of compute-sanitizer where it has found an error
SECONDS = 600  # of a tool, at most
CANARIES = {
    "memcheck": "out[threadIdx.x + 1] = 1;",
    "initcheck": "out[threadIdx.x] = nothing_wrote[threadIdx.x] + 1;",
    "synccheck": "if (threadIdx.x < 16) { __syncthreads(); } out[threadIdx.x] = 1;",
}
PLAIN = {"CUPY_ACCELERATORS": ""}  # CUB's reductions move pairs with the padding between their halves, CuPy's own do not
THREADS = 64  # of a canary: two warps


def sing(tool: str) -> None:
    """Run the canary of a tool."""
    import cupy

    cupy.cuda.set_allocator(None)
    code = f'extern "C" __global__ void canary(int* out, const int* nothing_wrote) {{ {CANARIES[tool]} }}'
    out, nothing_wrote = cupy.zeros(THREADS, np.int32), cupy.empty(THREADS, np.int32)
    cupy.RawKernel(code, "canary")((1,), (THREADS,), (out, nothing_wrote))
    print(int(out[0]))


def graphs(side: int, people: int) -> Iterator[Any]:
    """Small graphs for every way of searching: roads and crowds, directed and not, in every width; hubs; hardly anything."""
    from benchmarks.generators import grid_edges
    from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

    named = {edges.name: edges for edges in NAMED_GRAPHS}
    for name in ("empty", "one_vertex", "figure_1", "zero_weight_cycle", "strong_tail"):
        yield graph_of(named[name])
    random = np.random.default_rng(5)
    roads = np.stack(grid_edges(side), 1)
    crowd = (people * random.random((13 * people, 2)) ** 3).astype(np.int64)
    hubs = np.stack([np.full(3 * people, 7), np.arange(people, 4 * people)], 1)
    for ends, directed, dtype in (
        (roads, False, np.int32),
        (roads[random.random(len(roads)) < 0.8], True, np.float64),
        (crowd, False, np.float32),
        (np.concatenate([crowd, hubs, hubs[::2, ::-1]]), True, np.int64),
    ):
        weights = random.integers(1, 99, len(ends)).tolist()
        edges = EdgeList("random", tuple((a, b, weight) for (a, b), weight in zip(ends.tolist(), weights, strict=True)), directed)
        yield graph_of(edges, random.permutation(edges.ids).tolist(), dtype)


def layers(width: int) -> Any:
    """A random DAG of twelve layers, of whose queries the labels leave some to every search."""
    from benchmarks.generators import layered_edges
    from benchmarks.graphs import graph_of_arcs

    src, dst = layered_edges(12, width, np.random.default_rng(9))
    return graph_of_arcs(src, dst, None, 12 * width, symmetric=False)


def run_reachability(graph: Any) -> int:
    """Build and certify the index by each method, and search for some pairs in every way; return how many answers there are."""
    import cupy

    from kernels.reachability import METHODS, reachability
    from kernels.reachability.certificate import certify_reachability
    from kernels.reachability.queries import cuda as cuda_queries
    from tests.reachability import paths_of

    ways = [{}, *({"width": width, "by_warps": False} for width in (32, 64, 256))]
    count = 500 if graph.num_vertices else 0
    src, dst = (cupy.asarray(ends) for ends in np.random.default_rng(3).integers(0, max(1, graph.num_vertices), (2, count)))
    answers = []
    for method in METHODS:
        index = reachability(graph, 3, 7, method)
        certificate = certify_reachability(graph, index)
        assert certificate.holds, f"reachability {method}: {certificate.reason}"
        answers += [cupy.asnumpy(cuda_queries.answer(index, src, dst, **way).reachable) for way in ways]
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
    found = [bool(path) for path in paths_of(graph, src[:100], dst[:100], 1_000)]
    assert found == answers[0][:100].tolist(), "reachability: witness paths"
    return len(answers)


def run_layout_proofs() -> int:
    """Lay out and prove random edge lists by every rule; return how many."""
    import cupy

    from kernels.distributed.communicator import SingleRank
    from kernels.layout.certificate import certify_layout
    from kernels.layout.rules import Edges
    from tests.certificates.layouts import layout_of, random_layout

    random = np.random.default_rng(11)
    for number in range(12):
        made = random_layout(random, 40)
        edges = Edges(*(None if column is None else cupy.asarray(column) for column in vars(made.edges).values()))
        layout = layout_of(edges, made.rules, (None, 3, 2**62)[number % 3])
        certificate = certify_layout(edges, layout.rules, layout.claim, layout.graph, SingleRank())
        assert certificate.holds, f"layout: {certificate.reason}"
    return 12


def run_over_shards(graph: Any) -> int:
    """Let three ranks answer and prove it, threads on one GPU; compare with one worker; return how many answers there are."""
    import cupy

    from kernels import bfs, forest, pagerank, scc, sssp, wcc
    from kernels.bfs.certificate.sharded import certify_bfs
    from kernels.bfs.sharded import bfs as bfs_over_shards
    from kernels.distributed.local_graph import local_graph
    from kernels.distributed.threads import run_ranks
    from kernels.forest.certificate.sharded import certify_forest
    from kernels.forest.sharded import minimum_spanning_forest as forest_over_shards
    from kernels.pagerank.certificate.sharded import certify_pagerank
    from kernels.pagerank.sharded import pagerank as pagerank_over_shards
    from kernels.scc.certificate.sharded import certify_scc
    from kernels.scc.sharded import scc as scc_over_shards
    from kernels.sssp.certificate.sharded import certify_sssp
    from kernels.sssp.sharded import sssp as sssp_over_shards
    from kernels.wcc.certificate.sharded import certify_wcc
    from kernels.wcc.sharded import wcc as wcc_over_shards
    from tests.sharded.shards import even_bounds, split

    shards = split(graph, even_bounds(graph, 3))
    for shard in shards:
        local_graph(shard)
    source = (0,) if graph.num_vertices else ()
    solved = [
        (wcc_over_shards, wcc.wcc, certify_wcc, (), ("labels",)),
        (scc_over_shards, scc.scc, certify_scc, (), ("labels",)),
        (forest_over_shards, forest.minimum_spanning_forest, certify_forest, (), ("labels",)),
        (pagerank_over_shards, pagerank.pagerank, certify_pagerank, (), ("scores",)),
        (bfs_over_shards, bfs.bfs, certify_bfs, source, ("distance", "predecessor")),
        (sssp_over_shards, sssp.sssp, certify_sssp, source, ("distance", "predecessor")),
    ]
    solved = solved if source else solved[:4]
    for over_shards, single_rank, certify, inputs, columns in solved:
        parts = run_ranks(len(shards), lambda ranks, run=over_shards, inputs=inputs: run(shards[ranks.rank], ranks, *inputs))
        answers = [part.answer for part in parts]
        for verdict in run_ranks(
            len(shards), lambda ranks, run=certify, answers=answers: run(shards[ranks.rank], ranks, answers[ranks.rank])
        ):
            assert verdict.holds, verdict.reason
        expected = single_rank(graph, *inputs)
        for column in columns:
            found = np.concatenate([cupy.asnumpy(getattr(part.answer, column)) for part in parts])
            np.testing.assert_allclose(found, cupy.asnumpy(getattr(expected, column)), rtol=0, atol=1e-6 * (column == "scores"))
    return len(solved)


def run_dynamic() -> int:
    """Change and search graphs in slotted pages; return how many answers there are."""
    import cupy

    from kernels.bfs import bfs
    from kernels.sssp import sssp
    from tests.dynamic import batches, operators, structures
    from tests.layout import merging

    merging.check(cupy.empty(0), 1)
    merging.check_pairs(cupy.empty(0), 1)
    batches.run(cupy.empty(0), "large", True)
    for case in (operators.lookups, operators.advances, operators.operators, operators.dangling):
        case(cupy.empty(0))
    operators.scans(cupy.empty(0), 1000)
    for graph in graphs(12, 400):
        operators.searches(cupy.empty(0), structures.graph_of(graph.out), range(min(1, graph.num_vertices)), (bfs, sssp))
    return 6


def run_kernels() -> None:
    """Run and certify every kernel and method on every graph."""
    import cupy

    from benchmarks.one_gpu.contests import ALGORITHMS, arcs_of, build_out_csr
    from benchmarks.one_gpu.graphs import WINDOW
    from kernels.gpu.transfer import to_device

    cupy.cuda.set_allocator(None)
    count = 0
    for graph in map(to_device, graphs(30, 1500)):
        for kernel in ALGORITHMS:
            for inputs in kernel.inputs(graph, 1):
                for method in kernel.methods(graph):
                    answer = kernel.solve(graph, *inputs, **method)
                    certificate = kernel.certify(graph, answer)
                    assert certificate.holds, f"{kernel.name} {method}: {certificate.reason}"
                    count += 1
        for both in (False, True):
            build_out_csr(graph, *arcs_of(graph), range(graph.num_vertices), both, WINDOW)
        count += run_reachability(graph)
    count += run_reachability(to_device(layers(150)))
    count += run_layout_proofs() + run_dynamic()
    count += sum(map(run_over_shards, map(to_device, graphs(12, 400))))  # smaller: memcheck takes long over each of CuPy's arrays
    print(f"{count} answers")


def check(tool: str, sanitizer: str, *what: str) -> tuple[int, str]:
    """Exit status and output of `what` under a tool."""
    # Calls of the API that fail are not errors here: CuPy raises its own, and asks the driver for functions that it may lack.
    options = {"--error-exitcode": str(FOUND), "--print-limit": "8", "--show-backtrace": "no", "--report-api-errors": "no"}
    command = [sanitizer, "--tool", tool, *(word for option in options.items() for word in option)]
    process = subprocess.Popen(
        [*command, sys.executable, "-m", "tests.gpu.sanitized", *what],
        cwd=ROOT, env=os.environ | PLAIN, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the tool's own child, too
        return process.wait(), f"{process.communicate()[0]}\nnot done after {SECONDS} s"
    return process.returncode, output


def find_sanitizer() -> str:
    """Path of compute-sanitizer: on PATH, of a CUDA toolkit, or of the wheel nvidia-cuda-sanitizer-api."""
    beside = [Path(folder) / "nvidia/cu13/bin" for folder in sys.path if folder]
    found = shutil.which("compute-sanitizer")
    for folder in (Path("/usr/local/cuda/bin"), *beside):
        found = found or shutil.which("compute-sanitizer", path=str(folder))
    if found is None:
        sys.exit("compute-sanitizer is not here: it comes with the CUDA toolkit, or with pip install nvidia-cuda-sanitizer-api")
    return found


def verdict(tool: str, sanitizer: str) -> tuple[bool, str]:
    """Whether a tool reports its canary and finds the kernels clean, and what to print."""
    started = time.perf_counter()
    status, output = check(tool, sanitizer, "canary", tool)
    if status != FOUND:
        return False, f"{tool}: the canary is silent\n{output[-3000:]}"
    status, output = check(tool, sanitizer, "kernels")
    found = "clean" if status == 0 else f"status {status}\n{output[:4000]}\n...\n{output[-2000:]}"
    return status == 0, f"{tool}: the canary is reported; kernels: {found}, {time.perf_counter() - started:.0f} s"


def main() -> None:
    """Check with every tool at once; exit with status 1 where a canary is silent, or a kernel is not clean."""
    sanitizer = find_sanitizer()
    with ThreadPoolExecutor(len(CANARIES)) as threads:
        verdicts = [threads.submit(verdict, tool, sanitizer) for tool in CANARIES]
        for done in as_completed(verdicts):
            print(done.result()[1], flush=True)
    sys.exit(not all(done.result()[0] for done in verdicts))


if __name__ == "__main__":
    if sys.argv[1:2] == ["canary"]:
        sing(sys.argv[2])
    elif sys.argv[1:] == ["kernels"]:
        run_kernels()
    else:
        main()
