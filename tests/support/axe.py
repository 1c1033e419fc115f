"""axe-core, the accessibility checker from npm, run in a page."""

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Page

from tests.support.paths import ROOT

_RUN = """async () => {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const options = { runOnly: tags, rules: { "target-size": { enabled: true } } };
  const { violations, passes } = await axe.run(document, options);
  return {
    passed: passes.map((each) => each.id),
    found: violations.flatMap((each) => each.nodes.map((node) => `${each.id}: ${node.html}`)),
  };
}"""


@cache
def _source() -> str:
    with TemporaryDirectory() as folder:
        copied = subprocess.run(
            [ROOT / "scripts/ui", "--axe", folder], capture_output=True, text=True, check=False
        )
        assert copied.returncode == 0, copied.stderr
        return (Path(folder) / "axe.min.js").read_text(encoding="utf-8")


async def violations(page: Page) -> list[str]:
    """Return what violates WCAG 2.2 AA or best practice on this page, as it is now."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_source())
    result: dict[str, Any] = await page.evaluate(_RUN)
    assert "color-contrast" in result["passed"], "the check of contrasts did not run"
    return result["found"]
