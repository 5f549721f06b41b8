"""The page as Chromium shows it, from the disk, with nothing else to ask: at any width, with a pointer and with keys."""

import io
import json
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.config.run import RunConfig
from pipeline.run import run as run_all
from tests.browser.chromium import BROWSER, NO_NETWORK, QUIET, Tab, tab
from tests.reports import Page, grid, run

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
TRANSFORM = "document.querySelector('.sheet').style.transform"
READOUT = "document.querySelector('.readout').textContent"
# Elements that stick out of the window, of the element around them, or of a box that hides what does not fit; tables with LONG
# names may scroll in theirs.
CUT_OFF = """[...document.querySelectorAll("main *")].filter(one => {
  const box = one.getBoundingClientRect(), around = one.parentElement.getBoundingClientRect();
  if (!box.width || one.closest("svg, .plate, .ticks, .scroll table")) return false;
  if (one.matches(".scroll") && LONG) return box.right > innerWidth + 1 || box.right > around.right + 1;
  return box.right > innerWidth + 1 || box.right > around.right + 1 || one.scrollWidth > one.clientWidth + 1 && one.clientWidth;
}).map(one => one.outerHTML.slice(0, 80))"""


def requests(work: Path, page: Path) -> set[str]:
    """Every address that the page asked for, but for files and data. The browser's own requests have no origin."""
    log = work / "net.json"
    options = (f"--user-data-dir={work / 'profile'}", f"--log-net-log={log}", "--dump-dom")
    subprocess.run([str(BROWSER), *QUIET, NO_NETWORK, *options, page.as_uri()], check=True, capture_output=True)
    events = json.loads(log.read_text())["events"]
    started = [event["params"] for event in events if "initiator" in event.get("params", {})]
    asked = {params["url"] for params in started if params["initiator"] != "not an origin"}
    return {url for url in asked if url.startswith(("http:", "https:", "ws:", "wss:", "ftp:"))}


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("profile"), NO_NETWORK) as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    work = tmp_path_factory.mktemp("report")
    return run(work, *grid(20), sources=(1, 210)).publish(work / "out", "twenty by twenty").path / "report.html"


def test_headings_charts_and_maps_are_there(report, browser):
    browser.open(report.as_uri(), 1200)
    page = Page(browser.value("document.documentElement.outerHTML"))
    headings = ("Changes since the last run", "Results", "Maps", "Distributions", "Stages and their times", "Proofs")
    places = [page.words.index(heading) for heading in headings]
    assert places == sorted(places)
    assert len(page.attributes("svg")) == 5
    assert len(page.attributes("img")) == 3
    assert "400 vertices, 1,520 arcs" in page.text


def test_no_network_request_is_tried(report, tmp_path):
    assert requests(tmp_path, report) == set()
    meddled = tmp_path / "meddled.html"
    meddled.write_text(report.read_text().replace("<main>", '<main><img src="http://spy.invalid/spy.png">'))
    assert requests(tmp_path, meddled) == set()  # the page's own policy forbids it
    meddled.write_text('<!doctype html><img src="http://spy.invalid/spy.png">')
    assert "http://spy.invalid/spy.png" in requests(tmp_path, meddled)  # and the log would show it


