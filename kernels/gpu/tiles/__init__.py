"""Arcs in the order of tiles of heads, two bytes each: a block that visits a tile's arcs holds the heads' values."""
