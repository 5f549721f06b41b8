"""Configuration: paths, defaults, and the messages for invalid files."""

import gzip
from pathlib import Path

import pytest

from pipeline.cli.options import NO_OPTIONS
from pipeline.config.loading import load_run, run_config
from pipeline.errors import BadConfig

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "conf" / "runs").glob("*.toml")), ids=lambda path: path.stem)
def test_the_runs_of_the_project_are_valid(path):
    config = load_run(path)
    source = Path(config.graph.source)
    assert source.exists() or source.resolve().is_relative_to(ROOT / "out")  # `make demo-osm` writes its own
    assert config.output.resolve().is_relative_to(ROOT / "out")
    assert NO_OPTIONS.config(str(path)) == config  # the command, as the flows


def test_paths_are_relative_to_their_file_and_urls_are_kept(tmp_path):
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "g.toml").write_text('source = "g.csv"\ncoordinates = "https://example.org/g.co"\n')
    (tmp_path / "run.toml").write_text('graph = "graphs/g.toml"\noutput = "out"\nflows.pairs = "p.parquet"\n')
    config = load_run(tmp_path / "run.toml", {"layout": {"order": "windowed"}}, sources=(4,))
    assert Path(config.graph.source) == tmp_path / "graphs" / "g.csv"
    assert config.graph.coordinates == "https://example.org/g.co"
    assert config.graph.title == "g"
    assert config.output == tmp_path / "out"
    assert Path(config.flows.pairs) == tmp_path / "p.parquet"
    assert config.layout.order == "windowed"
    assert config.sources == (4,)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"output": "o"}, "graph: is missing"),
        ({"output": "o", "graph": {}}, "graph.source: is missing"),
        ({"output": "o", "graph": {"source": "g", "colour": 1}}, "graph.colour: unknown key"),
        ({"output": "o", "graph": {"source": "g", "collumns": {}}}, "graph.collumns: unknown key; did you mean 'columns'?"),
        ({"output": "o", "graph": {"source": "g"}, "order": "degree"}, "order: unknown key; did you mean 'layout.order'?"),
        ({"output": "o", "graph": {"source": "g", "directed": "no"}}, "graph.directed: must be true or false (got no)"),
        ({"output": "o", "graph": {"source": "g"}, "oracle": 1}, "oracle: must be true or false (got 1)"),
        ({"output": "o", "graph": {"source": "g"}, "layout": {"symmetrise": "yes"}}, "layout.symmetrise: must be true or false"),
        ({"output": "o", "graph": {"source": "g"}, "queries": {"pairs": "p", "witness": "no"}}, "queries.witness: must be true"),
        ({"output": "o", "graph": {"source": "g", "limits": {"ratio": "5"}}}, "graph.limits.ratio"),
        ({"output": "o", "graph": {"source": "g", "columns": {"weight": True}}}, "graph.columns.weight: is not the name"),
        ({"output": "o", "graph": {"source": "g", "delimiter": ",,"}}, "graph.delimiter: must be one ASCII character"),
        ({"output": "o", "graph": {"source": "g"}, "stages": ["pagernk"]}, "did you mean 'pagerank'?"),
        ({"output": "o", "graph": {"source": "g"}, "stages": []}, "stages"),
        ({"output": "o", "graph": {"source": "g"}, "stages": ["bfs", "dfs"]}, "dfs"),
        ({"output": "o", "graph": {"source": "g"}, "stages": ["wcc", "wcc"]}, "wcc is given twice"),
        ({"output": "o", "graph": {"source": "g"}, "sources": [-3]}, "-3"),
        ({"output": "o", "graph": {"source": "g"}, "isochrones": {"thresholds": [1], "sums": ["a", "a"]}}, "a is given twice"),
        (
            {"output": "o", "graph": {"source": "g"}, "isochrones": {"thresholds": [-1]}},
            "thresholds.0: must be a number, at least 0",
        ),
        (
            {"output": "o", "graph": {"source": "g"}, "closeness": {"sources": ""}},
            "closeness.sources: String should have at least 1",
        ),
        ({"output": "o", "graph": {"source": "g"}, "sources": [2**63]}, "sources.0"),
        ({"output": "o", "graph": {"source": "g"}, "sources": [" "]}, "sources.0"),
        ({"output": "o", "graph": {"source": "g"}, "sources": [1, 1.7]}, "sources.1"),
        ({"output": "o", "graph": {"source": "g"}, "sources": [1.0]}, "sources.0: Input should be a valid integer (got 1.0)"),
        ({"output": "o", "graph": {"source": "g"}, "keep": -1}, "keep"),
        ({"output": "o", "graph": {"source": "g"}, "keep": "3"}, "keep: Input should be a valid integer (got 3)"),
        ({"output": "o", "graph": {"source": "g"}, "keep": True}, "keep: Input should be a valid integer (got True)"),
        ({"output": "o", "graph": {"source": "g"}, "layout": {"order": "random"}}, "layout.order"),
        ({"output": "o", "graph": {"source": "g"}, "layout": {"shards": 0}}, "layout.shards"),
        ({"output": "o", "graph": {"source": "g"}, "layout": {"window": 0}}, "layout.window"),
        ({"output": "o", "graph": {"source": "g", "limits": {"ratio": 0}}}, "graph.limits.ratio"),
        ({"output": "o", "graph": {"source": "g", "sha256": "abc"}}, "graph.sha256"),
    ],
)
def test_a_bad_key_is_named(content, words):
    with pytest.raises(BadConfig) as caught:
        run_config("run.toml", **content)
    assert "run.toml: " in str(caught.value)
    assert words in str(caught.value)


