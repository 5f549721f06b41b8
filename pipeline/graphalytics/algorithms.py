"""The benchmark's algorithms by the stages of a run: parameters, and values as its outputs state them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.decimals import in_decimals
from kernels.graph import UNREACHED as NO_PATH
from kernels.graph import Array, Graph
from pipeline.graphalytics.validation import UNREACHED


@dataclass(frozen=True)
class Benchmarked:
    """How a stage answers an algorithm of the benchmark."""

    stage: str
    solve: Callable[[Callable[..., Any], Graph, dict[str, Any], int], Any]  # `solve(solver, graph, parameters, source)`
    # `values(ids, answer, decimals)`: of each row, from the external ids, int64 [V], and the answer in host memory; weights are
    # in units of 10^-decimals, unless this is None.
    values: Callable[[Array, Any, int | None], Array]
    options: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {}  # of its certificate


def _distances(distance: Array, decimals: int | None) -> Array:
    """Sums as float64, infinite without a path."""
    sums = distance if decimals is None else in_decimals(distance, decimals)
    return np.where(distance == NO_PATH, np.inf, sums.astype(np.float64))


def _iterations(given: dict[str, Any]) -> dict[str, Any]:
    return {"damping": given["damping-factor"], "iterations": given["num-iterations"]}


ALGORITHMS = {
    "bfs": Benchmarked(
        "bfs",
        lambda solver, graph, _, source: solver(graph, source),
        lambda _, answer, *__: np.where(answer.distance == NO_PATH, UNREACHED, answer.distance),
    ),
    "pr": Benchmarked(
        "pagerank",
        lambda solver, graph, given, _: solver(graph, **_iterations(given)),
        lambda _, answer, *__: answer.scores,
        _iterations,
    ),
    "wcc": Benchmarked("wcc", lambda solver, graph, *_: solver(graph), lambda ids, answer, _: ids[answer.labels]),
    "cdlp": Benchmarked(
        "cdlp",
        lambda solver, graph, given, _: solver(graph, iterations=given["max-iterations"]),
        lambda ids, answer, _: ids[answer.labels],
        lambda given: {"iterations": given["max-iterations"]},
    ),
    "lcc": Benchmarked("lcc", lambda solver, graph, *_: solver(graph), lambda _, answer, *__: answer.lcc),
    "sssp": Benchmarked(
        "sssp",
        lambda solver, graph, _, source: solver(graph, source),
        lambda _, answer, decimals: _distances(answer.distance, decimals),
    ),
}
