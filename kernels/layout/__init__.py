"""From an edge list to the stored graph: arrays in, arrays out.

numbering.py  external ids to ranks, their place in ascending order
sorting.py    counting sorts from edges to rows of arcs, and back from out-rows to in-rows
cleaning.py   parallel arcs
orders.py     which rank becomes which row
vect_csr.py   rows in their order, and the vector extension
shards.py     where the rows are cut

Everything is linear in vertices and arcs, but for the ids of a sparse range, which are sorted.
"""
