"""Proofs of many trees at a time, against the arcs of the graph."""
