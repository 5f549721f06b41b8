"""The index as a step of a run: its labels, its memory, its proof and its publication."""

from pathlib import Path

import numpy as np
import pytest

from kernels.registry import BY_NAME
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.config.run import STAGES
from pipeline.config.stages import ReachabilityConfig
from pipeline.errors import Damaged, ProofFailed, TooLarge
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.publication.publish import publish
from pipeline.steps.publication.results import Results
from pipeline.steps.reach import reach
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage, tabulate_index
from pipeline.steps.verify import prove
from pipeline.store.index.folder import find_index
from pipeline.store.manifest import make, read
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import layered, write_pairs


@pytest.mark.parametrize("method", ["tree", "dfs"])
def test_labels_follow_the_configuration_of_the_run(method, tmp_path):
    source = layered(tmp_path / "arcs.parquet", 6, 5)
    asked = {"dimensions": 5, "seed": 2**64 - 1, "method": method}
    config = run_config("test", graph={"source": source}, output=tmp_path / "out", stages=STAGES, reachability=asked)
    published = run(config)
    labels = tables.read(published.path / "reachability_labels")
    expected = ["vertex", "labels", "level", *(f"{name}_{number}" for number in range(5) for name in ("low", "post"))]
    assert labels.column_names == expected
    described = published.facts["tables"]["reachability_labels"]["columns"]
    assert [column["name"] for column in described] == expected
    assert asked.items() <= find_index(tmp_path / "out" / "latest" / "reachability_index").facts.items()
    again = run(config)
    assert again.facts["steps"]["reachability_index"]["reused"]
    other = run(config.model_copy(update={"reachability": ReachabilityConfig(dimensions=5, seed=1, method=method)}))
    assert not other.facts["steps"]["reachability_index"]["reused"]


def test_an_index_that_cannot_fit_is_refused_with_both_numbers(tmp_path):
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 30, 40)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    with pytest.raises(
        TooLarge, match=r"1,192 vertices .* in 1,000,000,000 dim.* takes up to [\d,]{9,} MiB .* and [\d,]+ MiB are free"
    ):
        build_index(graph, ReachabilityConfig(dimensions=10**9), Runtime(tmp_path))
    assert not (tmp_path / "reachability_index").exists()
    assert build_index(graph, ReachabilityConfig(), Runtime(tmp_path)).facts["bytes_needed"] < 2**24


@pytest.mark.parametrize("name", ["low", "post", "first", "height", "reaches", "node", "rows_by_id", "children-indices"])
def test_a_wrong_index_is_neither_proved_nor_published(name, tmp_path):
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 30, 40)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    true = build_index(graph, ReachabilityConfig(), Runtime(tmp_path))

    def write(folder: Path) -> dict:
        for file in true.manifest.files:
            (folder / file).write_bytes((true.path / file).read_bytes())
        array = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", array[..., ::-1].copy())
        return true.facts

    wrong = make(true.path, "reachability_index", {"graph": graph.digest, "wrong": name}, {}, write)
    answer = tabulate_index(graph, BY_NAME["reachability"], wrong, Runtime(tmp_path))
    with pytest.raises(ProofFailed):
        prove(graph, answer, False, Runtime(tmp_path))
    assert not (tmp_path / "proof-reachability").exists()
    edges = read(tmp_path / "edges")
    with pytest.raises(ProofFailed):
        publish(tmp_path / "out", Results("wrong", edges, graph, [answer], []))


def test_answers_of_another_index_are_not_published(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    graph = lay_out(
        ingest(GraphConfig(source=layered(tmp_path / "a.parquet", 3, 4)), tmp_path), LayoutConfig(), Runtime(tmp_path)
    )
    other = reach(build_index(graph, ReachabilityConfig(seed=1), Runtime(tmp_path / "other")), pairs, tmp_path / "reached")
    answer = run_stage(graph, "reachability", (), Runtime(tmp_path))
    proof = prove(graph, answer, False, Runtime(tmp_path))
    with pytest.raises(ProofFailed, match="another index"):
        publish(tmp_path / "out", Results("name", read(tmp_path / "edges"), graph, [answer], [proof], reached=other))
    (tmp_path / "reachability_index").rename(tmp_path / "gone")
    (tmp_path / "other" / "reachability_index").rename(tmp_path / "reachability_index")
    with pytest.raises(Damaged, match="is not the index that"):
        publish(tmp_path / "out", Results("name", read(tmp_path / "edges"), graph, [answer], [proof]))
