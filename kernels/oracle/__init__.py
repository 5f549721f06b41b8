"""The second solver: an answer is compared with that of an independent library, SciPy, or cuGraph for a graph on a GPU.

Read `compare.py` first. Oracles are here and not in the algorithms' folders, because `by_scipy.py` and `by_cugraph.py` serve
several.
"""

from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any

from kernels.answers import Certificate
from kernels.arrays import is_cupy
from kernels.gpu.devices import device_count
from kernels.gpu.loader import to_host
from kernels.graph import Graph
from kernels.registry import BY_NAME


def solves_on_gpu(num_arcs: int) -> bool:
    """Whether cuGraph can solve on a GPU of this machine: it is installed, and the graph has an arc, which it requires."""
    return num_arcs > 0 and device_count() > 0 and find_spec("pylibcugraph") is not None


def solver_of(stage: str, on_gpu: bool) -> str:
    """Name of the second solver of a stage that has one: the library, or the module of one that is not the project's own."""
    module = (BY_NAME[stage].gpu_oracle if on_gpu else BY_NAME[stage].oracle).partition(":")[0]
    return ("cuGraph" if on_gpu else "SciPy") if module.startswith(f"{__name__}.") else module


def why_not_on_gpu(stage: str, num_arcs: int) -> str:
    """Why cuGraph is not the second solver of a stage here; empty if it is."""
    if not BY_NAME[stage].gpu_oracle:
        return "cuGraph does not solve this"
    if not num_arcs:
        return "the graph has no arc, which cuGraph requires"
    return "" if solves_on_gpu(num_arcs) else "cuGraph (pylibcugraph) is not installed, or there is no GPU"


def oracle(graph: Graph, stage: str, answer: Any, **options: Any) -> Certificate:
    """Compare an answer with the second solver's.

    Args:
        graph: Its arrays choose the solver: the algorithm's `oracle` for NumPy's, its `gpu_oracle` for CuPy's.
        stage: Name of an algorithm of the registry that has this oracle.
        answer (dataclass): What the algorithm's solver returned, on either backend. A malformed one does not hold; nothing is
            raised.
        options: Of an algorithm that has some.

    Returns:
        `rules` names the solver's function, `reason` the first vertex or edge that differs.
    """
    compare = BY_NAME[stage].resolve("gpu_oracle" if is_cupy(graph) else "oracle")
    on_host = {field.name: to_host(getattr(answer, field.name)) for field in fields(answer) if field.init}
    verdict: Certificate = compare(graph, replace(answer, **on_host), **options)
    return verdict
