"""Pictures of a report for the documentation: `python -m tests.browser.screenshots REPORT.html FOLDER`."""

import io
import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.browser.chromium import NO_NETWORK, Tab, tab

HEIGHT = 2200  # pixels of the page that are shown
ALONE = ".maps, main, .map { display: block; max-width: 1600px; } .scale { display: none; }"


def take(report: Path, folder: Path) -> None:
    """Write `report-WIDTH-THEME.png`, the upper part of the page, and `new-york.png`, a part of its first map."""
    with TemporaryDirectory() as profile, tab(Path(profile), NO_NETWORK) as browser:
        for width in (1400, 420):
            for theme in ("light", "dark"):
                browser.open(report.resolve().as_uri(), width, theme=theme)
                clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT, "scale": 0.6 if width == 1400 else 1}
                _save(browser, clip, folder / f"report-{width}-{theme}.png")
        browser.open(report.resolve().as_uri(), 2600)
        browser.value(
            "document.head.append(Object.assign(document.createElement('style'), {textContent: STYLE}))".replace(
                "STYLE", repr(ALONE)
            )
        )
        box = browser.value("document.querySelector('.plate').getBoundingClientRect().toJSON()")
        part = {"y": box["y"] + 0.36 * box["height"], "height": 0.27 * box["height"]}
        _save(browser, {"x": box["x"], "width": box["width"], "scale": 0.6, **part}, folder / "new-york.png")


def _save(browser: Tab, clip: dict[str, float], path: Path) -> None:
    taken = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
    Image.open(io.BytesIO(b64decode(taken))).convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
