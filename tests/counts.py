"""How many random cases a test tries: all of them at night (`make nightly` sets NIGHTLY=1), a share in `make test`."""

import os

NIGHTLY = os.environ.get("NIGHTLY") == "1"
_SHARE, _LEAST = 3, 25


def examples(full: int) -> int:
    """The value of Hypothesis's `max_examples` for a test that tries `full` examples at night."""
    return full if NIGHTLY else max(min(full, _LEAST), full // _SHARE)
