"""Numbers that Python and CUDA share."""

THREADS = 512  # of a block
RANGE = 32  # arcs in a range of the searches' queue, at most: one for each lane
CONTROL_WORDS = 4  # of 64 bits, in Control before the blocks' pivots, which have two words each
