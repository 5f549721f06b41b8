"""Answers to queries with their proof: of those that labels decide, it is the index's; of the others it is here.

A search's yes comes with a path: its ends have to be the query's, and each of its steps a stored arc. A search's no is checked in
a random sample, by a search that shares no code with the one that answered: depth-first from `src`, over all arcs except those to
nodes that the proved labels exclude. If it does not find `dst`, the nodes that it visited are closed: an arc leaves them only to
nodes that do not reach `dst`. Without labels a single no would visit a large part of the graph.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.answers import ReachabilityIndex, Reached
from kernels.arrays import is_cupy
from kernels.graph import Array
from kernels.reachability.constants import SEARCH
from kernels.reachability.queries.sizes import PATH_NODES

SAMPLE = 1_000


class WrongAnswer(Exception):
    """The answer to query `query` is refuted, or not proved; the message has the reason."""

    def __init__(self, query: int, reason: str):
        super().__init__(reason)
        self.query = query


@dataclass(frozen=True)
class ProvedAnswers:
    """Answers to Q queries, and what was checked of those that a search decided."""

    answers: Reached
    searched: int  # queries that a search decided
    witnessed: int  # those of them with the answer yes; the path of each was checked
    sampled: int  # those with the answer no that were searched again


def reach_with_proof(
    index: ReachabilityIndex, src: Array, dst: Array, sample: int = SAMPLE, seed: int | Sequence[int] = 0
) -> ProvedAnswers:
    """Answer as `kernels.reachability.reach`, and prove what searches decide.

    Args:
        src, dst (integers [Q]): Rows of the graph.
        sample: Number of queries to check of those that a search answered with no; all if there are fewer.
        seed (int or sequence of int): Of the sample, which is drawn without replacement.

    Raises:
        WrongAnswer: A path is not one, or the second search finds one.
        IndexError, TypeError, ValueError: See `reach`.
    """
    if is_cupy(index.condensation.children):
        from kernels.reachability.certificate.answers_cuda import first_reached, first_wrong_path
        from kernels.reachability.queries.cuda import answer_by_labels, trace
    else:
        from kernels.reachability.certificate.answers_cpu import first_reached, first_wrong_path
        from kernels.reachability.queries.cpu import answer_by_labels
        from kernels.reachability.queries.witness import trace
    answers, node, level = answer_by_labels(index, src, dst), index.condensation.node, index.labels.level
    left = (answers.decided == SEARCH).nonzero()[0]
    u, v = node[src[left]], node[dst[left]]
    for part, begins in _parts(level[v] - level[u].astype(np.int64) + 2):
        paths = trace(index, u[part], v[part], begins)
        answers.reachable[left[part]] = paths.lengths > 0
        if (wrong := first_wrong_path(index.condensation.children, u[part], v[part], paths)) >= 0:
            raise WrongAnswer(int(left[part][wrong]), "the search's path is not one of the graph")
    no = (~answers.reachable[left]).nonzero()[0]
    drawn = np.sort(np.random.default_rng(seed).choice(len(no), min(sample, len(no)), replace=False))
    checked = no[np.asarray(drawn, like=no)]
    if (wrong := first_reached(index, u[checked], v[checked])) >= 0:
        raise WrongAnswer(int(left[checked[wrong]]), "the search found no path, but there is one")
    return ProvedAnswers(answers, len(left), len(left) - len(no), len(checked))


def _parts(sizes: Array) -> Iterator[tuple[slice, Array]]:
    """Slices of queries whose paths, of these sizes at most, take PATH_NODES nodes together, or are one; and their bounds."""
    ends = sizes.cumsum()
    begin, before = 0, 0
    while begin < len(sizes):
        end = max(int((ends <= before + PATH_NODES).sum()), begin + 1)
        bounds = np.zeros_like(ends, shape=(end - begin + 1,))
        bounds[1:] = ends[begin:end] - before
        yield slice(begin, end), bounds
        begin, before = end, int(ends[end - 1])