def test_only_the_pages_own_script_runs(report, browser, tmp_path):
    meddled = tmp_path / "meddled.html"
    meddled.write_text(report.read_text().replace("<main>", "<main><script>document.title = 'taken'</script>"))
    browser.open(meddled.as_uri(), 1200)
    assert browser.value("document.title") == "twenty by twenty · graphmill report"
    assert browser.value("document.querySelectorAll('.tools').length") == 3


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_drawn_and_nothing_is_cut_off(report, browser, width, theme):
    browser.open(report.as_uri(), width, theme=theme)
    browser.value("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.value(CUT_OFF.replace("LONG", "false")) == []
    taken = b64decode(browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
    shot = np.asarray(Image.open(io.BytesIO(taken)).convert("RGB"))[::3, ::3].astype(int)
    assert np.median(shot) > 230 if theme == "light" else np.median(shot) < 40
    colourful = (shot.max(axis=2) - shot.min(axis=2) > 60).mean()
    assert 0.002 < colourful < 0.5  # the maps and charts
    assert len(np.unique(shot @ [65536, 256, 1])) > 200


def test_the_pointer_names_vertices_and_zooms(report, browser):
    browser.open(report.as_uri(), 1200)
    browser.value("document.querySelector('.plate').scrollIntoView()")
    box = browser.value(
        "(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('.plate').getBoundingClientRect())"
    )
    # Vertex 1 is in the south-west, a hundredth of the picture's pixels from the corner.
    browser.point(box["x"] + 8, box["y"] + box["height"] - 8)
    browser.until(f"{READOUT} === 'vertex 1: distance 0 (40.0000° N, 0.0000° E)'")
    browser.point(box["x"] + box["width"] - 8, box["y"] + 8)
    browser.until(f"{READOUT}.startsWith('vertex 400: distance ') && {READOUT}.endsWith('(40.1900° N, 0.1900° E)')")
    assert browser.value("document.querySelector('.pick').hidden") is False
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    browser.point(*middle, "mouseWheel", deltaX=0, deltaY=-300, modifiers=2)  # with Ctrl
    browser.until(f"{TRANSFORM}.endsWith('scale(2.71828)') || {TRANSFORM}.includes('scale(2.7')")
    before = browser.value(TRANSFORM)
    browser.point(*middle, "mousePressed", button="left", buttons=1, clickCount=1)
    browser.point(middle[0] + 50, middle[1] + 20, button="left", buttons=1)
    browser.point(middle[0] + 50, middle[1] + 20, "mouseReleased", button="left", clickCount=1)
    browser.until(f"{TRANSFORM} !== {before!r}")  # dragged
    browser.value("document.querySelector('.tools button:last-child').click()")
    assert browser.value(TRANSFORM) == "translate(0px, 0px) scale(1)"
    browser.point(0, 0)
    browser.until(f"{READOUT}.startsWith('Point at the map')")


def test_keys_zoom_move_and_name_vertices(report, browser):
    browser.open(report.as_uri(), 1200)
    browser.value("document.querySelectorAll('.plate')[1].focus()")
    for key in ("+", "+", "+", "ArrowLeft", "ArrowDown"):
        browser.key(key)
    browser.until("document.querySelectorAll('.sheet')[1].style.transform.includes('scale(3.375)')")
    browser.until("document.querySelectorAll('.readout')[1].textContent.startsWith('vertex ')")
    assert browser.value(TRANSFORM) in ("", "translate(0px, 0px) scale(1)")  # the other map stays
    browser.key("0")
    browser.until("document.querySelectorAll('.sheet')[1].style.transform === 'translate(0px, 0px) scale(1)'")


def test_a_query_is_copied(report, browser):
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.open(report.as_uri(), 1200)
    browser.value("setTimeout = () => {}")  # after which the button would say 'Copy' again
    browser.value("document.querySelector('details').open = true; document.querySelector('.query button').click()")
    browser.until("document.querySelector('.query button').textContent === 'Copied'")
    shown = browser.value("document.querySelector('.query pre').textContent")
    assert shown.startswith("SELECT vertex, distance") and str(report.parents[2] / "latest" / "bfs") in shown
    assert browser.value("getSelection().toString()").strip() == shown.strip()


@pytest.mark.parametrize("width", [420, 1400])
def test_a_graph_without_coordinates_is_drawn_with_names(browser, tmp_path, width):
    names = ["<b>bold</b>", '<img src=x onerror="document.title=1">', "a long name with many words, of a vertex", "x", "y"]
    rows = "".join(f"{json.dumps(one)},{json.dumps(other)}\n".replace('\\"', '""') for one, other in pairwise(names))
    (tmp_path / "names.csv").write_text("src,dst\n" + rows)
    options = {"graph": {"source": str(tmp_path / "names.csv")}, "output": tmp_path / "out", "backend": "cpu"}
    made = run_all(RunConfig.model_validate(options | {"stages": ["bfs"], "sources": ["x"], "arcs": False}))
    browser.open((made.path / "report.html").as_uri(), width)
    assert browser.value("[...document.querySelectorAll('.label')].map(one => one.textContent)") == sorted(set(names) - {"x"})
    assert browser.value("document.title") != "1" and browser.value("document.querySelectorAll('.sheet b').length") == 0
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.value(CUT_OFF.replace("LONG", "false")) == []
    browser.value("document.querySelector('.plate').scrollIntoView()")
    box = browser.value("document.querySelector('.marker').getBoundingClientRect().toJSON()")
    browser.point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    browser.until(f"{READOUT} === 'vertex x: distance 0'")  # without coordinates


@pytest.mark.parametrize("width", [420, 1400])
def test_changes_are_counted_and_mapped(browser, tmp_path, width):
    """The road between 1 and 2, weight 1, is closed; so 1 is reached no more from 2, in the other way from 9."""
    text, places = grid(8)
    arcs = [arc for arc in text.splitlines(keepends=True)[1:] if not arc.startswith(("a 1 2 ", "a 2 1 "))]
    before = run(tmp_path / "before", text, places, ["sssp"], sources=(2,))
    now = run(tmp_path / "now", f"p sp 64 {len(arcs)}\n" + "".join(arcs), places, ["sssp"], sources=(2,))
    browser.open((now.draw(before=before).path / "report.html").as_uri(), width)
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.value(CUT_OFF.replace("LONG", "false")) == []
    assert browser.value("document.querySelectorAll('.plate').length") == 2
    assert browser.value("document.querySelector('.map b').textContent") == "Changes since the last run"
    browser.value("document.querySelector('.plate').scrollIntoView()")
    box = browser.value("document.querySelector('.plate').getBoundingClientRect().toJSON()")
    browser.point(box["x"] + 8, box["y"] + box["height"] - 8)
    browser.until(f"{READOUT}.startsWith('vertex 1: distance changed by ')")
    browser.point(box["x"] + box["width"] - 8, box["y"] + 8)
    browser.until(f"{READOUT}.startsWith('vertex 64: unchanged ')")


@pytest.fixture(scope="module", params=[8, 17, 36, 64])
def long_names(tmp_path_factory, request) -> Path:
    """A report of everything, with ids, columns, files and units whose names have so many characters."""
    length, work = request.param, tmp_path_factory.mktemp("long")

    def long(name: object) -> str:
        return str(name).rjust(length, "a")

    rows = [f"{long(vertex)},{long(1 + 7 * vertex % 40)},{vertex}.25\n" for vertex in range(1, 40)]
    files = {
        "source": (long("g") + ".csv", f"src,dst,{long('w')}\n" + "".join(rows)),
        "coordinates": ("xy.csv", "vertex,x,y\n" + "".join(f"{long(one)},{one % 7},{one // 7}\n" for one in range(1, 41))),
        "nodes": ("n.csv", f"vertex,{long('c')}\n" + "".join(f"{long(one)},{long(one)}\n" for one in range(1, 41))),
    }
    for name, text in files.values():
        (work / name).write_text(text)
    (work / "f.csv").write_text(f"facility\n{long(3)}\n{long(5)}\n")
    graph = {key: str(work / name) for key, (name, _) in files.items()} | {"weight": {"name": long("w"), "unit": long("u")}}
    graph |= {"columns": {"weight": long("w")}}
    sources = {"stages": ["bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability"], "sources": [long(3), long(5)]}
    products = {"nearest": {"facilities": str(work / "f.csv")}, "isochrones": {"thresholds": [5]}, "closeness": {}, "flows": {}}
    options = {"graph": graph, "output": work / "out", "backend": "cpu", "named": True, **sources, **products}
    first, second = (run_all(RunConfig.model_validate(options | {"sources": [long(one)]})) for one in (3, 5))
    assert first.path != second.path
    return second.path / "report.html"


@pytest.mark.parametrize("width", [420, 1400])
def test_long_names_scroll_within_their_card(long_names, browser, width):
    browser.open(long_names.as_uri(), width)
    browser.value("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.value(CUT_OFF.replace("LONG", "true")) == []
