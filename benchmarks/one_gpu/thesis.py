"""The GPU tables of the thesis with our figures: labels by pass, and queries.

Caiazza: Data-parallel implementation of the GRAIL index on many-core architectures. Politecnico di Torino, 2019, tables 6.1-6.6.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import cupy as cp
import numpy as np

from benchmarks.one_gpu.timing import milliseconds
from kernels.answers import Condensation
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Graph
from kernels.reachability import SEARCH, label, reach, reachability
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.labels.dfs import cuda as cuda_dfs
from kernels.reachability.queries import cuda as cuda_queries

RUNS, SLOW = 20, 1000  # of calls; milliseconds
PASSES = ("sizes, DAG", "parents", "edges", "sizes, tree", "post-order", "minimum", "overhead", "total", "CPU")
QUERIES = ("filter", "search", "searched", "positives")
# Milliseconds of one dimension's labels: PASSES; of 100,000 random pairs with two dimensions, and their numbers: QUERIES. In the
# thesis the CPU's times and the queries of Uniprot are in another order of the three graphs, as its other tables show.
LABELS_OF_THE_THESIS = {
    "agrocyc": (59.2, 64.9, 0.2, 50.9, 38.5, 30.0, 41.5, 285.5, 0.14),
    "amaze": (58.8, 62.3, 0.09, 47.4, 36.1, 28.4, 41.9, 275, 0.82),
    "anthra": (61.6, 67.4, 0.2, 53.3, 39.5, 31.9, 41.9, 295.8, 0.18),
    "ecoo": (80.5, 84.8, 0.2, 54.0, 41.1, 39.5, 41.2, 341, 0.21),
    "human": (66.1, 74.4, 0.75, 50.2, 41.1, 35.2, 51.3, 319.1, 0.48),
    "kegg": (94.0, 97.2, 0.1, 63.8, 45.3, 48.6, 45.5, 394.5, 0.09),
    "mtbrv": (79.2, 82.4, 0.18, 67.4, 47.2, 38.8, 41.0, 356.1, 0.11),
    "nasa": (103.1, 111.8, 0.2, 72.6, 48.5, 50.3, 40.0, 426.7, 0.16),
    "vchocyc": (73.4, 76.0, 0.1, 49.6, 38.2, 35.2, 40.5, 313.1, 0.14),
    "xmark": (112.0, 119.0, 0.1, 81.9, 53.6, 56.2, 40.4, 463.4, 0.14),
    "citeseer_sub_10720": (108.9, 110.3, 0.7, 51.6, 38.8, 53.8, 41.6, 405.7, 0.61),
    "go_sub_6793": (65.4, 70.1, 0.4, 60.8, 44.1, 31.3, 41.8, 313.8, 0.24),
    "yago_sub_6642": (54.9, 59.7, 0.4, 50.9, 37.8, 26.9, 42.6, 273.4, 0.39),
    "citeseer.scc": (61.5, 66.8, 23.3, 45.8, 34.0, 28.8, 58.3, 318.5, 21.92),
    "Pubmed, stand-in": (68.8, 72.8, 0.5, 38.7, 32.2, 32.9, 42.2, 288.2, 0.47),
    "Cit-Patents, stand-in": (270.3, 362.4, 551.2, 133.7, 96.3, 192.9, 87.2, 1694.1, 698.42),
    "Uniprot 22, stand-in": (60.5, 60.6, 34.4, 45.5, 37.0, 26.4, 65.7, 330.2, 44.18),
    "Uniprot 100, stand-in": (479.9, 525.9, 490.4, 270.1, 234.9, 229.3, 147.4, 2378.7, 514.31),
    "Uniprot 150, stand-in": (730.5, 836.9, 726.9, 421.9, 361.9, 356.2, 176.6, 3611.1, 846.26),
}
QUERIES_OF_THE_THESIS = {
    "agrocyc": (2.3, 23.8, 255.0, 97.5),
    "amaze": (2.5, 773.0, 22008.8, 17235.0),
    "anthra": (2.3, 21.5, 222.8, 91.9),
    "ecoo": (2.3, 68.5, 1157.0, 121.0),
    "human": (2.6, 16.1, 61.3, 11.6),
    "kegg": (2.7, 1347.2, 26178.9, 20158.0),
    "mtbrv": (2.5, 42.3, 498.7, 154.7),
    "nasa": (2.5, 221.5, 2343.8, 543.1),
    "vchocyc": (2.3, 32.1, 357.0, 154.7),
    "xmark": (2.3, 684.8, 7430.2, 1460.9),
    "citeseer_sub_10720": (2.3, 1559.3, 17765.9, 372.3),
    "go_sub_6793": (2.4, 324.0, 7334.1, 244.6),
    "yago_sub_6642": (2.7, 756.5, 16919.7, 166.6),
    "citeseer.scc": (8.5, 221.4, 7324.0, 0.2),
    "Pubmed, stand-in": (2.6, 757.6, 13556.7, 650.8),
    "Cit-Patents, stand-in": (12.1, 4376.0, 19112.1, 40.6),
    "Uniprot 22, stand-in": (12.4, 1418.2, 48582.5, 0.2),
    "Uniprot 100, stand-in": (14.9, 5709.4, 26511.7, 0.0),
    "Uniprot 150, stand-in": (15.4, 8806.8, 25030.7, 0.0),
}
LABELS_HEAD = (
    f"| graph | {' | '.join(PASSES)} | graph to index, dfs | tree |",
    "|---|" + "---|" * (len(PASSES) + 2),
)
QUERIES_HEAD = (
    f"| graph | {' | '.join(QUERIES)} | total | tree: filter | search | searched | total |",
    "|---|" + "---|" * (len(QUERIES) + 5),
)
_PASS_OF = {"count_paths": 0, "cheapest_parents": 1, "first_parents": 1, "place_below_roots": 4, "widen": 5}
_OVERHEAD, _TOTAL, _CPU = 6, 7, 8


def labels_row(name: str, graph: Graph, condensation: Condensation) -> str:
    """One dimension by method "dfs" from a condensation, by pass, "thesis / ours"; then complete builds of two dimensions."""
    ours = np.median([_passes(condensation) for _ in range(RUNS)], axis=0)
    host = on_host(condensation)
    found, expected = label(condensation, 1, 0, "dfs"), label(host, 1, 0, "dfs")
    for array in ("low", "post", "first", "last"):
        np.testing.assert_array_equal(cp.asnumpy(getattr(found, array)), getattr(expected, array))
    ours[_CPU] = _median(lambda: label(host, 1, 0, "dfs"))
    builds = [_median(lambda method=method: reachability(graph, 2, 0, method)) for method in ("dfs", "tree")]
    return f"| {name} | {' | '.join([*_with_thesis(LABELS_OF_THE_THESIS.get(name), ours), *map(_cell, builds)])} |"


def queries_row(name: str, graph: Graph, src: Array, dst: Array, reachable: Array) -> str:
    """Queries with two dimensions by method "dfs", "thesis / ours", then by the default; `reachable` are their answers."""
    cells: list[str] = []
    for method in ("dfs", "tree"):
        index = reachability(graph, 2, 0, method)
        assert certify_reachability(graph, index).holds
        answers = reach(index, src, dst)
        assert bool((answers.reachable == reachable).all())
        cuts = _median(lambda index=index, answers=answers: cuda_queries.cut(index, src, dst, answers))
        total = _median(lambda index=index: reach(index, src, dst))
        searched = int((answers.decided == SEARCH).sum())
        found = [cuts, max(total - cuts, 0.0), searched, int(reachable.sum())]
        if method == "dfs":
            theirs = QUERIES_OF_THE_THESIS.get(name)
            cells += [*_with_thesis(theirs, found), *_with_thesis(None if theirs is None else [theirs[0] + theirs[1]], [total])]
        else:
            cells += map(_cell, [*found[:3], total])
    return f"| {name} | {' | '.join(cells)} |"


def _passes(condensation: Condensation) -> Array:
    """Milliseconds of each pass of one dimension, as PASSES; 0 for "edges", for which we have no pass, and for "CPU"."""
    cp.cuda.Device().synchronize()
    spans: list[tuple[int, Any, Any]] = []
    with ExitStack() as stack, _span(spans, _TOTAL):
        for function, place in (*_PASS_OF.items(), ("measure", 3)):
            stack.enter_context(_watched(function, place, spans))
        label(condensation, 1, 0, "dfs")
    spans[-1][2].synchronize()
    times = np.zeros(len(PASSES))
    for place, start, end in spans:
        times[place] += cp.cuda.get_elapsed_time(start, end)
    times[_OVERHEAD] = times[_TOTAL] - times[:_OVERHEAD].sum()
    return times


@contextmanager
def _watched(function: str, place: int, spans: list[tuple[int, Any, Any]]) -> Iterator[None]:
    """Record when a pass runs; `measure` also computes levels and heights, which the thesis does not time."""
    run = getattr(cuda_dfs, function)

    def watched(*arguments: Any) -> Any:
        if function == "measure" and (len(arguments) < 2 or arguments[1] is None):
            return run(*arguments)
        with _span(spans, place):
            return run(*arguments)

    with patch.object(cuda_dfs, function, watched):
        yield


@contextmanager
def _span(spans: list[tuple[int, Any, Any]], place: int) -> Iterator[None]:
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    yield
    end.record()
    spans.append((place, start, end))


def _median(call: Callable[[], Any]) -> float:
    """Median milliseconds, of fewer runs if they are slow."""
    (first,) = milliseconds(call, warm_up=0)
    return first if first > SLOW else float(np.median(milliseconds(call, repeats=RUNS if first < SLOW / 10 else 3)))


def _with_thesis(theirs: Any, ours: Any) -> list[str]:
    cells = [_cell(our) for our in ours]
    return cells if theirs is None else [f"{_cell(their)} / {our}" for their, our in zip(theirs, cells, strict=True)]


def _cell(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.3g}"
