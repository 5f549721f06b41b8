"""A published index, read from its folder: what answers, and what is refused."""

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from pipeline.config.graph import GraphConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, Damaged, ProofFailed
from pipeline.run import run
from pipeline.steps.reach import reach, reach_into
from pipeline.store import manifest
from pipeline.store.index.folder import FORMAT, find_index
from tests.pipeline.reach.inputs import edges_of_votes, layered, write_pairs


def test_a_published_index_is_the_steps_and_needs_no_other_folder(votes, tmp_path):
    index = find_index(votes / "latest")
    assert index.digest == find_index(votes / "steps" / "reachability_index").digest
    assert find_index(votes).path == index.path
    for file in index.manifest.files:
        assert (index.path / file).samefile(votes / "steps" / "reachability_index" / file)
    random = np.random.default_rng(2)
    ids = np.unique(edges_of_votes().to_numpy())
    pairs = write_pairs(tmp_path / "pairs.parquet", *random.choice(ids, (2, 50_000)))
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for file in index.path.iterdir():
        (moved / file.name).write_bytes(file.read_bytes())
    answers = [reach(find_index(path), pairs, tmp_path / f"out-{number}") for number, path in enumerate((votes, moved))]
    assert answers[0].manifest.files == answers[1].manifest.files
    assert answers[0].digest == answers[1].digest


def test_the_index_of_another_graph_does_not_answer_for_a_run(votes, small, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", [1], [4])
    moved = shutil.copytree((small[0] / "latest").resolve(), tmp_path / "run")
    assert find_index(moved).facts["vertices"] == len(small[1])
    shutil.rmtree(moved / "reachability_index")
    with pytest.raises(Damaged, match=r"reachability_index/manifest\.json: missing"):
        find_index(moved)
    copied(votes, moved / "reachability_index")
    with pytest.raises(Damaged, match=r"reachability_index: is not the index that .*run was published with"):
        reach_into(moved, pairs, tmp_path / "out")


def copied(votes: Path, folder: Path) -> Path:
    folder.mkdir()
    for file in (votes / "latest" / "reachability_index").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize("file", ["low.npy", "node.npy", "reaches.npy", "ids.npy", "manifest.json"])
@pytest.mark.parametrize("harm", ["change", "cut", "remove"])
def test_a_damaged_index_answers_nothing(votes, file, harm, tmp_path):
    index = copied(votes, tmp_path / "index")
    content = bytearray((index / file).read_bytes())
    if harm == "remove":
        (index / file).unlink()
    elif harm == "cut":
        (index / file).write_bytes(content[:-5])
    else:
        content[len(content) * 2 // 3] ^= 1
        (index / file).write_bytes(content)
    with pytest.raises(Damaged, match=file):
        reach_into(index, write_pairs(tmp_path / "pairs.parquet", [3], [6]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_index_is_read_by_other_code_of_the_same_format_only(votes, tmp_path):
    index = copied(votes, tmp_path / "index")
    content = asdict(manifest.read(index).manifest) | {"code": "0" * 64}
    manifest.seal(index, content)
    assert find_index(index).facts["format"] == FORMAT
    manifest.seal(index, content | {"facts": content["facts"] | {"format": FORMAT + 1}})
    with pytest.raises(BadConfig, match=f"has format {FORMAT + 1}, this version reads {FORMAT}"):
        find_index(index)


def test_a_folder_without_an_index_is_explained(votes, tmp_path):
    plain = run(RunConfig(graph=GraphConfig(source=layered(tmp_path / "a.parquet", 3, 3)), output=tmp_path / "o", stages=["wcc"]))
    with pytest.raises(BadConfig, match="has no index"):
        find_index(plain.path)
    with pytest.raises(BadConfig, match="not a reachability index, but the folder of step graph"):
        find_index(votes / "steps" / "graph")
    with pytest.raises(BadConfig, match="nowhere: no such folder"):
        find_index(tmp_path / "nowhere")
    with pytest.raises(Damaged, match="no readable manifest"):
        find_index(votes / "steps")


def test_the_oracle_finds_a_false_answer(votes, tmp_path):
    """The labels were changed after the proof, and the manifest was sealed again."""
    index = copied(votes, tmp_path / "index")
    level = np.load(index / "level.npy")
    np.save(index / "level.npy", level[::-1].copy())
    original = manifest.read(index).manifest
    (index / "manifest.json").unlink()
    manifest.seal(index, asdict(original) | {"files": {name: asdict(entry) for name, entry in manifest.entries(index).items()}})
    arcs = edges_of_votes().iloc[:2000]
    pairs = write_pairs(tmp_path / "pairs.parquet", arcs.src.to_numpy(), arcs.dst.to_numpy())
    with pytest.raises(ProofFailed, match="differs from the result of a search"):
        reach_into(index, pairs, tmp_path / "out", oracle=True)
    assert not (tmp_path / "out").exists()