def test_the_only_stage_if_wrong_is_one_error():
    with pytest.raises(BadConfig, match=r"^run\.toml: stages\.0: is not a stage; [^;]*\(got dfs\)$"):
        run_config("run.toml", output="o", graph={"source": "g"}, stages=["dfs"])


@pytest.mark.parametrize("chain", ["", "simplecache::", "zip://g.gr::"])
def test_a_password_in_a_url_is_refused_and_not_repeated(chain):
    with pytest.raises(BadConfig, match=r"graph\.source: contains a password") as caught:
        run_config("run.toml", output="o", graph={"source": f"{chain}ftp://me:swordfish@example.org/g.gr"})
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize("text", ["output = ", 'output = "a"\noutput = "b"', "\xff"])
def test_a_file_that_is_not_toml_is_refused(text, tmp_path):
    (tmp_path / "run.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadConfig, match=r"run\.toml: is not valid TOML: "):
        load_run(tmp_path / "run.toml")


@pytest.mark.parametrize(
    ("content", "why"), [(gzip.compress(b"a 1 2 3", mtime=0), "byte 1 is not UTF-8"), (b"a 1 2 3\n", r"Expected '='.*")]
)
def test_a_graph_file_in_place_of_its_configuration_is_explained(content, why, tmp_path):
    (tmp_path / "g.gr.gz").write_bytes(content)
    (tmp_path / "run.toml").write_text('graph = "g.gr.gz"\noutput = "out"\n')
    words = rf"run\.toml: graph: .*g\.gr\.gz: is not valid TOML: {why}; the graph's own file is `source` in table \[graph\]$"
    with pytest.raises(BadConfig, match=words):
        load_run(tmp_path / "run.toml")


def test_a_missing_graph_configuration_is_named(tmp_path):
    (tmp_path / "run.toml").write_text('graph = "absent.toml"\noutput = "out"\n')
    with pytest.raises(BadConfig, match=r"absent\.toml: No such file"):
        load_run(tmp_path / "run.toml")


CERTIFICATES = {"tls_ca": "ca.pem", "tls_cert": "host.pem", "tls_key": "host.key"}


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"scheduler": "tcp://10.0.0.5:8786"}, "an address beyond loopback must be tls://"),
        ({"scheduler": "tcp://example.org:8786", **CERTIFICATES}, "an address beyond loopback must be tls://"),
        ({"scheduler": "tcp://127.0.0.1.example.org:8786"}, "an address beyond loopback must be tls://"),
        ({"scheduler": "tcp://[::]:8786"}, "an address beyond loopback must be tls://"),
        ({"scheduler": "tls://10.0.0.5:8786"}, "needs tls_ca, tls_cert and tls_key"),
        ({"scheduler": "tls://10.0.0.5:8786", **CERTIFICATES, "tls_key": None}, "needs tls_ca, tls_cert and tls_key"),
        ({"scheduler": "ucx://10.0.0.5:8786"}, "must be none, local or an address"),
        ({"scheduler": "tls://user:word@10.0.0.5:8786"}, "must be none, local or an address"),
        ({"scheduler": "lokal"}, "must be none, local or an address"),
        ({"deadline": 1}, "greater than or equal to 12"),
        ({"memory": "much"}, "cluster.memory"),
        ({"workers": -1}, "cluster.workers"),
        ({"shards": -1}, "cluster.shards"),
        ({"shards": 1.5}, "cluster.shards"),
        ({"shards": 2.0}, "cluster.shards"),
        ({"colour": 1}, "cluster.colour: unknown key"),
    ],
)
def test_an_invalid_cluster_is_refused(cluster, words):
    with pytest.raises(BadConfig, match=words):
        run_config("here", graph={"source": "g"}, output=Path("out"), cluster=cluster)


@pytest.mark.parametrize(
    "scheduler", ["none", "local", "tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://h:1"]
)
def test_a_valid_cluster_is_accepted(scheduler):
    cluster = {"scheduler": scheduler, **CERTIFICATES, "memory": "4 GiB"}
    assert run_config("here", graph={"source": "g"}, output=Path("out"), cluster=cluster).cluster.scheduler == scheduler


def test_certificates_are_relative_to_the_run(tmp_path):
    (tmp_path / "run.toml").write_text(
        'graph = {source = "g.csv"}\noutput = "out"\n[cluster]\nscheduler = "tls://h:8786"\n'
        'tls_ca = "ca.pem"\ntls_cert = "/etc/host.pem"\ntls_key = "../host.key"\n'
    )
    cluster = load_run(tmp_path / "run.toml").cluster
    assert (cluster.tls_ca, cluster.tls_cert) == (tmp_path / "ca.pem", Path("/etc/host.pem"))
    assert cluster.tls_key == tmp_path.parent / "host.key"


