"""Code shared by breadth-first search and shortest paths: encoded lengths, unique predecessors, the certificate."""
