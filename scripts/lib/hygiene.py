"""Check that the repository has no big files, no lock files, and no addresses of package registries.

hygiene.py [FOLDER]   check every file that git tracks or would add
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 1 << 20

# They contain registry addresses. Exact versions are in constraints.txt and scripts/lib/judges.sh.
LOCK_FILES = frozenset(
    {
        "Pipfile.lock",
        "bun.lock",
        "bun.lockb",
        "npm-shrinkwrap.json",
        "package-lock.json",
        "pdm.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "pylock.toml",
        "uv.lock",
        "yarn.lock",
    }
)

# Each machine chooses its own registry. (The spaces keep this pattern from matching itself.)
REGISTRY = re.compile(
    rb"""(?ix)
      registry \. (npmjs|yarnpkg) \. (org|com)   # the public ones
    | files \. pythonhosted \. org
    | pypi \. org / simple
    | (extra[-_])? index [-_] url                # settings that name one
    | registry \s* [=:] \s* .? https? :
    | "resolved" \s* : \s* " http
    """
)


def files(root: Path) -> Iterator[Path]:
    listed = subprocess.run(
        # Continuous integration often checks out as another user. Safe here: only names are listed.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    for name in sorted(set(listed.stdout.decode("utf-8", "surrogateescape").split("\0")) - {""}):
        path = root / name
        if path.is_file() and not path.is_symlink():  # skips deleted files, links and submodules
            yield path


def faults(path: Path) -> Iterator[str]:
    if path.name in LOCK_FILES:
        yield "is a lock file"
    if (size := path.stat().st_size) > MAX_BYTES:
        yield f"has {size:,} bytes, more than {MAX_BYTES:,}"
        return
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if found := REGISTRY.search(line):
            yield f"names a package registry in line {number}: `{found[0].decode()}`"


def main(root: Path) -> int:
    found = [f"{path.relative_to(root).as_posix()} {fault}" for path in files(root) for fault in faults(path)]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()))