LONG = "0x" + "f" * 5000  # over 4,300 decimal digits, which Python refuses to print
STRANGE = {
    f"keep = {LONG}": "keep: .* less than or equal to 9223372036854775807 .*got an integer of thousands of digits",
    f"sources = [{'1' * 5000}]": "is not valid TOML: Exceeds the limit",
    "sources = [inf]": "sources.0: .*valid integer",
    "sources = [9223372036854775808]": "sources.0: .*less than or equal to 9223372036854775807",
    "limits.gpu_memory = '0 GiB'": "limits.gpu_memory: must be at least a byte",
    "limits.memory = '0.0001 B'": "limits.memory: must be at least a byte",
    "graph.limits.ratio = inf": "graph.limits.ratio: .*finite",
    "graph.limits.seconds = nan": "graph.limits.seconds: .*finite",
    f"graph.limits.ratio = {LONG}": "graph.limits.ratio: .*valid number",
    "cluster.deadline = inf": "cluster.deadline: .*finite",
    "cluster.workers = 4611686018427387904": "cluster.workers: .*less than or equal to 65536",
    "layout.shards = 4611686018427387904": "layout.shards: .*less than or equal to 65536",
    f"reachability.seed = {LONG}": "reachability.seed: .*less than 18446744073709551616",
    "output = 'x'\nkeep = " + "[" * 50_000: "line 2: has more than 100 brackets within each other, the limit for a configuration",
    "a = '''\n'''  # a\n" + "a." * 100_000 + "a = 1": "line 3: has a key of more than 6 parts, the limit for a configuration",
    "\n[" + " . ".join(['"a\\"]"', "'b'"] * 1000) + "]": "line 2: has a key of more than 6 parts",
    "keep = [\n" + "{a = " * 101: "line 2: has more than 100 brackets",
    f"keep = '{'x' * 2**20}'": "has more than 1048576 bytes, the limit for a configuration",
    'output = "a\\u0000b"': "has a null character",
    'graph.columns = {src = "a", dst = "a"}': "graph.columns: src, dst, .* must be different columns; 'a' is given twice",
    'graph.columns.weight = "src"': "graph.columns: src, dst, .* must be different columns; 'src' is given twice",
}


@pytest.mark.parametrize("line", STRANGE, ids=lambda line: line[:30])
def test_strange_values_in_toml_are_refused(line, tmp_path):
    (tmp_path / "run.toml").write_text(f"{line}\ngraph.source = 'g.csv'\n")
    with pytest.raises(BadConfig, match=STRANGE[line]):
        load_run(tmp_path / "run.toml", **({} if "output" in line else {"output": tmp_path}))


def test_dots_and_brackets_in_quotes_and_comments_are_allowed(tmp_path):
    path, text = "../" * 20 + "a.b.c.d.e.f.g.h.i.j.k.l.csv", "[" * 200 + "a." * 20 + "a"
    (tmp_path / "run.toml").write_text(f'output = \'out\'  # {text}\n[graph] # "\nsource = \'{path}\'\nname = """\n{text}"""\n')
    assert load_run(tmp_path / "run.toml").graph.name == text


def test_a_path_with_a_null_character_is_refused(tmp_path):
    (tmp_path / "run.toml").write_text('graph = "a\\u0000b"\noutput = "out"\n')
    with pytest.raises(BadConfig, match="embedded null"):
        load_run(tmp_path / "run.toml")


def test_sources_may_be_in_a_file(tmp_path):
    (tmp_path / "run.toml").write_text(
        'sources = "ids"\noutput = "out"\ngraph = {source = "g.csv", columns = {src = "a", dst = "b"}}\n'
    )
    (tmp_path / "ids").write_text('\ufeff"5"\n# crossings\n\n 3 # the station\n"a ""b"" #1" # a name\n')
    config = load_run(tmp_path / "run.toml", {"graph": {"columns": {"src": "x"}}})
    assert config.sources == ("5", "3", 'a "b" #1')
    assert (config.graph.columns.src, config.graph.columns.dst) == ("x", "b")
    for text, words in (
        (b"5\n\xff\n".decode("latin-1"), "line 2: '.*' is not UTF-8"),
        ("#\n", "contains no vertex"),
        ("5\n5\n", "5 is given twice"),
    ):
        (tmp_path / "ids").write_text(text, encoding="latin-1")
        with pytest.raises(BadConfig, match=words):
            load_run(tmp_path / "run.toml")
    (tmp_path / "ids").unlink()
    with pytest.raises(BadConfig, match="ids: the file of the sources cannot be read: No such file"):
        load_run(tmp_path / "run.toml")


def test_many_sources_are_checked_at_once(tmp_path):
    sources = tuple(range(100_000))
    assert run_config("here", graph={"source": "g"}, output=tmp_path, sources=sources).sources == sources
