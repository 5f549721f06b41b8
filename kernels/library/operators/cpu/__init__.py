"""The operators on the CPU: loops that Numba compiles around user functions."""
