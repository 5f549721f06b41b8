"""A key that has no effect beside the others is refused; with what it needs, it is taken."""

import pytest

from kernels.registry import BY_NAME
from pipeline.cli.command import app
from pipeline.cli.options import RunOptions
from pipeline.config.cluster import ClusterConfig
from pipeline.config.loading import load_cluster, load_run
from pipeline.config.reference import keys, toml
from pipeline.config.run import RunConfig
from pipeline.config.stages import MaxFlowConfig
from pipeline.errors import BadConfig

CLUSTER = {key.name: key.example for key in keys(ClusterConfig) if key.name not in ("scheduler", "shards")}
STAGE_TABLES = [name for name in BY_NAME if name in RunConfig.model_fields]
IDLE = {  # what is refused, its key, and what gives it an effect
    "stages = ['wcc', 'pagerank']\nsources = [1]": ("sources", {"'pagerank'": "'sssp'"}),
    "[layout]\nwindow = 9": ("layout.window", {"window = 9": "window = 9\norder = 'windowed'"}),
    "[layout]\nshards = 3\n[cluster]\nshards = 2": ("layout.shards", {"[cluster]\nshards = 2": ""}),
    "[reachability]\ndimensions = 1\nseed = 5": ("reachability.seed", {"dimensions = 1": "dimensions = 2"}),
    "[graph.node_columns]\nvertex = 'id'": ("graph.node_columns.vertex", {"[graph": "graph.nodes = 'n.csv'\n[graph"}),
    "[graph.node_columns]\nx = 'lon'": ("graph.node_columns.x", {"[graph": "graph.coordinates = 'c.csv'\n[graph"}),
    "graph.nodes = 'n.csv'\n[graph.node_columns]\ny = 'lat'": ("graph.node_columns.y", {"graph.nodes": "graph.coordinates"}),
    "backend = 'cpu'\nlimits.gpu_memory = '1 GiB'": ("limits.gpu_memory", {"'cpu'": "'auto'"}),
    "graph.columns.weight = false\ngraph.weight.unit = 'm'": ("graph.weight.unit", {"false": "'km'"}),
}


def file_with(folder, text, stages='["wcc", "reachability"]'):
    top = "" if "stages" in text else f"stages = {stages}\n"
    (folder / "run.toml").write_text(f'output = "out"\ngraph.source = "g.csv"\n{top}{text}\n')
    return folder / "run.toml"


@pytest.mark.parametrize("text", IDLE)
def test_a_key_without_an_effect_is_refused(text, tmp_path):
    key, needed = IDLE[text]
    with pytest.raises(BadConfig, match=rf"run\.toml: {key}: has no effect: .*(leave|add some).* out$") as found:
        load_run(file_with(tmp_path, text))
    assert "\n" not in str(found.value)
    for old, new in needed.items():
        text = text.replace(old, new, 1)
    load_run(file_with(tmp_path, text))


@pytest.mark.parametrize("key", CLUSTER)
@pytest.mark.parametrize("scheduler", ["none", "local", "tcp://127.0.0.1:8786", "tls://dask:8786"])
def test_a_key_of_the_cluster_is_for_its_schedulers(key, scheduler, tmp_path):
    takes = {"local": key in ("workers", "threads", "memory", "lost_workers", "deadline"), "none": False}
    effect = takes.get(scheduler, key in ("lost_workers", "deadline") or (key.startswith("tls") and scheduler.startswith("tls")))
    example = CLUSTER[key] if CLUSTER[key] not in ("1", "3", "60.0") else "13"
    tls = [f"{name} = 'f.pem'" for name in ("tls_ca", "tls_cert", "tls_key") if name != key and scheduler.startswith("tls")]
    text = "\n".join(["[cluster]", f"scheduler = '{scheduler}'", f"{key} = {example}", *tls])
    if effect:
        load_run(file_with(tmp_path, text))
        load_cluster(tmp_path / "run.toml")
        return
    for load in (load_run, load_cluster):
        with pytest.raises(BadConfig, match=rf'{key}: has no effect: it is for .* and the scheduler is "{scheduler}"'):
            load(file_with(tmp_path, text))


NEEDED = {
    "reachability.seed": "dimensions = 3\n",
    "pagerank.together": "seeds = [1]\n",
    "pagerank.seed_weights": "seeds = [1, 2]\ntogether = true\n",
}


@pytest.mark.parametrize("stage", STAGE_TABLES)
def test_keys_of_a_stage_that_does_not_run_are_refused(stage, tmp_path):
    model = MaxFlowConfig if stage == "max_flow" else RunConfig.model_fields[stage].annotation
    for key in keys(model):
        is_default = key.example == toml(model.model_fields[key.name].default) if stage != "max_flow" else False
        value = other_than(key.example) if is_default else key.example
        with pytest.raises(BadConfig, match=rf"{stage}\.{key.name}: has no effect: stage {stage} does not run \(wcc, scc\)"):
            load_run(file_with(tmp_path, f"[{stage}]\n{key.name} = {value}", '["wcc", "scc"]'))
        extra = NEEDED.get(f"{stage}.{key.name}", "")
        load_run(file_with(tmp_path, f"[{stage}]\n{extra}{key.name} = {value}", f'["wcc", "{stage}"]'))


def other_than(example):
    return {"true": "false", "false": "true", '"tree"': '"dfs"'}.get(example, "7")


def test_defaults_and_what_options_make_idle_are_accepted(tmp_path):
    """A default says what happens anyway; a file's key may be idle where the options ask for that."""
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    text = "stages = ['bfs', 'closure']\nsources = [1]\nclosure.limit = 9\n[cluster]\nscheduler = 'local'\nworkers = 2\n"
    file = file_with(tmp_path, text)
    config = RunOptions(stages="wcc", cluster="none").config(str(file))
    assert config.cluster.scheduler == "none" and config.stages == ("wcc",)
    workers = str(file_with(tmp_path, "[cluster]\nworkers = 2"))
    assert RunOptions(cluster="local").config(workers).cluster.workers == 2  # an option gives it an effect
    with pytest.raises(BadConfig, match=r"cluster\.workers: has no effect"):
        RunOptions(keep=3).config(workers)
    load_run(file_with(tmp_path, "[cluster]\nworkers = 0\nlost_workers = 3\n[layout]\nwindow = 4096"))
    assert load_run(file_with(tmp_path, "[cluster]\nshards = 2")).cluster.shards == 2  # ranks are threads
    for options in (RunOptions(stages="wcc", source=["1"]), RunOptions(stages="wcc,scc", source=["2"], out=tmp_path / "o")):
        for target in (str(file), str(tmp_path / "g.csv")):
            if options.out or target.endswith("toml"):
                with pytest.raises(BadConfig, match="sources: has no effect: no stage has sources"):
                    options.config(target)


def test_violations_of_a_snapshot_are_not_counted(tmp_path):
    with pytest.raises(BadConfig, match="--count-violations has no effect with --snapshot"):
        app(["change", str(tmp_path), "g.csv", "--snapshot", "--count-violations"], result_action="return_value")


def test_two_places_for_copies_are_refused(tmp_path):
    both = "output = 's3://a/x'\npublish_to = 's3://b/x'\ngraph.source = 'g.csv'\n"
    (tmp_path / "run.toml").write_text(both)
    with pytest.raises(BadConfig, match=r"publish_to: is s3://b/x, but output is a URL, too, s3://a/x"):
        load_run(tmp_path / "run.toml")
    (tmp_path / "run.toml").write_text(both.replace("s3://b/x", "s3://a/x/"))
    assert load_run(tmp_path / "run.toml").publish_to == "s3://a/x"
