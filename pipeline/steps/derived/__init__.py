"""Tables that follow from the stored graph and from proved answers, one row for each vertex."""
