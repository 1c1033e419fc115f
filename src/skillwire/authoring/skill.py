"""`Skill`: a skill written in code or read from a folder."""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Self, get_args, get_type_hints

from skillwire.authoring.rules import (
    check_file_paths,
    check_mime_type,
    check_name,
    check_reference_path,
    check_skill_path,
)
from skillwire.core.mime import MARKDOWN
from skillwire.core.names import SKILL_FILE, file_uri, root_uri
from skillwire.core.problem import Problem
from skillwire.errors import InvalidValueError, SourceError
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.protocol.prompt_text import join_files
from skillwire.sources.folder.reader import BrokenSkillError, SkillContents, read_skill_contents

_PATHS = frozenset({"Path", "PurePath", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"})
DOCUMENT_TYPE = MARKDOWN
"""The MIME type of every `SKILL.md` (S6)."""


def caller_folder() -> Path:
    """Return the folder of the source file that contains the caller's caller.

    If that code is not in a file, return the current directory.
    """
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    return _folder_of(frame.f_globals if frame else {})


def function_folder(function: Callable[..., object]) -> Path:
    """Return the folder of the source file that defines `function`.

    If the function is not from a file, return the current directory.
    """
    return _folder_of(getattr(function, "__globals__", {}))


def _folder_of(names: dict[str, object]) -> Path:
    file = names.get("__file__")
    return Path(file).absolute().parent if isinstance(file, str) else Path.cwd()


def returns_path(function: Callable[..., object]) -> bool:
    """Return whether a function is annotated to return a path, so that its skill is a folder.

    Raises `InvalidValueError` if it is annotated to return either a path or something else.
    """
    annotation = _return_annotation(function)
    if _is_path(annotation):
        return True
    if _mentions_path(annotation):
        name = getattr(function, "__name__", repr(function))
        fix = "write `-> Path` for a folder that always exists, or return text"
        raise InvalidValueError("the function", name, "may return a path, or something else", fix)
    return False


def _return_annotation(function: Callable[..., object]) -> object:
    """Return the return annotation of a function. If it cannot be evaluated, return it as a string."""
    try:
        return get_type_hints(function).get("return")
    except Exception:  # noqa: BLE001 - the names may be imported for type checkers only
        return getattr(function, "__annotations__", {}).get("return")


def _is_path(annotation: object) -> bool:
    """Return whether an annotation is a path type."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] in _PATHS
    return isinstance(annotation, type) and issubclass(annotation, PurePath)


def _mentions_path(annotation: object) -> bool:
    """Return whether an annotation contains a path type, as in `Path | None`."""
    if isinstance(annotation, str):
        return not _PATHS.isdisjoint(re.findall(r"\w+", annotation))
    return _is_path(annotation) or any(map(_mentions_path, get_args(annotation)))


def folder_skill(folder: Path) -> SkillContents:
    """Read the skill in `folder`. Raises `InvalidValueError`."""
    try:
        return read_skill_contents(folder)
    except BrokenSkillError as error:
        problems = "; ".join(f"{problem}, {problem.hint}" for problem in error.problems)
        fix = f"see also `skillwire check {folder}`"
        raise InvalidValueError(
            "the folder", str(folder), f"is not a skill that can be served: {problems}", fix
        ) from error
    except SourceError as error:
        fix = "a relative path is relative to the source file that contains it"
        raise InvalidValueError("the folder", str(folder), f"is not a skill: {error}", fix) from error


@dataclass(frozen=True, slots=True)
class SkillReference:
    """A file beside a `SKILL.md`. Raises `InvalidValueError` if a field is invalid."""

    path: str
    mime_type: str
    body: str | bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_reference_path(self.path)
        check_mime_type(self.path, self.mime_type)
        _bytes(self.body)

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return _bytes(self.body)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill in code. `body` is the whole `SKILL.md`, including the frontmatter, and is served unchanged.

    Each `with_…` method returns a new skill. Raises `InvalidValueError` if a field is invalid.
    """

    name: str
    body: str | bytes = field(repr=False)
    path: str = field(default="", kw_only=True)
    """The skill path, which ends in the name. The default is the name alone."""
    shown_as: str | None = field(default=None, kw_only=True)
    """The description set with `with_description`, which is not in the frontmatter."""
    references: tuple[SkillReference, ...] = field(default=(), kw_only=True)
    """The files beside the `SKILL.md`."""
    warnings: tuple[Problem, ...] = field(default=(), kw_only=True, repr=False, compare=False)
    """One warning for each file that `from_dir` had to leave out."""
    document: SkillDocument = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "path", self.path or self.name)
        check_skill_path(self.path, self.name)
        object.__setattr__(
            self, "document", read_document(self.content, f"{self.path}/{SKILL_FILE}", self.name)
        )
        self._check_frontmatter()
        check_file_paths([SKILL_FILE, *(reference.path for reference in self.references)])

    @classmethod
    def from_dir(cls, path: str | os.PathLike[str]) -> Self:
        """Read a skill folder with all its files. Later changes to the folder have no effect.

        A relative `path` starts at the folder of the calling source file. Raises `InvalidValueError` if the
        folder is not a valid skill. The error lists every problem.
        """
        found = folder_skill(caller_folder() / path)
        main, *others = found.files.items()
        references = (SkillReference(name, file.mime_type, file.content) for name, file in others)
        return cls(found.name, main[1].content, references=tuple(references), warnings=found.problems)

    def with_path(self, path: str) -> Self:
        """Return the skill at another path, which must end in the skill's name."""
        check_skill_path(path, self.name)
        return replace(self, path=path)

    def with_description(self, description: str) -> Self:
        """Return the skill with another description for prompts and lists. Its frontmatter stays the same."""
        return replace(self, shown_as=description)

    def with_reference(self, path: str, mime_type: str, body: str | bytes) -> Self:
        """Return the skill with one more file, after its other files."""
        return replace(self, references=(*self.references, SkillReference(path, mime_type, body)))

    @property
    def content(self) -> bytes:
        """The bytes of its `SKILL.md`."""
        return _bytes(self.body)

    @property
    def description(self) -> str:
        """The description for prompts and lists. The default is the description in the frontmatter."""
        if self.shown_as is not None:
            return self.shown_as
        found = (self.document.frontmatter or {}).get("description")
        return found if isinstance(found, str) else ""

    @property
    def uri(self) -> str:
        """The URI of its `SKILL.md`."""
        return file_uri(self._root, SKILL_FILE)

    def uris(self) -> Iterator[str]:
        """Yield the URI of every file, `SKILL.md` first."""
        yield self.uri
        yield from (file_uri(self._root, reference.path) for reference in self.references)

    def prompt_text(self) -> str:
        """Return the skill as one text: its `SKILL.md`, then each reference below a line with its path.

        Raises `InvalidValueError` if a file is not text.
        """
        for path, content in [(SKILL_FILE, self.content), *self._contents()]:
            _check_text(path, content)
        return join_files(self.content, self._contents()).decode()

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path and bytes of each reference."""
        return ((reference.path, reference.content) for reference in self.references)

    @property
    def _root(self) -> str:
        """The URI of the skill's folder."""
        return root_uri(self.path.split("/"))

    def _check_frontmatter(self) -> None:
        found = (self.document.frontmatter or {}).get("name")
        if found is not None and found != self.name:
            fix = f"write `name: {self.name}`, or give the skill the name in its document"
            raise InvalidValueError("the name", str(found), f"in the frontmatter is not `{self.name}`", fix)


def _bytes(body: str | bytes) -> bytes:
    """Return `body` as bytes, in UTF-8. Raises `InvalidValueError` if a text cannot be encoded."""
    if isinstance(body, bytes):
        return body
    try:
        return body.encode()
    except UnicodeEncodeError as error:
        rule = "holds half of a surrogate pair, which cannot be encoded"
        raise InvalidValueError("the text", body, rule, "pass it as bytes, or fix it") from error


def _check_text(path: str, content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        rule = "is not UTF-8 text, and a prompt can only contain text"
        raise InvalidValueError(
            "the file", path, rule, "omit the prompt, or make the file a text file"
        ) from error
