"""Constants that the CUDA sources of this folder share with Python."""

SUM_OF, PRODUCT_OF, LEAST_OF, MOST_OF, FIRST_OF = 1, 2, 3, 4, 5  # how values are combined; 0: not at all
HUBS, BLOCK_ROWS, WARP_ROWS, SHORT_ROWS, GROUPS = 0, 1, 2, 3, 4  # groups of rows by degree, and how many these are
LANES = 32  # rows of a segment, and threads of a warp
RECORD_WORDS = 8  # int64 of a failure's record in functions.cuh
CONTROL_WORDS = 19  # int64 of Control in repeat.cuh
LANE_ARCS = 32  # that a lane tries alone for `collect="first"`
FIRST_BATCH = 4  # of them at a time
# Where many rows are found, operators mark them, and list them afterwards:
MARKED_ROWS = 1 << 17  # an advance that is not over a list, in a graph of more rows
MARKED_WORDS = 4  # of bits that a thread then lists
MARKED_ARCS = 1 << 16  # a round of a repeated advance that may visit more arcs ...
MARKED_SHARE = 32  # ... and more than this share of the number of rows
LIST_WORDS = 16  # of bits whose rows a warp then lists at a time
MANY_ROWS = 128  # of a warp, in a round that does not divide them into pieces
PIECE = 128  # arcs of a row that a warp of a repeated advance takes at a time
REPEAT_THREADS = 512  # of a block of a repeated advance
REPEAT_BLOCKS = 2  # of a multiprocessor that a repeated advance has
TILE_ROUND = 256  # tiles/: arcs of a tile that a warp visits at a time, and totals that it stages
