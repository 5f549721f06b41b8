"""From an edge list to the stored graph: arrays in, arrays out.

rules.py      which arcs of an edge list a graph has
cleaning.py   an edge list to clean arcs between positions
numbering.py  external ids to positions in their ascending order
sorting.py    counting sorts from edges to rows of arcs, and from out-rows to in-rows
orders.py     the order of the rows
rows.py       arcs between positions to arcs between rows
vect_csr.py   the vector extension of rows
cuda.py       all of it on the GPU (arcs.cu, rows.cu), with `kernels.gpu.radix_sort`
sharded/      all of it over ranks

The arrays choose the backend. A complete graph takes four calls: `clean`, `by_degree`, `take_rows`, `extend`.
On the CPU everything is linear in vertices and arcs, except that ids of a sparse range are sorted.
"""
