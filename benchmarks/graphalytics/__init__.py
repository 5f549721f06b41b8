"""The six algorithms of LDBC Graphalytics beside other libraries: read `bench.py` first."""
