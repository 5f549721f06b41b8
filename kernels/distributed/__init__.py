"""One graph over many ranks: each holds a range of rows, computes locally as far as it can, then exchanges with the others.

The model is bulk-synchronous (Valiant, A Bridging Model for Parallel Computation, CACM 1990). Between two exchanges a rank
computes its local fixpoint, so that a road network, whose shards have few arcs between them, needs few supersteps. Everything
here is independent of the transport, which implements `kernels.distributed.communicator.Communicator`.
"""
