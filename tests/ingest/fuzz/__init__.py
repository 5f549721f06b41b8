"""Mutated source files of every format and compression, judged by a second reader.

`python -m tests.ingest.fuzz 100000` runs that many; `python -m tests.ingest.fuzz 1 4711` repeats input 4711 and keeps its file.
"""
