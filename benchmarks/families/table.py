"""The table of the sweep: a line for each graph, with every kernel's milliseconds and cuGraph's time over ours."""

from benchmarks.one_gpu.table import KernelRow, machine_of, number

MOST = 2.0  # times cuGraph's time that a kernel may take


def markdown(rows: list[KernelRow]) -> str:
    """The machine, the graphs with a cell for each kernel, and what is slower than it may be."""
    kernels = list(dict.fromkeys(row.kernel for row in rows))
    graphs = {row.graph: {other.kernel: other for other in rows if other.graph == row.graph} for row in rows}
    slow = [f"{row.graph}: {row.kernel}" for row in rows if _ratio(row) is not None and MOST * (_ratio(row) or 0) < 1]
    lines = [
        *sorted({machine_of(row) for row in rows}),
        "",
        f"| graph | vertices | arcs | {' | '.join(kernels)} |",
        "|---|---:|---:|" + "---:|" * len(kernels),
        *(_line(graph, found, kernels) for graph, found in graphs.items()),
        "",
        _LEGEND,
        "",
        f"Slower than {number(MOST)} times cuGraph: {'; '.join(slow) or 'none of those that have a ratio'}.",
    ]
    return "\n".join(lines) + "\n"


def _line(graph: str, found: dict[str, KernelRow], kernels: list[str]) -> str:
    shape = next(iter(found.values()))
    cells = [_cell(found[kernel]) if kernel in found else "" for kernel in kernels]
    return f"| {graph} | {shape.vertices:,} | {shape.arcs:,} | {' | '.join(cells)} |"


def _cell(row: KernelRow) -> str:
    if row.failure:
        return f"failed: {row.failure}"
    ratio = _ratio(row)
    return number(row.median) if ratio is None else f"{number(row.median)} ({number(ratio)}x)"


def _ratio(row: KernelRow) -> float | None:
    return row.pylibcugraph / row.median if row.pylibcugraph and row.median else None


_LEGEND = """\
Milliseconds: the median over four calls, of random sources where a kernel takes one; of PageRank, an iteration of those to 1e-6.
The graph is in device memory, and has weights 1..999. Every answer that was timed had passed its certificate on the GPU. In
brackets: the time of pylibcugraph on a prebuilt graph over ours, where it answers and its first answer agrees with ours; of
breadth-first search the faster of its two ways."""
