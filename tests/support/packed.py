"""Random trees of skills, and what a bundle or plugin made from them contains."""

import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st

from skillwire import Catalog
from tests.support.skills import write_skill

Tree = Mapping[str, Mapping[str, tuple[bytes, bool]]]
"""The files of each skill beside its `SKILL.md`, with bytes and executable bit, by the path of the skill."""

_SEGMENTS = st.sampled_from(["acme", "Billing", "team x", "größe", "v1.0", "skills"])
_FILES = st.sampled_from(
    ["a.md", "scripts/run.sh", "scripts/with space.py", "data/ünïcode.bin", "x/y/z", "100%.txt", "LICENSE"]
)
_CONTENT = st.tuples(st.binary(max_size=40), st.booleans())


def trees() -> st.SearchStrategy[Tree]:
    """Trees in which no skill is inside another one, and every name occurs once."""
    files = st.dictionaries(_FILES, _CONTENT, max_size=4)
    skill = st.tuples(st.lists(_SEGMENTS, max_size=2), files)
    names = st.sampled_from(["refunds", "returns", "a", "git-release-2"])
    return st.dictionaries(names, skill, min_size=1, max_size=3).map(
        lambda tree: {"/".join([*groups, name]): files for name, (groups, files) in tree.items()}
    )


def write_tree(root: Path, tree: Tree) -> Path:
    """Write a tree in place of what is at `root`."""
    shutil.rmtree(root, ignore_errors=True)
    for path, files in tree.items():
        folder = write_skill(root, path, {name: content for name, (content, _) in files.items()})
        for name, (_, executable) in files.items():
            (folder / name).chmod(0o755 if executable else 0o644)
    return root


def unzip(bundle: Path, folder: Path) -> Path:
    """Unpack a bundle with the modes in it."""
    with zipfile.ZipFile(bundle) as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, folder))
            path.chmod(stat.S_IMODE(info.external_attr >> 16))
    return folder


def contents(catalog: Catalog) -> dict[str, object]:
    """Return what a client sees of each skill: frontmatter, and files with digests and executable bits."""
    return {uri: (entry.frontmatter, entry.files) for uri, entry in catalog.entries.items()}
