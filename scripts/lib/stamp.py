"""Says whether this virtual environment is the one that the checkout asks for. Run by its own Python.

stamp.py check LEVEL   exit code 0 if it is, with LEVEL or more installed
stamp.py write LEVEL   remember that it is
"""

import hashlib
import json
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STAMP = Path(sys.prefix, "skillwire.stamp")
LEVELS = ["run", "dev"]  # each holds the one before


def wanted() -> str:
    """Everything that makes an environment stale when it changes: inputs, interpreter, and its own place."""
    digest = hashlib.sha256()
    for part in (
        (ROOT / "pyproject.toml").read_bytes(),
        (ROOT / "constraints.txt").read_bytes(),
        sys.version.encode(),
        sys.prefix.encode(),  # the programs in bin/ name it: a moved environment is a broken one
    ):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def installed() -> set[str]:
    return {folder.name for folder in Path(sysconfig.get_path("purelib")).glob("*.dist-info")}


def is_current(level: str) -> bool:
    try:
        stamp = json.loads(STAMP.read_text("utf-8"))
        return (
            stamp["wanted"] == wanted()
            and LEVELS.index(stamp["level"]) >= LEVELS.index(level)
            and installed() >= set(stamp["installed"])  # more is a developer's own business, fewer is damage
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(level: str) -> None:
    stamp = {"wanted": wanted(), "level": level, "installed": sorted(installed())}
    half = STAMP.with_suffix(".half")
    half.write_text(json.dumps(stamp), "utf-8")
    half.replace(STAMP)


if __name__ == "__main__":
    verb, wanted_level = sys.argv[1:]
    if verb == "write":
        write(wanted_level)
    elif not is_current(wanted_level):
        sys.exit(1)
