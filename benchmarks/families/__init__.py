"""Every kernel on twelve families of graphs, beside cuGraph: no family should be much slower than its size explains."""
