"""The cache of one website: the fetched skills, and the state of the last fetch."""

import hashlib
import os
import shutil
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import orjson

from skillwire.core.atomic_write import remove_abandoned, replace_file, staging_folder
from skillwire.core.file_lock import is_in_use
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Digest
from skillwire.sources.fetched import Snapshot
from skillwire.sources.folder.files import make_executable
from skillwire.sources.web.client import HttpValidators

_PRIVATE_DIR_MODE = 0o700
"""Mode of the cache folder. The skills may require a token, so other users must not read the cache."""
_ABANDONED_AFTER = 24 * 60 * 60
"""Seconds after which a temporary folder counts as a leftover from a killed process."""


@dataclass(frozen=True, slots=True)
class FetchedSkill:
    """A skill that was fetched, checked and stored in the cache."""

    key: str
    """The name of the skill's folder in the cache.

    The key is computed from the skill's name and the digest of its download, or of each of its files.
    """
    size: int
    """Total size of the skill's files, in bytes."""
    validators: Mapping[str, HttpValidators] = field(default_factory=dict[str, HttpValidators])
    """For a skill without a digest, the HTTP validators of its files, by path."""


@dataclass(frozen=True, slots=True)
class VisitState:
    """The outcome of the last fetch."""

    address: str = ""
    """The address at which the index was requested."""
    index: Digest | None = None
    validators: HttpValidators = field(default_factory=HttpValidators)
    skills: Mapping[str, FetchedSkill] = field(default_factory=dict[str, FetchedSkill])
    """The skills in the newest snapshot, by name."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """The reasons why downloads with the right digest are unusable, by key.

    Such downloads are not fetched again.
    """
    versions: tuple[str, ...] = ()
    """The versions of the newest and the previous snapshot, the newest first."""
    problems: tuple[Problem, ...] = ()

    def render(self) -> bytes:
        """Return the state as JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["index"] = None if self.index is None else {"text": self.index.text}
        return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Parse the JSON from `render`.

        If it is damaged, return an empty state, so that everything is fetched again.
        """
        try:
            return cls._parse(orjson.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()

    @classmethod
    def _parse(cls, value: Any) -> Self:
        index = value["index"]
        return cls(
            address=str(value["address"]),
            index=None if index is None else Digest(index["text"]),
            validators=HttpValidators(**value["validators"]),
            skills={name: _fetched_skill(each) for name, each in value["skills"].items()},
            refused=dict(value["refused"]),
            versions=tuple(Digest(version).text for version in value["versions"]),
            problems=tuple(_problem(problem) for problem in value["problems"]),
        )


def _fetched_skill(value: Any) -> FetchedSkill:
    validators = {path: HttpValidators(**each) for path, each in value["validators"].items()}
    return FetchedSkill(str(value["key"]), int(value["size"]), validators)


def _problem(value: Any) -> Problem:
    return Problem(
        path=value["path"],
        rule=Rule(value["rule"]),
        severity=Severity(value["severity"]),
        message=value["message"],
        hint=value["hint"],
        field=value["field"],
        line=value["line"],
    )


class WebCache:
    """The cache folder of one website. Several processes may use it, because all writes are atomic."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / "state.json"
        self._index = folder / "index.json"
        self._skills = folder / "skills"
        self._snapshots = folder / "copies"
        self._staging = folder / "staging"

    def state(self) -> VisitState:
        """Return the state that was saved last, or an empty state if there is none or it is damaged."""
        try:
            return VisitState.parse(self._state.read_bytes())
        except OSError:
            return VisitState()

    def index(self, state: VisitState) -> bytes | None:
        """Return the cached index if it has the digest in `state`, else None."""
        try:
            content = self._index.read_bytes()
        except OSError:
            return None
        return content if state.index == Digest.of(content) else None

    def has(self, key: str) -> bool:
        return (self._skills / key).is_dir()

    def size(self, key: str) -> int | None:
        """Return the size of the skill with this key in bytes, or None if it is not cached."""
        if not self.has(key):
            return None
        try:
            files = [path for path in (self._skills / key).rglob("*") if path.is_file()]
            return sum(path.stat().st_size for path in files)
        except OSError:
            return None

    def read(self, key: str, path: str) -> bytes | None:
        """Return a file of the skill with this key, or None if it is not cached."""
        try:
            return (self._skills / key / path).read_bytes()
        except OSError:
            return None

    def put(self, key: str, files: Mapping[str, bytes], executable: Collection[str] = ()) -> None:
        """Store a skill. Its paths must already be checked. The files in `executable` are made executable."""
        with self._create_folder(self._skills / key) as staged:
            for path, content in files.items():
                target = staged / path
                target.parent.mkdir(parents=True, exist_ok=True)
                _write(target, content, executable=path in executable)

    def assemble(self, skills: Mapping[str, FetchedSkill]) -> str:
        """Create a snapshot with these skills, each in a folder with the skill's name.

        Return the snapshot's version.
        """
        content = "".join(f"{name} {skills[name].key}\n" for name in sorted(skills))
        version = Digest.of(content.encode()).text
        if not self._root(version).is_dir():
            with self._create_folder(self._root(version)) as staged:
                for name, skill in skills.items():
                    _link_tree(self._skills / skill.key, staged / name)
        return version

    def snapshot(self, state: VisitState) -> Snapshot | None:
        """Return the newest snapshot that still exists, or None if there is none."""
        for version in state.versions:
            if (root := self._root(version)).is_dir():
                return Snapshot(root, version, state.problems)
        return None

    def save(self, state: VisitState, index: bytes) -> None:
        """Store the outcome of a fetch. Delete skills and snapshots that `state` omits, unless in use."""
        self._make_folder()
        remove_abandoned(self.folder)
        replace_file(self._index, index, private=True)
        replace_file(self._state, state.render(), private=True)
        snapshots = {self._root(version) for version in state.versions}
        skills = {self._skills / skill.key for skill in state.skills.values()}
        for folder, current in ((self._snapshots, snapshots), (self._skills, skills)):
            for each in _children(folder):
                if each not in current and not is_in_use(each):
                    shutil.rmtree(each, ignore_errors=True)

    def _root(self, version: str) -> Path:
        return self._snapshots / version.removeprefix("sha256:")

    @contextmanager
    def _create_folder(self, target: Path) -> Generator[Path]:
        """Yield a new folder that is renamed to `target` at the end, unless another process was faster."""
        self._make_folder()
        self._staging.mkdir(exist_ok=True)
        with staging_folder(self._staging, abandoned_seconds=_ABANDONED_AFTER) as staged:
            target.parent.mkdir(exist_ok=True)
            try:
                yield staged
                staged.rename(target)
            except OSError:
                if not target.is_dir():
                    raise

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=_PRIVATE_DIR_MODE, parents=True, exist_ok=True)


def skill_key(*parts: str) -> str:
    """Return the key of the skill that these parts identify."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _write(path: Path, content: bytes, *, executable: bool = False) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        if executable:
            make_executable(file.fileno())
        os.fsync(file.fileno())  # makes sure that a renamed folder is complete even after a crash


def _link_tree(source: Path, target: Path) -> None:
    """Recreate the folder `source` at `target`, with hard links to its files."""
    target.mkdir()
    for folder, folders, files in os.walk(source):
        below = target / Path(folder).relative_to(source)
        for name in folders:
            (below / name).mkdir()
        for name in files:
            _link(Path(folder) / name, below / name)


def _link(source: Path, target: Path) -> None:
    """Create a hard link to a file, or copy the file if that is impossible."""
    try:
        target.hardlink_to(source)
    except OSError:  # the file system has no hard links, or the file has too many
        shutil.copy(source, target)
