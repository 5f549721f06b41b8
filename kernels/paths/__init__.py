"""Code shared by breadth-first search and shortest paths: encoded lengths, unique predecessors, the certificate.

Read `lengths.py` and `predecessors_cpu.py` first. `team.py` launches the search of long paths on a GPU, and `certificate/`
proves the answers of both.
"""
