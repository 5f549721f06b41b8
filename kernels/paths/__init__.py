"""What breadth-first search and shortest paths share: lengths, predecessors and the certificate."""
