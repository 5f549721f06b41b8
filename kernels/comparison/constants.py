"""Constants that the CUDA source shares with Python."""

ADDED, REMOVED, CHANGED = 0, 1, 2  # the kinds of rows by which two blocks differ
MOST_COLUMNS = 31  # of values: a row has a bit for each, and one that its key was added
