"""The docs as tests: every block of the pages named here runs, and every link of every page leads somewhere."""

import gzip
import re
import subprocess

import pytest

from pipeline.config.loading import load_run, run_config
from pipeline.run import run
from tests.project.docs import ROOT, blocks, run_page

CORNER = 3000  # New York's first vertices: whole streets, cut into islands
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", pattern], cwd=ROOT,
                            capture_output=True, text=True, check=True)  # fmt: skip
    return sorted(ROOT / name for name in listed.stdout.split("\0") if name)


def test_no_built_file_is_in_the_project():
    """Such as a wheel that a tool fetched into the folder."""
    built = (".whl", ".so", ".o", ".pyc", ".a", ".egg", ".tar", ".xz", ".zst", ".zip", ".log")
    found = [path.name for path in tracked("*") if path.name.endswith(built)]
    assert not found


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    """A folder with `data` and with `out` as the demo leaves it, New York's of a corner of the same graph."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "data").symlink_to(ROOT / "data")
    run(load_run(ROOT / "conf" / "runs" / "facebook.toml", output=folder / "out" / "facebook"))
    run(load_run(ROOT / "conf" / "runs" / "wiki-vote.toml", output=folder / "out" / "wiki-vote"))
    source = {"source": str(corner(folder, "gr")), "coordinates": str(corner(folder, "co")), "name": "new-york"}
    source["weight"] = {"name": "length", "unit": "decimetres"}
    (folder / "places.txt").write_text(f"1\n{CORNER // 2}\n")
    nearest = {"facilities": str(folder / "places.txt")}
    run(run_config("docs", graph=source, output=folder / "out" / "new-york", sources=[1, CORNER // 2], nearest=nearest))
    return folder


def corner(folder, suffix):
    """The arcs or coordinates of the demo's graph between the vertices 1..CORNER."""
    kept = []
    with gzip.open(ROOT / "data" / f"USA-road-d.NY.{suffix}.gz", "rt") as lines:
        for line in lines:
            tag, *numbers = line.split()
            if (tag == "a" and max(map(int, numbers[:2])) <= CORNER) or (tag == "v" and int(numbers[0]) <= CORNER):
                kept.append(line)
    header = f"p sp {CORNER} {len(kept)}\n" if suffix == "gr" else f"p aux sp co {CORNER}\n"
    (folder / f"corner.{suffix}").write_text(header + "".join(kept))
    return folder / f"corner.{suffix}"


PAGES = {"README.md": 3} | {
    f"docs/{page}.md": least
    for page, least in {"abstractions": 1, "custom-stages": 3, "dynamic-graphs": 1, "tables": 6, "runs": 7}.items()
}


@pytest.mark.parametrize(("page", "least"), PAGES.items())
def test_the_blocks_of_a_page_run(demo_folder, page, least):
    assert run_page(ROOT / page, demo_folder) >= least


def test_every_page_has_links_that_lead_somewhere():
    pages = tracked("*.md")
    assert pages
    for page in pages:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in link and not link.startswith("mailto:"):
                name, _, heading = link.partition("#")
                target = page.parent / name if name else page
                assert target.exists(), f"{page}: {link}"
                assert not heading or heading in anchors(target), f"{page}: {link}"


def anchors(page):
    """What the headings of a page are called in links."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PAGE = """
```python
answer = 6 * 7
```
```
not run
```
```bash no-run
exit 1
```
```console
$ echo one two three
one ... three
$ echo four
```
"""


def page_of(folder, text):
    path = folder / "page.md"
    path.write_text(text)
    return path


def test_the_runner_runs_blocks_in_order(tmp_path):
    page = page_of(tmp_path, PAGE + "```sql\nSELECT 1\n```\n```python\nassert answer == 42\n```\n")
    assert [block.language for block in blocks(page)] == ["python", "console", "sql", "python"]
    assert run_page(page, tmp_path) == 4


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert False\n```",
        "```bash\nfalse\n```",
        "```console\n$ echo one\ntwo\n```",
        "```sql\nSELECT 1 WHERE false\n```",
    ],
)
def test_the_runner_fails_where_a_block_does(tmp_path, block):
    with pytest.raises(AssertionError):
        run_page(page_of(tmp_path, PAGE + block + "\n"), tmp_path)
