"""Shared parts of the GPU kernels: the CUDA loader, device headers and the radix sort.

Read `loader.py` first: how a source is compiled and launched. Modules named `cuda` launch kernels of their own folder; a folder
named `gpu` has what several of these share.
"""
