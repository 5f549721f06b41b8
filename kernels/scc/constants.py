"""Numbers that Python and CUDA share."""

THREADS = 512  # of a block
RANGE = 32  # arcs in a range of the searches' queue, at most: one for each lane
CHUNK = 256  # arcs in an entry of a search's queue in the proof, at most
CONTROL_WORDS = 4  # of 64 bits, in Control before the blocks' pivots, which have two words each
