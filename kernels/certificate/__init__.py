"""Shared parts of the certificates: the form rules, launches, and the global view of a graph held by several ranks.

Read `rules.py` first: a broken rule raises `Broken`, and `verdict` makes a certificate of it.
"""
