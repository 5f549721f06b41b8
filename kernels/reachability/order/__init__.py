"""Topological orders of the nodes, and sweeps along them."""
