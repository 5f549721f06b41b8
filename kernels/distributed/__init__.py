"""One graph over many ranks: each holds a range of rows, works by itself as far as it can, then exchanges with the others.

The model is bulk-synchronous (Valiant, A Bridging Model for Parallel Computation, CACM 1990). Between two exchanges a rank
works to its local fixpoint, so that a road network, whose shards touch each other little, needs few supersteps. Nothing here
knows what carries the arrays: `kernels.distributed.communicator` says what is asked of it.
"""
