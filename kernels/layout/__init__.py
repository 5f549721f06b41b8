"""From an edge list to the stored graph: arrays in, arrays out, on one rank or many.

Read `building.py` first.

building.py   `build_csr`, the entry: on one rank, which holds the whole graph, or over ranks
laid_out.py   what a rank has of a graph that was laid out: its rows, taken from arcs between positions
rules.py      edge lists, and which of their arcs a graph has
cleaning.py   an edge list to clean arcs between positions
numbering.py  external ids to positions in their ascending order
sorting.py    a radix sort from edges to rows of arcs, and from out-rows to in-rows
spilling.py   where arcs go that memory does not hold
orders.py     the order of the rows
cuda.py       all of it on the GPU (arcs.cu, rows.cu), with `kernels.gpu.radix_sort`
on_gpu/       its numbering; the same for rows that a GPU does not hold
sharded/      all of it over ranks
parallel/     parallel rows become one edge by a rule, before all of it

The arrays choose the backend. On the CPU everything is linear in vertices and arcs, except that ids of a sparse range are sorted.
"""
