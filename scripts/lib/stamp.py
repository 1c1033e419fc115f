"""Check whether this virtual environment is up to date with the checkout. Run by its own Python.

stamp.py check LEVEL   exit with code 0 if it is, and LEVEL or more is installed
stamp.py write LEVEL   record that it is
"""

import hashlib
import json
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAMP = Path(sys.prefix, "skillwire.stamp")
LEVELS = ["run", "dev"]  # each includes the one before


def fingerprint() -> str:
    """Return a hash of what makes an environment stale when it changes: inputs, interpreter, location."""
    digest = hashlib.sha256()
    for part in (
        (ROOT / "pyproject.toml").read_bytes(),
        (ROOT / "constraints.txt").read_bytes(),
        sys.version.encode(),
        sys.prefix.encode(),  # the programs in bin/ contain it, so a moved environment is broken
    ):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def installed() -> set[str]:
    return {folder.name for folder in Path(sysconfig.get_path("purelib")).glob("*.dist-info")}


def is_current(level: str) -> bool:
    try:
        stamp = json.loads(STAMP.read_text("utf-8"))
        return (
            stamp["wanted"] == fingerprint()
            and LEVELS.index(stamp["level"]) >= LEVELS.index(level)
            and installed() >= set(stamp["installed"])  # extra packages are allowed, missing ones are not
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(level: str) -> None:
    stamp = {"wanted": fingerprint(), "level": level, "installed": sorted(installed())}
    half = STAMP.with_suffix(".half")
    half.write_text(json.dumps(stamp), "utf-8")
    half.replace(STAMP)


if __name__ == "__main__":
    command, requested = sys.argv[1:]
    if command == "write":
        write(requested)
    elif not is_current(requested):
        sys.exit(1)
