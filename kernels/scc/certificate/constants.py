"""Numbers that Python and CUDA share."""

CHUNK = 256  # arcs in an entry of a search's queue, at most
