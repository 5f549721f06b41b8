"""The certificate of flows on CuPy arrays (flows.cu): the free memory decides how many pairs run at a time."""

import cupy
import numpy as np

from kernels.answers import Flows
from kernels.certificate.launches import require_device_form, require_held
from kernels.certificate.rules import differing
from kernels.flow.capacities import as_weights, capacities
from kernels.flow.certificate import cpu
from kernels.flow.constants import PROOF_THREADS
from kernels.gpu.loader import at_once, launch
from kernels.graph import OFFSET, Graph, distance_dtype


def check(graph: Graph, flows: Flows) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, flows)


def _holds(graph: Graph, flows: Flows) -> bool:
    if not _is_formed(graph, flows):
        return False
    row, pairs, rows, arcs = graph.rows_by_id.dtype, len(flows.src), graph.num_vertices, graph.num_arcs
    tails = (cupy.searchsorted(graph.out.offsets, flows.flow_arcs, side="right") - 1).astype(row)
    sent, broken = cupy.zeros(pairs, OFFSET), cupy.zeros(1, np.uint32)
    held = graph.out.offsets, graph.out.indices, capacities(graph), graph.positions, np.int64(rows), np.int64(arcs)
    step = at_once("the proof of the flow of one pair", 8 * arcs + (8 + row.itemsize) * rows)
    for first in range(0, pairs, step):
        some = slice(first, min(first + step, pairs))
        count, begins = some.stop - first, slice(first, some.stop + 1)
        ends = (flows.src[some], flows.dst[some], flows.vertices[some])
        lists = (
            flows.flow_begins[begins],
            tails,
            flows.flow_arcs,
            flows.amounts,
            flows.cut_begins[begins],
            flows.cut_src,
            flows.cut_dst,
        )
        slots = cupy.empty((count, arcs), np.int64), cupy.empty((count, rows), np.int64), cupy.empty((count, rows), row)
        arguments = (*held, *ends, *lists, *slots, sent[some], broken)
        launch("flow/certificate/flows.cu", "check_flows", PROOF_THREADS, None, *arguments, blocks=count, plain=True, ROW=row)
    return not broken[0] and not differing(flows.value, as_weights(graph, sent)).any()


def _is_formed(graph: Graph, flows: Flows) -> bool:
    """Whether the arrays have the lengths and types that `Flows` states, and name rows and arcs of the graph; raises Broken."""
    row, pairs = graph.rows_by_id.dtype, len(flows.src)
    for name, of_type in (("src", row), ("dst", row), ("value", distance_dtype(graph.out.weights)), ("vertices", OFFSET)):
        require_device_form(name, getattr(flows, name), pairs, of_type)
    ranges = [(flows.src, graph.num_vertices), (flows.dst, graph.num_vertices)]
    for begins, lists in (("cut_begins", ("cut_src", "cut_dst")), ("flow_begins", ("flow_arcs", "amounts"))):
        starts = require_device_form(begins, getattr(flows, begins), pairs + 1, OFFSET)
        if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
            return False
        for name in lists:
            of_type = row if begins == "cut_begins" else OFFSET
            array = require_device_form(name, getattr(flows, name), int(starts[-1]), of_type)
            if name != "amounts":
                ranges.append((array, graph.num_arcs if name == "flow_arcs" else graph.num_vertices))
    inside = (not len(array) or bool(array.min() >= 0 and array.max() < end) for array, end in ranges)
    return all(inside) and not (flows.src == flows.dst).any()
