"""uv and pipx with a home of their own, and a shared cache below the checkout."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

PROGRAMS = Path(sys.executable).parent
"""Where uv, uvx and pipx are."""
_CACHE = ROOT / ".cache"
_CONSTRAINTS = str(ROOT / "constraints.txt")
_PASSED_ON = re.compile(r"(?:.*_proxy|SSL_CERT_\w+|PIP_\w+|UV_\w+)", re.IGNORECASE)
_PIP_SETTING = re.compile(r"^(?:global|install|:env:)\.+(index|extra-index)-[a-z]+='(.*)'$", re.MULTILINE)
_UV_VARIABLES = {"index": "UV_DEFAULT_INDEX", "extra-index": "UV_INDEX"}


def installer_environment(home: Path, programs: Path) -> dict[str, str]:
    """Return an environment in which only `programs` and the system's programs can be found.

    It has the settings that reach the package index from this machine. No Python is downloaded.
    """
    passed_on = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    return {
        **_index(),
        **passed_on,
        "HOME": str(home),
        "PATH": os.pathsep.join([str(programs), "/usr/bin", "/bin"]),
        "UV_CACHE_DIR": str(_CACHE / "uv"),
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_CONSTRAINT": _CONSTRAINTS,
        "PIP_CACHE_DIR": str(_CACHE / "pip"),
        "PIP_CONSTRAINT": _CONSTRAINTS,
    }


@cache
def _index() -> dict[str, str]:
    """Return pip's package index as settings of uv, which does not read pip's configuration."""
    return dict(_settings())


def _settings() -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for name, value in _PIP_SETTING.findall(listed):
        existing = [each for each in value.split() if not each.startswith("file://") or _exists(each)]
        if existing:
            yield _UV_VARIABLES[name], " ".join(existing)


def _exists(address: str) -> bool:
    return Path(address.removeprefix("file://")).exists()
