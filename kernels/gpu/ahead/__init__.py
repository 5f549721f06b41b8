"""CUDA sources are compiled before they are needed, by several processes at a time, as NVRTC compiles one in a process.

A first run on a GPU needs about 150 sources, of which most are CuPy's own, and their compilation takes a minute of one core.
`requests.json` names what usual runs need, in the order in which they need it; `python -m benchmarks.runs.compiled` wrote it.
Whatever it does not name, on another GPU or with another version of CuPy, is compiled when it is needed, as without it.

Read `begin.py` first. The code is kept where CuPy keeps it.
"""
