"""Changes of a stored graph's arcs, merged into its rows: the base is read once, and the order of the rows stays.

arcs.py   changes of arcs, sorted as arcs are, the newest of each pair of rows
merge.py  `locate` finds the stored arcs of pairs of rows, `merge` makes the new rows; on the CPU
cuda.py   the same on the GPU (merge.cu)

The arrays choose the backend. Time: a binary search for each change, then one pass over the arcs.

Reference: Green, McColl, Bader: GPU Merge Path. ICS 2012 (an output divided evenly by searches in both inputs; here the base is
divided evenly, and each tile finds its changes).
"""

from kernels.layout.changes.arcs import ArcChanges, newest, repeated
from kernels.layout.changes.merge import locate, merge

__all__ = ["ArcChanges", "locate", "merge", "newest", "repeated"]
