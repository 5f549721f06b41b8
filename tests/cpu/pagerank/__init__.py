"""PageRank on the CPU, and how cuGraph is called to compare it."""
