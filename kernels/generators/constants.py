"""Numbers that Python and CUDA share."""

THREADS = 256  # of a block
WORDS = 64  # random words of an edge, of which not all are used
# Graph500's parameters 0.57, 0.19, 0.19 and 0.05: limits of the first three quadrants for a random number of 32 bits
FIRST, SECOND, THIRD = 2448131359, 3264175145, 4080218931
GRAPH500, SOCIAL = 0, 1  # kinds of graphs
COMMUNITY_COLUMNS, MEMBER_COLUMNS = 4, 3  # of the tables of a social graph
EXCESS_UNITS = 64  # an edge outside of communities, in the table of members
