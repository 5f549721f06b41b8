"""Shared by components, the spanning forest, and orders of condensations: union-find, names of components, and Kahn's order.

Read `union_find.py` first.
"""
