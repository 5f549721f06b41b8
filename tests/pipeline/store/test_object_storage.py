"""Runs that read from and publish to object storage, on a server of S3's protocol."""

import datetime as dt
import json
import logging
from pathlib import Path

import duckdb
import fsspec
import pandas
import polars
import pytest

import pipeline.ingest.edges
from pipeline.changes.arrivals import arrived
from pipeline.cli.command import app
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, Changed
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.publication import remote, retention
from pipeline.steps.publication.remote import latest, open_store, require_store, upload
from pipeline.store import manifest
from tests.edge_lists import rows_of_edges
from tests.pipeline.store.servers import SECRET, object_storage

EDGES = b"src,dst,weight\n1,2,5\n2,3,1\n"


@pytest.fixture(scope="module")
def server():
    with object_storage() as variables:
        yield variables["AWS_ENDPOINT_URL"]


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name = f"b{abs(hash(tmp_path))}"
    fsspec.filesystem("s3").mkdir(name)
    fsspec.filesystem("s3").pipe_file(f"{name}/in/roads.csv", EDGES)
    return f"s3://{name}"


def configured(bucket, stages=("bfs",), **more):
    return run_config(
        "test", graph={"source": f"{bucket}/in/roads.csv"}, stages=list(stages), output=f"{bucket}/out", backend="cpu", **more
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("entry", ["feed", "feed/", "feed/*/*", "feed/day=*", ["feed/day=1/x", "feed/day=0/x"]])
def test_a_source_may_be_a_prefix_a_pattern_or_a_list(kind, entry, bucket, tmp_path):
    storage = fsspec.filesystem("s3")
    for day in (0, 1):
        frame = pandas.DataFrame({"dst": [day + 2], "note": ["x"], "src": [day + 1]})
        content = frame.to_csv(index=False).encode() if kind == "csv" else frame.to_parquet(index=False)
        storage.pipe_file(f"{bucket}/feed/day={day}/x", content)
    for name in ("_SUCCESS", "day=0/_temporary/y", "day=1/empty"):
        storage.pipe_file(f"{bucket}/feed/{name}", b"" if name == "day=1/empty" else b"y")
    several = isinstance(entry, list)
    graph = GraphConfig(source=[f"{bucket}/{one}" for one in entry] if several else f"{bucket}/{entry}")
    folder = ingest(graph, tmp_path)
    assert rows_of_edges(folder).to_pydict() == {"src": [2, 1] if several else [1, 2], "dst": [3, 2] if several else [2, 3]}
    assert folder.facts["source"]["files"]["count"] == 2
    assert "day" in folder.facts["ignored_columns"]
    assert ingest(graph, tmp_path).reused
    storage.pipe_file(f"{bucket}/feed/day=0/x", storage.cat_file(f"{bucket}/feed/day=1/x"))
    assert not ingest(graph, tmp_path).reused
    assert [path.name for path in sorted(folder.path.iterdir())] == ["_manifest.json", "part-00000.parquet"]


@pytest.mark.parametrize("way", ["added", "removed", "changed"])
def test_objects_that_come_go_or_change_are_named(way, bucket, tmp_path, monkeypatch):
    storage, name = fsspec.filesystem("s3"), f"{bucket}/feed/{9 if way == 'added' else 1}.csv"
    for number in (0, 1):
        storage.pipe_file(f"{bucket}/feed/{number}.csv", EDGES)

    def then(*arguments, store=pipeline.ingest.edges.store):
        result = store(*arguments)
        storage.rm_file(name) if way == "removed" else storage.pipe_file(name, EDGES + b"7,8,9\n")
        return result

    monkeypatch.setattr(pipeline.ingest.edges, "store", then)
    with pytest.raises(Changed) as caught:
        ingest(GraphConfig(source=f"{bucket}/feed"), tmp_path)
    assert caught.value.file == name


@pytest.fixture
def two_runs(tmp_path):
    """Two published runs of one output folder, which are not uploaded."""
    found = []
    for edges in (EDGES, EDGES + b"3,4,1\n"):
        (tmp_path / "roads.csv").write_bytes(edges)
        config = run_config("test", graph={"source": str(tmp_path / "roads.csv")}, stages=["wcc"], output=tmp_path / "out")
        found.append(run(config))
    return found


def test_a_run_reads_from_s3_and_is_read_from_there(server, bucket):
    published = run(configured(bucket))
    url = latest(f"{bucket}/out")
    assert url == f"{bucket}/out/runs/{published.path.name}"
    expected = [(1, 0), (2, 1), (3, 2)]
    frame = pandas.read_parquet(f"{url}/bfs")
    assert list(zip(frame.vertex, frame.distance, strict=True)) == expected
    duckdb.register_filesystem(fsspec.filesystem("s3"))
    assert duckdb.sql(f"SELECT vertex, distance FROM '{url}/bfs/*.parquet' ORDER BY vertex").fetchall() == expected
    options = {"aws_endpoint_url": server, "aws_allow_http": "true"}
    assert polars.read_parquet(f"{url}/bfs/*.parquet", storage_options=options).select("vertex", "distance").rows() == expected
    page = fsspec.filesystem("s3").cat_file(f"{url}/report.html").decode()
    assert f"{url}/bfs/*.parquet" in page  # the queries to copy
    content = json.loads(fsspec.filesystem("s3").cat_file(f"{url}/manifest.json"))
    store = open_store(f"{bucket}/out")
    for name, entry in content["files"].items():
        assert store.fs.size(f"{store.root}/runs/{published.path.name}/{name}") == entry["bytes"]
    assert content.pop("seal") == manifest.digest_of(content)


def test_a_second_run_skips_its_steps_and_moves_the_pointer(bucket):
    first = run(configured(bucket))
    second = run(configured(bucket))
    assert all(step["reused"] for step in second.facts["steps"].values())
    assert latest(f"{bucket}/out").endswith(second.path.name) and second.path.name > first.path.name
    assert list(open_store(f"{bucket}/out").runs()) == [first.path.name, second.path.name]


def test_commands_find_the_runs_of_a_url(bucket, tmp_path, capsys):
    run(configured(bucket))
    (tmp_path / "changes.csv").write_text("op,src,dst,weight\ninsert,3,4,1\n")
    commands = (["change", str(tmp_path / "changes.csv")], ["runs"], ["path", "1", "4"], ["diff"])
    for command, *more in commands:
        app([command, f"{bucket}/out", *more], result_action="return_value")
    assert pandas.read_parquet(f"{latest(f'{bucket}/out')}/bfs").vertex.tolist() == [1, 2, 3, 4]
    shown = capsys.readouterr().out
    assert all(words in shown for words in ("2 runs", "1 to 4: 3", "+ source 1, vertex 4"))


def test_a_folder_without_objects_has_no_files_of_changes(bucket):
    assert arrived(f"{bucket}/arrivals") == []
    file = f"{bucket}/in/roads.csv"
    assert [one.url for one in arrived(file)] == [file]
    with pytest.raises(BadConfig, match="is not a folder"):
        arrived("s3://not-a-bucket/arrivals")


@pytest.mark.parametrize("completed", range(0, 9, 2))
def test_an_upload_that_fails_anywhere_leaves_the_run_before(two_runs, bucket, monkeypatch, completed):
    first, second = two_runs
    upload(first, bucket)
    put, count = remote._put, [0]

    def failing(*arguments):
        count[0] += 1
        if count[0] > completed:
            raise OSError("the network is down")
        put(*arguments)

    total = len(second.manifest.files) + 1
    monkeypatch.setattr(remote, "_put", failing)
    if completed < total:
        with pytest.raises(OSError, match="the network is down"):
            upload(second, bucket)
        assert latest(bucket) == f"{bucket}/runs/{first.path.name}"
        assert pandas.read_parquet(f"{latest(bucket)}/wcc").vertex.tolist() == [1, 2, 3]
    monkeypatch.setattr(remote, "_put", put)
    upload(second, bucket)  # goes on where it ended
    assert pandas.read_parquet(f"{latest(bucket)}/wcc").vertex.tolist() == [1, 2, 3, 4]


def test_what_a_killed_upload_left_is_removed_by_the_next_one(two_runs, bucket):
    first, _ = two_runs
    store = open_store(bucket)
    left = "20200101T000000Z-00000000"
    store.fs.pipe_file(f"{store.root}/runs/{left}/wcc/part-00000.parquet", b"half")
    upload(first, bucket)
    assert list(store.runs()) == [first.path.name]


def test_the_pointer_does_not_go_back(two_runs, bucket):
    first, second = two_runs
    upload(second, bucket)
    upload(first, bucket)
    assert latest(bucket).endswith(second.path.name)


def test_other_json_is_left_alone_and_a_damaged_pointer_refused(two_runs, bucket):
    first, _ = two_runs
    store = open_store(bucket)
    store.fs.pipe_file(f"{store.root}/legend.json", b'{"colours": 3}')
    upload(first, bucket)
    assert store.pointers() == {"latest": f"runs/{first.path.name}"}
    store.fs.pipe_file(f"{store.root}/latest.json", b'{"run": ')
    with pytest.raises(BadConfig, match=r"latest\.json below .* is not JSON"):
        require_store(bucket)


def test_old_runs_are_removed_but_not_while_they_may_be_read(two_runs, bucket, monkeypatch):
    first, second = two_runs
    upload(first, bucket)
    upload(second, bucket, keep=1)
    assert list(open_store(bucket).runs()) == [first.path.name, second.path.name]
    monkeypatch.setattr(retention, "READABLE", dt.timedelta(seconds=-3600))
    store, planted = open_store(bucket), "runs/20260231T000000Z-00000000/manifest.json"  # no run: there is no such day
    store.fs.pipe_file(f"{store.root}/{planted}", b"{}")
    upload(second, bucket, keep=1)
    assert list(open_store(bucket).runs()) == [second.path.name]


def test_nothing_that_is_written_or_logged_has_a_secret(bucket, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "pipeline")
    run(configured(bucket))
    store = open_store(f"{bucket}/out")
    written = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    uploaded = [store.fs.cat_file(path) for path in store.fs.find(store.root)]
    assert written and uploaded and not [content for content in (*written, *uploaded) if SECRET.encode() in content]
    assert SECRET not in caplog.text


@pytest.mark.parametrize("url", [f"s3://me:{SECRET}@bucket/out", f"s3://bucket/out?sig={SECRET}", f"s3://bucket/out#{SECRET}"])
@pytest.mark.parametrize("key", ["output", "publish_to"])
def test_a_url_with_a_secret_is_refused_without_showing_it(key, url, tmp_path):
    content = {"output": str(tmp_path), key: url}
    with pytest.raises(BadConfig, match="may be secret; configure them in fsspec instead") as refused:
        run_config("test", graph={"source": "g.csv"}, **content)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("url", ["s3://no-such-bucket-at-all/out", "nosuchprotocol://x/y"])
def test_a_store_that_cannot_be_used_is_named(two_runs, server, url):
    with pytest.raises(BadConfig, match=f"{url}: cannot be used: "):
        upload(two_runs[0], url)


def test_a_path_may_be_a_url(tmp_path):
    url = f"memory://{tmp_path.name}/out"
    assert run_config("test", graph={"source": "g.csv"}, output=Path(url)).publish_to == url
    assert run_config("test", graph={"source": "g.csv"}, output=url).output.parent.name == "graphmill"


@pytest.mark.parametrize("url", ["nosuch://bucket/out"])
def test_a_store_that_cannot_be_used_is_refused_before_anything_is_read(url, tmp_path):
    config = run_config("here", graph={"source": str(tmp_path / "absent.csv")}, output=tmp_path / "out", publish_to=url)
    with pytest.raises(BadConfig, match="nosuch://bucket/out: cannot be used: Protocol not known"):
        run(config)
    assert not (tmp_path / "out").exists()
