"""Long counts: `make nightly` selects the tests that have them."""

import re

from tests.project.test_layout import ROOT, files

COUNTING = re.compile(r"^from tests\.counts import .*\bNIGHTLY", re.MULTILINE)
SELECTED = re.compile(r"pytest\.mark\.(?:nightly|sampled)|\bhypothesis\b")


def test_tests_with_other_counts_at_night_run_at_night():
    modules = {path.relative_to(ROOT): path.read_text() for path in files("tests") if path.name.startswith("test_")}
    counting = {path: text for path, text in modules.items() if COUNTING.search(text)}
    assert len(counting) > 20
    unmarked = [str(path) for path, text in counting.items() if not SELECTED.search(text)]
    assert not unmarked, "mark them `sampled` or `nightly`"
