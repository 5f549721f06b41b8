"""Pictures of a page as arrays."""

import base64
import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.reports import Page

ROOT = Path(__file__).parents[3]


def image(page: Page) -> np.ndarray:
    """RGBA arrays of the pictures on the page, stacked."""
    pictures = [attributes["src"].partition("base64,")[2] for attributes in page.attributes("img")]
    return np.stack([np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGBA")) for text in pictures])
