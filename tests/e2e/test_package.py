"""The built packages install into an empty environment and work there."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TRY = ROOT / "scripts/lib/try_package.py"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this checkout."""
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, timeout=120
    )
    return folder


def test_wheel_has_the_package_and_nothing_else(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"skillwire"}
    assert {"skillwire/py.typed", "skillwire/pages/assets/browser.html"} <= set(names)


def test_source_distribution_has_what_a_packager_needs(packages: Path) -> None:
    (source,) = packages.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "docs/index.md"} <= names


@pytest.mark.parametrize(
    ("pattern", "extras", "pages"),
    [("*.whl", "[fastmcp]", ["README.md", "docs/quickstart.md"]), ("*.tar.gz", "", ["docs/quickstart.md"])],
    ids=["wheel", "source"],
)
def test_examples_run_with_only_the_package_installed(
    packages: Path, pattern: str, extras: str, pages: list[str]
) -> None:
    (package,) = packages.glob(pattern)
    done = subprocess.run(
        [sys.executable, TRY, f"{package}{extras}", *pages],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("every example works") == len(pages)
