"""Method "dfs": the forest of a depth-first search, found without the search."""
