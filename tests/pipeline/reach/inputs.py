"""Files of pairs, and graphs with an index."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[3]


def write_pairs(path: Path, src: object, dst: object, **options: object) -> str:
    pq.write_table(pa.table({"src": src, "dst": dst}), path, **options)
    return str(path)


def layered(path: Path, layers: int, width: int, seed: int = 0) -> str:
    """Write two random arcs per vertex from each layer to the next; ids have gaps."""
    random = np.random.default_rng(seed)
    src = np.repeat(np.arange((layers - 1) * width), 2)
    dst = (src // width + 1) * width + random.integers(0, width, len(src))
    pq.write_table(pa.table({"src": src * 3 + 1, "dst": dst * 3 + 1}), path)
    return str(path)


def edges_of_votes() -> pd.DataFrame:
    return pd.read_csv(ROOT / "data" / "wiki-Vote.txt.gz", sep="\t", comment="#", names=["src", "dst"])
