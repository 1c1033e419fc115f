"""Every example in the README and the documentation works when pasted into an empty folder."""

from pathlib import Path

import pytest

from tests.support.doc_examples import Fence, Reader, fences
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
REFERENCE = {"problems.md", "contract-rules.md"}
"""Pages whose examples are wrong and right files. `tests/tooling/test_docs.py` checks them."""


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in REFERENCE], ids=lambda page: page.name
)
def test_examples_of_a_page_run_in_order(page: Path, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader:
        for fence in fences(text_of(page)):
            try:
                reader.try_out(fence)
            except Exception as error:
                raise AssertionError(f"{page.name}:{fence.line}: {error}\n\n{fence.body}") from error


def test_an_example_is_skipped_only_with_a_reason() -> None:
    marked = [fence for page in PAGES for fence in fences(text_of(page)) if fence.run]
    for fence in marked:
        assert fence.run.startswith("exit ") or len(fence.run.removeprefix("no, ").split()) > 2, fence


@pytest.mark.parametrize(
    "fence",
    [
        Fence(1, "sh", None, "", "exit 3\n"),
        Fence(1, "sh", None, "exit 1", "true\n"),
        Fence(1, "sh", None, "", "skillwire serve nowhere --http 8765 --no-such-option\n"),
        Fence(1, "python", None, "", "raise SystemExit(1)\n"),
        Fence(1, "json", None, "", "{\n"),
    ],
    ids=lambda fence: fence.body.strip(),
)
def test_a_broken_example_fails(fence: Fence, tmp_path: Path) -> None:
    with Reader(tmp_path) as reader, pytest.raises((AssertionError, ValueError)):
        reader.try_out(fence)
