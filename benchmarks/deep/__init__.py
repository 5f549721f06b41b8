"""Graphs whose searches have about as many levels as the graph has vertices, on a GPU and on the CPU of the same machine."""
