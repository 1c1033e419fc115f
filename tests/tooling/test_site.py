"""The documentation site: every page has its place, and search finds it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.paths import ROOT

SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
PAGES = {path.name for path in (ROOT / "docs").glob("*.md")}


def pages_of(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of a navigation, which is a list of `{title: page}` and `{title: list}`."""
    for entry in nav:
        for page in entry.values():
            yield from [page] if isinstance(page, str) else pages_of(page)


def test_navigation_lists_every_page_once() -> None:
    listed = list(pages_of(SETTINGS["nav"]))
    assert len(listed) == len(set(listed))
    assert set(listed) == PAGES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly from a copy of the pages."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "mkdocs.yml").write_text(yaml.safe_dump({**SETTINGS, "site_dir": "site"}), "utf-8")
    zensical = Path(sys.executable).parent / "zensical"
    subprocess.run([zensical, "build", "--strict"], cwd=folder, check=True, timeout=120)
    return folder / "site"


def test_built_site_has_every_page_and_finds_it(site: Path) -> None:
    assert {path.stem for path in site.glob("*.html")} - {"404"} == {Path(page).stem for page in PAGES}
    found = json.loads((site / "search.json").read_text("utf-8"))["items"]
    assert {Path(item["location"].partition("#")[0]).stem for item in found} >= {
        Path(page).stem for page in PAGES - {"index.md"}
    }


def test_reading_the_site_sends_no_request_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
    assert {each for page in site.glob("*.html") for each in loads.findall(page.read_text("utf-8"))} == set()


def test_no_table_shows_an_escaped_separator(site: Path) -> None:
    escaped = re.compile(r"<code>[^<]*\\\|[^<]*</code>")
    assert {
        each for page in site.glob("*.html") for each in escaped.findall(page.read_text("utf-8"))
    } == set()
