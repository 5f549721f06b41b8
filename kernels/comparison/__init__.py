"""Two versions of a part of a sorted table, compared on the GPU, and the proof of the rows by which they differ.

comparison.cu  the kernels
blocks.py      their launches
block.py       the arrays of a part of a table

The CPU compares columns where Arrow has them (`pipeline/comparison`).
"""
