"""From an edge list to the stored graph: arrays in, arrays out.

cleaning.py   an edge list to clean arcs, numbered by rank
numbering.py  external ids to ranks, their place in ascending order
sorting.py    counting sorts from edges to rows of arcs, and back from out-rows to in-rows
orders.py     which rank becomes which row
rows.py       ranks to rows
vect_csr.py   the vector extension of rows
shards.py     where the rows are cut
cuda.py       all of it on the GPU (arcs.cu, rows.cu), over one radix sort (radix_sort.py, radix_sort.cu)

The arrays choose the backend. A whole graph is four calls: `clean`, `by_degree`, `take_rows`, `extend`.
On the CPU everything is linear in vertices and arcs, but for the ids of a sparse range, which are sorted.
"""
