"""Shared parts of the certificates: the form rules, launches, and the global view of a graph held by several ranks."""
