"""Flows over sums of parallel rows, in a run on the GPU whose other stages use the lightest."""

import pytest

pytest.importorskip("cupy")

from pipeline.config.loading import run_config
from pipeline.run import run
from tests.pipeline.reach.inputs import write_pairs


def test_a_run_on_the_gpu_publishes_the_tables_of_one_on_the_cpu(tmp_path):
    rows = [(src, dst, src + dst) for src in range(6) for dst in range(6) if (src * dst) % 3 != 1]
    (tmp_path / "g.csv").write_text("src,dst,weight\n" + "".join(f"{src},{dst},{weight}\n" for src, dst, weight in rows * 2))
    pairs = write_pairs(tmp_path / "pairs.parquet", [0, 2], [5, 3])
    asked = {"graph": {"source": str(tmp_path / "g.csv")}, "stages": ["sssp", "max_flow"], "max_flow": {"pairs": pairs}}
    published = [run(run_config("test", output=tmp_path / name, backend=name, **asked)) for name in ("cpu", "gpu")]
    for table in ("sssp", "max_flow", "arcs"):
        cpu, gpu = ({file.name: file.read_bytes() for file in (of.path / table).iterdir()} for of in published)
        assert list(cpu.values()) == list(gpu.values())
    assert published[1].facts["input"]["capacities"]["rule"] == "sum"
