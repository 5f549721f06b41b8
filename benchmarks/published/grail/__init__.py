"""Queries of the source document on GRAIL: its searches, graphs with the shapes of its graphs, and sets of pairs."""
