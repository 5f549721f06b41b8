"""The form of flows, and capacities, for the certificate: it shares no code with the solver but the definition of the unit."""

import numpy as np

from kernels.answers import Flows
from kernels.certificate.rules import Broken, differing, name_of, require_array, require_rows
from kernels.flow.capacities import as_weights
from kernels.gpu.transfer import on_host
from kernels.graph import OFFSET, Array, Graph, distance_dtype


def require_flows(graph: Graph, flows: Flows) -> Flows:
    """The flows on the host, or Broken unless their arrays have the lengths, types and orders that `Flows` states."""
    pairs = len(flows.src) if hasattr(flows.src, "__len__") else 0
    flows = on_host(flows)
    ends = {
        name: require_rows(name, getattr(flows, name), pairs, graph.num_vertices, row=graph.rows_by_id.dtype)
        for name in ("src", "dst")
    }
    same = ends["src"] == ends["dst"]
    if same.any():
        raise Broken(f"pair {int(same.argmax())}: src and dst are both {name_of(graph, ends['src'][same.argmax()])}")
    value = require_array("value", flows.value, pairs, distance_dtype(graph.out.weights))
    vertices = require_array("vertices", flows.vertices, pairs, OFFSET)
    cut_begins = _require_begins("cut_begins", flows.cut_begins, pairs)
    for name in ("cut_src", "cut_dst"):
        ends[name] = require_rows(name, getattr(flows, name), int(cut_begins[-1]), graph.num_vertices, row=graph.rows_by_id.dtype)
    flow_begins = _require_begins("flow_begins", flows.flow_begins, pairs)
    flow_arcs = require_array("flow_arcs", flows.flow_arcs, int(flow_begins[-1]), OFFSET)
    if len(flow_arcs) and not 0 <= flow_arcs.min() <= flow_arcs.max() < graph.num_arcs:
        raise Broken(f"flow_arcs has an arc outside 0..{graph.num_arcs - 1}")
    amounts = require_array("amounts", flows.amounts, len(flow_arcs), OFFSET)
    inside = np.ones(max(len(flow_arcs), 1) - 1, np.bool_)
    inside[flow_begins[(flow_begins > 0) & (flow_begins < len(flow_arcs))] - 1] = False
    if (inside & (flow_arcs[1:] <= flow_arcs[:-1])).any():
        raise Broken("the arcs of a flow do not ascend")
    return Flows(
        **ends, value=value, vertices=vertices, cut_begins=cut_begins,
        flow_begins=flow_begins, flow_arcs=flow_arcs, amounts=amounts,
    )  # fmt: skip


def _require_begins(name: str, begins: Array, pairs: int) -> Array:
    """Where the entries of each pair begin."""
    begins = require_array(name, begins, pairs + 1, OFFSET)
    if begins[0] != 0 or (begins[1:] < begins[:-1]).any():
        raise Broken(f"{name} do not ascend from 0")
    return begins


def require_values(graph: Graph, flows: Flows, sent: Array) -> None:
    """Raise Broken unless the values are `sent`, int64 [Q] in units of the capacities."""
    wrong = differing(flows.value, as_weights(graph, sent))
    if wrong.any():
        pair = int(wrong.argmax())
        raise Broken(
            f"{pair_name(graph, flows, pair)}: the source sends {as_weights(graph, sent)[pair]}, not {flows.value[pair]}"
        )


def pair_name(graph: Graph, flows: Flows, pair: int) -> str:
    """A pair by its place and its external ids."""
    return f"pair {pair}, {name_of(graph, flows.src[pair])} to {name_of(graph, flows.dst[pair])}"
