"""The page as Chromium shows it, from the disk, with nothing else to ask."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.reports import Page, grid, run

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome on the PATH")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def browse(work: Path, page: Path, *options: str) -> str:
    command = [str(BROWSER), *QUIET, f"--user-data-dir={work / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def requests(work: Path, page: Path) -> set[str]:
    """Every address that the page asked for, but for files and data. The browser's own requests have no origin."""
    log = work / "net.json"
    browse(work, page, f"--log-net-log={log}", "--dump-dom")
    events = json.loads(log.read_text())["events"]
    started = [event["params"] for event in events if "initiator" in event.get("params", {})]
    asked = {params["url"] for params in started if params["initiator"] != "not an origin"}
    return {url for url in asked if url.startswith(("http:", "https:", "ws:", "wss:", "ftp:"))}


def screenshot(work: Path, page: Path, width: int, *options: str) -> np.ndarray:
    browse(work, page, f"--screenshot={work / 'page.png'}", f"--window-size={width},1600", *options)
    return np.asarray(Image.open(work / "page.png").convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    steps = run(tmp_path_factory.mktemp("report"), *grid(20), sources=(1,))
    return steps.draw("twenty by twenty").path / "report.html"


def test_headings_charts_and_maps_are_there(report, tmp_path):
    page = Page(browse(tmp_path, report, "--dump-dom"))
    for heading in ("Maps", "Answers", "Distributions", "Proofs", "Source, machine and steps", "First rows of the tables"):
        assert heading in page.words
    assert len(page.attributes("svg")) == 3
    assert len(page.attributes("img")) == 2
    assert "400 vertices, 1,520 arcs" in page.text


def test_no_network_request_is_tried(report, tmp_path):
    assert requests(tmp_path, report) == set()
    meddled = tmp_path / "meddled.html"
    meddled.write_text(report.read_text().replace("<main>", '<main><img src="http://spy.invalid/spy.png">'))
    assert requests(tmp_path, meddled) == set()  # the page's own policy forbids it
    meddled.write_text('<!doctype html><img src="http://spy.invalid/spy.png">')
    assert "http://spy.invalid/spy.png" in requests(tmp_path, meddled)  # and the log would show it


@pytest.mark.parametrize("width", [500, 1200])
def test_light_and_dark_pages_are_drawn(report, tmp_path, width):
    light = screenshot(tmp_path, report, width, "--blink-settings=preferredColorScheme=1")
    dark = screenshot(tmp_path, report, width, "--blink-settings=preferredColorScheme=0")
    assert np.median(light) > 230 and np.median(dark) < 40
    for shot in (light, dark):
        colourful = (shot.max(axis=2) - shot.min(axis=2) > 60).mean()
        assert 0.005 < colourful < 0.5  # the maps
        assert len(np.unique(shot.reshape(-1, 3), axis=0)) > 200


def test_nothing_is_wider_than_a_phone(report, tmp_path):
    probe = tmp_path / "probe.html"
    frame = f'<iframe src="{report.as_uri()}" style="width: 360px; height: 9000px; border: 0"></iframe>'
    script = "onload = () => { const d = frames[0].document.documentElement; document.title = d.scrollWidth }"
    probe.write_text(f"<!doctype html><title></title>{frame}<script>{script}</script>")
    assert "<title>360</title>" in browse(tmp_path, probe, "--dump-dom", "--allow-file-access-from-files")
