"""The benchmark LDBC Graphalytics on one graph: its algorithms, outputs in its form, validation by its rules, and times.

Read `benchmark.py` first. The definitions are those of Iosup et al., The LDBC Graphalytics Benchmark, arXiv 2011.15028, 2020.
Results are not audited by LDBC.
"""
