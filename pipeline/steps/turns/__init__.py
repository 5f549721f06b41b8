"""Turn restrictions and turn costs: a second stored graph, with split crossings, on which paths are found.

A copy of a crossing stands for what was travelled before it: the arcs of a prefix of a restriction, or one arc whose turns cost.
It has the leaving arcs that are permitted then, and their weights contain what the turn costs. The crossing itself keeps all
leaving arcs, for paths that begin there or arrive in another way. Arcs without weight lead from it and from its copies to its
end, which has no leaving arc. So the distance from s to t is that from s to the end of t, or to t if t is not split; and a path
that returns to a crossing counts as the shortest of all permitted ones.

A place within a street (`pipeline.steps.attaching`) is split like a crossing at which every turn back is forbidden.

arcs.py        the arcs of streets
prefixes.py    restrictions as sequences of arcs, and their prefixes
costs.py       what turns cost
splitting.py   the arcs of the split graph
graph.py       the steps that store it
turned.py      the rows of its vertices, and of crossings
proof.py       every permitted movement is there, and no forbidden one
folding.py     answers on the split graph as answers of crossings
stages.py      stages on it
"""

SPLIT, TURNED = "split", "turned"  # the steps: its edge list, and the stored graph
COPIES, MOVEMENTS = "copies.parquet", "movements.parquet"  # beside the edges; see `splitting`
