"""User information, queries and fragments of URLs appear in no message, manifest, table or report."""

import traceback

import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadInput, GraphmillError, message
from pipeline.redaction import redacted
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
