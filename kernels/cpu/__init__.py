"""Shared parts of the CPU kernels.

Read `parallel.py` (loops over rows on all cores) and `compiled.py` (Numba's `njit`) first.
"""
