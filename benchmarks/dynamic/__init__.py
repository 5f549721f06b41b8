"""Graphs that change: the experiments of their source document, and batches in every structure."""
