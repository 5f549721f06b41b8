"""Mutated source files of every format and compression, judged by a second reader.

A Parquet file, of pyarrow, pandas, Polars or DuckDB, is also read as pairs, changes, nodes and coordinates. It is read wrongly if
something accepted differs from the rows that DuckDB reads from the same bytes, or if its schema and its row groups name columns
differently. A value that changed in a page without a checksum is not wrong: nobody can see that. Refusing is never wrong here;
that complete files are read is the subject of tests/ingest/parquet/.

`python -m tests.ingest.fuzz 100000` runs that many; `python -m tests.ingest.fuzz 1 4711` repeats input 4711 and keeps its file.
"""
