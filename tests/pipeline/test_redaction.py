"""User information, queries and fragments of URLs appear in no message, manifest, table or report; no text is quoted in full."""

import pickle
import traceback
from pathlib import Path

import pytest

from pipeline.cli.options import RunOptions
from pipeline.config.loading import load_run, run_config
from pipeline.errors import BadConfig, BadInput, GraphmillError, message
from pipeline.redaction import LONGEST, LONGEST_WORD, quoted, redacted
from pipeline.run import run
from tests.ingest.test_ingest_sources import site  # noqa: F401  a fixture

SECRET = "s3cr3t"
EDGES = b"src,dst,weight\n1,2,5\n2,3,1\n"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://s3cr3t@host/a.csv", "https://***@host/a.csv"),
        ("https://me:s3cr3t@host:81/a.csv", "https://***@host:81/a.csv"),
        ("https://me@s3cr3t@host/a.csv", "https://***@host/a.csv"),
        ("https://host/a.csv?sig=s3cr3t&x=/b#c", "https://host/a.csv?***"),
        ("https://host/a.csv#s3cr3t?x", "https://host/a.csv#***"),
        ("https://host?s3cr3t", "https://host?***"),
        ("zip://a.csv::simplecache::https://s3cr3t@host/a.zip?s3cr3t::x", "zip://a.csv::simplecache::https://***@host/a.zip?***"),
        ("GET 'https://s3cr3t@host/a?s3cr3t': 403, s3://bucket/a@b", "GET 'https://***@host/a?***': 403, s3://bucket/a@b"),
        ("/data/https:/me:s3cr3t@host/a.csv?s3cr3t", "/data/https:/***@host/a.csv?***"),
        ("file:///a@b.csv", "file:///a@b.csv"),
        ("/what?/a@b#c.csv and me@host", "/what?/a@b#c.csv and me@host"),
    ],
)
def test_what_may_be_secret_is_hidden(given, shown):
    assert redacted(given) == redacted(shown) == shown


def config(url, folder):
    return run_config("test", graph={"source": url}, stages=["wcc"], output=folder / "out", backend="cpu")


def test_nothing_that_a_run_writes_or_logs_has_the_secret(site, tmp_path, caplog):  # noqa: F811
    site.pages[f"/g.csv?sig={SECRET}"] = EDGES
    caplog.set_level("INFO")
    published = run(config(f"{site.url.replace('//', f'//{SECRET}@')}/g.csv?sig={SECRET}#{SECRET}", tmp_path))
    assert published.facts["graph"]["name"] == "g"
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(b"g.csv?***" in path.read_bytes() for path in written)
    assert not [path for path in written if SECRET.encode() in path.read_bytes()] and SECRET not in caplog.text


def test_another_query_is_another_source(site, tmp_path):  # noqa: F811
    site.sends_etag = False
    for page, edges in (("/g.csv?day=1", EDGES), ("/g.csv?day=2", EDGES + b"3,4,1\n")):
        site.pages[page] = edges
        assert run(config(site.url + page, tmp_path)).facts["tables"]["wcc"]["rows"] == edges.count(b"\n")


@pytest.mark.parametrize(
    ("url", "status"),
    [
        (f"{{site}}/absent.csv?{SECRET}", 200),
        (f"{{site}}/g.csv?{SECRET}", 403),
        (f"{{site}}/g.csv?{SECRET}", 503),
        (f"{{site}}/bad.csv?{SECRET}", 200),
        (f"{{site}}/g.csv?white {SECRET}", 200),
        (f"http://{SECRET}@127.0.0.1:1/g.csv#{SECRET}", 200),
        (f"nothing://{SECRET}@host/g.csv?{SECRET}", 200),
        (f"https://me:{SECRET}@host/g.csv", 200),
    ],
)
def test_no_error_shows_the_secret(url, status, site, tmp_path):  # noqa: F811
    site.pages |= {f"/g.csv?{SECRET}": EDGES, f"/bad.csv?{SECRET}": b"src,dst\n1,2\n3,x\n"}
    site.status = status
    with pytest.raises((GraphmillError, OSError)) as caught:
        run(config(url.format(site=site.url), tmp_path))
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown and SECRET not in str(message(caught.value))
    if isinstance(caught.value, BadInput):
        assert SECRET not in caught.value.file + caught.value.reason


AWKWARD = (
    "x",
    "9",
    "a://",
    "a:/",
    "a@:/",
    ":",
    "/",
    "@",
    "a://b?",
    "\n",
    "\0",
    "\x1b[31m",
    "\u202e",
    "\udcff",
    "\u00e9 ",
    " ",
    "b c ",
)


@pytest.mark.parametrize("piece", AWKWARD)
def test_a_message_is_one_bounded_line_made_in_linear_time(piece):
    text = f"g.csv: line 3: {piece * 200_000} is not in 0..2"  # a quadratic time would be hours
    shown = quoted(text)
    assert len(shown) <= LONGEST and shown.isprintable()
    assert shown.startswith("g.csv: line 3: ") and shown.endswith("0..2")
    assert max(map(len, shown.split())) <= LONGEST_WORD
    for error in (BadInput("g.csv", f"{piece * 50_000} is long", 3), BadConfig(text)):
        assert len(str(error)) <= LONGEST and str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("text", ["g.csv: line 3: 'é' is no \\n id", "x" * LONGEST_WORD, "日本語 " * 40])
def test_a_short_text_is_quoted_as_it_is(text):
    assert quoted(text) == text


URL = f"https://me:{SECRET}@host/s.txt?sig={SECRET}"
PLACES = {  # keys of a run's file that name a file or a folder
    "output": "",
    "sources": "",
    "publish_to": "",
    "source": "graph",
    "coordinates": "graph",
    "nodes": "graph",
    "pairs": "queries",
    "facilities": "nearest",
    "arrivals": "changes",
    "scheduler": "cluster",
}


@pytest.mark.parametrize("key", PLACES)
def test_no_key_of_a_configuration_shows_a_secret(key, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    tables = {"": {"output": "o"}, "graph": {"source": "g.csv"}}
    tables.setdefault(PLACES[key], {})[key] = URL
    text = "".join(
        f"[{table}]\n" * bool(table) + "".join(f'{k} = "{v}"\n' for k, v in of.items()) for table, of in tables.items()
    )
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises((GraphmillError, OSError)) as caught:
        run(load_run(tmp_path / "run.toml"))
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + str(message(caught.value))


@pytest.mark.parametrize("option", ["out", "sources", "pairs", "coordinates", "nodes", "cluster"])
def test_no_option_shows_a_secret(option, tmp_path):
    (tmp_path / "g.csv").write_text("src,dst\n1,2\n")
    value = Path(URL) if option in ("out", "sources") else URL
    given = {"out": tmp_path / "out", option: value, "stages": "max_flow" if option == "pairs" else "wcc"}
    with pytest.raises((GraphmillError, OSError)) as caught:
        run(RunOptions(**given).config(str(tmp_path / "g.csv")))
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + str(message(caught.value))
