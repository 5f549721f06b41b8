"""Path searches over ranks: multi-source BFS, predecessors and long paths."""
