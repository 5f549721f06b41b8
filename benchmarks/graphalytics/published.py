"""The best processing times of the competition of 2023, seconds: other machines, with up to eight GPUs or several hosts.

Source: github.com/ldbc/graphalytics-competition-2023-results. libgrape-gpu, but for CDLP at 22 and 23 (libgrape-lite) and WCC at
27 (Geacompute).
"""

PUBLISHED: dict[str, dict[str, float]] = {
    "graph500-22": {"bfs": 0.003, "wcc": 0.006, "pr": 0.011, "cdlp": 0.122, "lcc": 0.074},
    "graph500-23": {"bfs": 0.004, "wcc": 0.008, "pr": 0.019, "cdlp": 0.154, "lcc": 0.163},
    "graph500-24": {"bfs": 0.006, "wcc": 0.015, "pr": 0.032, "cdlp": 0.220, "lcc": 0.373},
    "graph500-25": {"bfs": 0.008, "wcc": 0.054, "pr": 0.097, "cdlp": 0.364, "lcc": 0.842},
    "graph500-26": {"bfs": 0.020, "wcc": 0.128, "pr": 0.284, "cdlp": 0.588, "lcc": 1.988},
    "graph500-27": {"bfs": 0.024, "wcc": 0.233, "pr": 0.703, "cdlp": 1.023, "lcc": 4.950},
}
