"""Compiled functions: where their code is kept, and the parts of Numba that they need."""
