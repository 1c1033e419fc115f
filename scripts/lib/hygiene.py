"""What must never be in the repository: big files, lock files, and addresses of package registries.

hygiene.py [FOLDER]   looks at every file that git tracks or would add
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_BYTES = 1 << 20

# They carry registry addresses; exact versions live in constraints.txt and in scripts/lib/judges.sh.
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

# Which registry is used is the business of the machine. (Spelt so that this file does not find itself.)
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
        # Continuous integration often checks out as another user; only names are read here.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    for name in sorted(set(listed.stdout.decode("utf-8", "surrogateescape").split("\0")) - {""}):
        path = root / name
        if (
            path.is_file() and not path.is_symlink()
        ):  # neither deleted in the working copy, nor a link or submodule
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
