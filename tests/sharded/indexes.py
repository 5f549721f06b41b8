"""Concatenate and compare reachability indexes over shards; graphs for these tests."""

import numpy as np

from kernels.answers import IndexPart, Labels, ReachabilityIndex
from kernels.distributed.shard import ShardAnswer
from kernels.graph import Array, Csr, Graph
from tests.reachability import digraph

PER_NODE = ("level", "height", "low", "post", "first", "last", "reaches", "reached")


def joined(csrs: list[Csr]) -> Csr:
    degrees = np.concatenate([np.diff(csr.offsets) for csr in csrs])
    return Csr(np.concatenate([[0], np.cumsum(degrees)]), np.concatenate([csr.indices for csr in csrs]), None)


def same(found: Array, expected: Array, name: str) -> None:
    assert found.dtype == expected.dtype, name
    np.testing.assert_array_equal(found, expected, name)


def assert_index(parts: list[ShardAnswer[IndexPart]], expected: ReachabilityIndex) -> None:
    assert len({part.supersteps for part in parts}) == 1
    answers = [part.answer for part in parts]
    dags, dag = [part.index.condensation for part in answers], expected.condensation
    for name in ("node", "names"):
        same(np.concatenate([getattr(part, name) for part in dags]), getattr(dag, name), name)
    for name in ("children", "parents"):
        csr, expected_csr = joined([getattr(part, name) for part in dags]), getattr(dag, name)
        same(csr.offsets, expected_csr.offsets, name)
        same(csr.indices, expected_csr.indices, name)
    labels = expected.labels
    for name in PER_NODE:
        same(np.concatenate([getattr(part.index.labels, name) for part in answers], axis=-1), getattr(labels, name), name)
    for part in answers:
        same(part.index.labels.supports, labels.supports, "supports")
        assert [getattr(part.index.labels, name) for name in ("method", "seed", "compared_paths")] == [
            labels.method, labels.seed, labels.compared_paths,
        ]  # fmt: skip
    assert [node for part in answers for node in part.nodes] == list(range(dag.num_nodes))
    for name, values in of_rows(labels, dag.names, dag.node).items():
        same(np.concatenate([getattr(part.rows, name) for part in answers], axis=-1), values, name)


def of_rows(labels: Labels, names: Array, node: Array) -> dict[str, Array]:
    return {"labels": names[node], "level": labels.level[node], "low": labels.low[:, node], "post": labels.post[:, node]}


def layered(layers: int, width: int, degree: int, near: int | None = None) -> Graph:
    """A layered DAG: arcs go from each layer to random vertices of the next, with shuffled ids.

    With `near`, an arc leads to a vertex at most `near` columns away, and ids ascend column by column.
    """
    numbers = np.random.default_rng(layers)
    src = np.repeat(np.arange((layers - 1) * width), degree)
    column = numbers.integers(0, width, len(src)) if near is None else (src + numbers.integers(-near, near + 1, len(src))) % width
    dst = (src // width + 1) * width + column
    ids = numbers.permutation(layers * width)
    if near is not None:
        ids = np.arange(layers * width) % width * layers + np.arange(layers * width) // width
    return digraph(ids[src], ids[dst], layers * width)


def sparse_digraph(degree: float) -> Graph:
    """A random digraph, which has a giant strong component if the degree is at least 1."""
    src, dst = np.random.default_rng(int(10 * degree)).integers(20_000, size=(2, int(20_000 * degree)))
    return digraph(src, dst, 20_000)
