"""The certificate of a reachability index on NumPy arrays."""

from typing import NamedTuple

import numpy as np

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.certificate.rules import Broken
from kernels.cpu.parallel import WORTH_A_THREAD, over_items
from kernels.graph import OFFSET, Array, Graph
from kernels.reachability.certificate import passes, reasons
from kernels.reachability.certificate.condensation import Rows, check_condensation
from kernels.reachability.certificate.forms import are_roots_wrong, of_dimension, require_labels, turned_roots
from kernels.reachability.keys import salt_of


class Subject(NamedTuple):
    """What is proved, with the graph whose ids the reasons name."""

    graph: Graph
    condensation: Condensation
    children: Rows
    parents: Rows
    labels: Labels

    def require(self, name: str, label: Array, first_broken: int) -> None:
        """Raise Broken if a pass found a node that breaks its rule; -1 means none."""
        if first_broken >= 0:
            raise Broken(reasons.wrong_label(self.graph, self.condensation, name, label, first_broken))


def check(graph: Graph, index: ReachabilityIndex) -> None:
    """Raise Broken at the first rule of a reachability index that does not hold."""
    children, parents = check_condensation(graph, index.condensation)
    labels = require_labels(index.labels, len(parents[0]) - 1, parents[1].dtype)
    subject = Subject(graph, index.condensation, children, parents, labels)
    subject.require("level", labels.level, passes.first_wrong_level(*parents, labels.level))
    subject.require("height", labels.height, passes.first_wrong_level(*children, labels.height))
    _check_supports(subject)
    work = len(labels.level) + len(children[1])
    over_items(range(labels.dimensions), lambda i: _check_dimension(subject, i), parallel=work > WORTH_A_THREAD)


def _check_supports(subject: Subject) -> None:
    labels, num_nodes = subject.labels, len(subject.labels.level)
    scores = (np.diff(subject.parents[0]) + 1) * (np.diff(subject.children[0]) + 1)
    known, levels = (labels.supports >= 0) & (labels.supports < num_nodes), int(labels.level.max(initial=-1)) + 1
    of_supports = np.zeros(len(known), OFFSET)
    of_supports[known] = scores[labels.supports[known]]
    place, present = passes.first_wrong_support(labels.level, scores, 0, num_nodes, levels, labels.supports, of_supports)
    wrong = np.flatnonzero(present != (labels.supports != -1))
    if place >= 0 or len(wrong):
        raise Broken(reasons.wrong_support(int(wrong[0]) if place < 0 else place))
    own = np.zeros(num_nodes, np.uint64)
    used = np.flatnonzero(labels.supports >= 0)
    own[labels.supports[used]] = np.uint64(1) << used.astype(np.uint64)
    subject.require("reaches", labels.reaches, passes.first_wrong_bits(*subject.children, own, labels.reaches))
    subject.require("reached", labels.reached, passes.first_wrong_bits(*subject.parents, own, labels.reached))


def _check_dimension(subject: Subject, dimension: int) -> None:
    labels = subject.labels
    out, into, level, (first, last, low, post) = of_dimension(labels, dimension, subject.children, subject.parents)
    roots = np.flatnonzero(level == 0).astype(last.dtype)
    random, salt, num_nodes = dimension > 0, salt_of(labels.seed, dimension), len(level)
    if labels.method == "tree":
        numbers, draws = np.arange(num_nodes, dtype=last.dtype), (num_nodes, random, salt)
        parent = passes.drawn_parents(*into, level, numbers, *draws)
        starts = turned_roots(roots, salt, num_nodes) if random else roots
        node = passes.first_wrong_block(*out, numbers, num_nodes, parent, first, last, *draws)
    else:
        visits, starts = passes.sorted_by_key(*out, roots, random, salt)
        node = passes.first_wrong_visit(out[0], visits, first, last)
    node = num_nodes if are_roots_wrong(starts, first, last) else node
    if node >= 0:
        raise Broken(reasons.wrong_blocks(subject.graph, subject.condensation, dimension, node))
    subject.require(f"low of dimension {dimension}", low, passes.first_wrong_low(*out, last, low))
    subject.require(f"post of dimension {dimension}", post, passes.first_wrong_post(*out, last, post))
