"""Pictures of a report for the documentation: `python -m tests.browser.screenshots REPORT.html FOLDER`."""

import io
import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.browser.chromium import NO_NETWORK, tab

HEIGHT = 2200  # pixels of the page that are shown


def take(report: Path, folder: Path) -> None:
    """Write `report-WIDTH-THEME.png`, the upper part of the page."""
    with TemporaryDirectory() as profile, tab(Path(profile), NO_NETWORK) as browser:
        for width in (1400, 420):
            for theme in ("light", "dark"):
                browser.open(report.resolve().as_uri(), width, theme=theme)
                clip = {"x": 0, "y": 0, "width": width, "height": HEIGHT, "scale": 0.6 if width == 1400 else 1}
                taken = browser.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
                picture = Image.open(io.BytesIO(b64decode(taken))).convert("RGB").quantize(128)
                picture.save(folder / f"report-{width}-{theme}.png", optimize=True)


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
