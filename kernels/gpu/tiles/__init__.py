"""Arcs in the order of tiles of heads, two bytes each: a block that visits a tile's arcs holds the heads' values."""

BAND_ARCS = 1 << 25  # arcs of a band of rows, unless a row has more
