"""Products: tables that follow from the shortest paths from many vertices. Tasks are ranges of sources on the whole graph."""
