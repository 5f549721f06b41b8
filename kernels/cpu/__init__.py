"""Shared parts of the CPU kernels."""
