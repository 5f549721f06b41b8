"""Certificate of CDLP: the labels of every round are found again.

No pass over the arcs tells the labels of ten rounds from those of nine. The certificate therefore repeats the rounds, by other
means than the solver. A row keeps its label if no neighbour's label has changed, or if more than half of the votes are for it:
in late rounds of most graphs this decides all rows, without counts of other labels. In the first round all labels differ, and a
row of a symmetric graph takes the smallest one unless arcs are parallel. Of other rows all votes are counted, by hashing
(`cpu.py`) or sorting (`cuda.py`).
"""

from kernels.answers import Certificate, Components
from kernels.arrays import is_cupy, is_cupy_array
from kernels.cdlp.certificate.reasons import another_label
from kernels.cdlp.parameters import ITERATIONS
from kernels.certificate.rules import Broken, name_of, require_rows, verdict
from kernels.graph import Array, Csr, Graph


def rules_of(iterations: int) -> tuple[str, ...]:
    """What the certificate proves."""
    return (
        f"labels are those of {iterations} rounds, in each of which every vertex takes the label of most of its neighbours, of "
        "several the smallest",
    )


def certify_cdlp(graph: Graph, answer: Components, iterations: int = ITERATIONS) -> Certificate:
    """Prove labels. O(iterations A) time on a CPU. A malformed answer does not hold; nothing is raised."""
    return verdict(rules_of(iterations), _check, graph, answer, iterations)


def _check(graph: Graph, answer: Components, iterations: int) -> None:
    if is_cupy(graph):
        from kernels.certificate.launches import require_held

        require_held(_holds, _check, graph, answer, iterations)
        return
    stated = require_rows("labels", answer.labels, graph.num_vertices, graph.num_vertices, row=graph.rows_by_id.dtype)
    expected = _expected(graph, iterations)
    if (stated != expected).any():
        row = int((stated != expected).argmax())
        raise Broken(another_label(*(name_of(graph, one) for one in (row, stated[row], expected[row]))))


def _holds(graph: Graph, answer: Components, iterations: int) -> bool:
    from kernels.certificate.launches import require_device_form

    stated = require_device_form("labels", answer.labels, graph.num_vertices, graph.rows_by_id.dtype)
    return bool((stated == _expected(graph, iterations)).all())


def _expected(graph: Graph, iterations: int) -> Array:
    """The row that each row's label names, after all rounds."""
    labels, before = graph.positions, None
    sides = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    for _ in range(iterations):
        after = recounted(sides, labels, before, graph.num_vertices)
        if (after == labels).all():
            break
        labels, before = after, labels
    return graph.rows_by_id[labels]


def recounted(sides: tuple[Csr, ...], labels: Array, before: Array | None, num_own: int) -> Array:
    """The labels of the first `num_own` rows after a round.

    Args:
        sides: The arcs that count, of the own rows at least.
        labels (index width): Of all rows that arcs lead to, as positions.
        before: The same before the last round, which gave the rows of unchanged neighbours their labels; None: there was none.
    """
    if is_cupy_array(labels):
        from kernels.cdlp.certificate.cuda import recount
    else:
        from kernels.cdlp.certificate.cpu import recount
    after: Array = recount(sides, labels, before, num_own)
    return after
