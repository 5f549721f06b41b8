"""The benchmark's algorithms by the stages of a run: parameters, and values as its outputs state them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.graph import UNREACHED as NO_PATH
from kernels.graph import Array, Graph
from pipeline.graphalytics.validation import UNREACHED


@dataclass(frozen=True)
class Benchmarked:
    """How a stage answers an algorithm of the benchmark."""

    stage: str
    solve: Callable[[Callable[..., Any], Graph, dict[str, Any], int], Any]  # `solve(solver, graph, parameters, source)`
    values: Callable[[Array, Any], Array]  # of each row, from the external ids, int64 [V], and the answer in host memory
    # How its certificate is called; None: a fixed number of iterations is not the answer that the stage's certificate proves.
    options: Callable[[dict[str, Any]], dict[str, Any]] | None = lambda _: {}


def _distances(distance: Array) -> Array:
    """Sums as float64, infinite without a path."""
    return np.where(distance == NO_PATH, np.inf, distance.astype(np.float64))


ALGORITHMS = {
    "bfs": Benchmarked(
        "bfs",
        lambda solver, graph, _, source: solver(graph, source),
        lambda _, answer: np.where(answer.distance == NO_PATH, UNREACHED, answer.distance),
    ),
    "pr": Benchmarked(
        "pagerank",
        lambda solver, graph, given, _: solver(graph, given["damping-factor"], 0.0, given["num-iterations"]),
        lambda _, answer: answer.scores,
        None,
    ),
    "wcc": Benchmarked("wcc", lambda solver, graph, *_: solver(graph), lambda ids, answer: ids[answer.labels]),
    "cdlp": Benchmarked(
        "cdlp",
        lambda solver, graph, given, _: solver(graph, iterations=given["max-iterations"]),
        lambda ids, answer: ids[answer.labels],
        lambda given: {"iterations": given["max-iterations"]},
    ),
    "lcc": Benchmarked("lcc", lambda solver, graph, *_: solver(graph), lambda _, answer: answer.lcc),
    "sssp": Benchmarked(
        "sssp", lambda solver, graph, _, source: solver(graph, source), lambda _, answer: _distances(answer.distance)
    ),
}
