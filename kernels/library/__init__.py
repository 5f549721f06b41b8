"""The library for programs of users; no stage or product runs it.

Read `operators/__init__.py` or `dynamic/__init__.py` first. `operators` runs user functions over the rows of a graph, and
`dynamic` has graphs that change between searches. Both use the kernels of the stages; these never import the library
(`tests/project/test_layout.py`).
"""
