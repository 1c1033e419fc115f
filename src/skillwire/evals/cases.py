"""Eval cases: what people ask for, and whether a skill should be used for it.

Two formats are read, told apart by their shape. Trigger cases are queries with the expected decision:
`[{"query": "…", "should_trigger": true}]`. Task cases are those of agentskills.io and the skill-creator:
`{"skill_name": "…", "evals": [{"id": 1, "prompt": "…", "expected_output": "…", "files": [],
"expectations": ["…"]}]}`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from skillwire.errors import InvalidValueError

MAX_TEXT_BYTES = 8 * 1024
"""Maximum length of a query in UTF-8, which is also the limit of a search."""
_MAX_LIST = 100
"""Maximum number of files, and of expectations, of a task."""
_MAX_ID = 100
_ASK = "write what a person would ask for"
_TRIGGER = '`{"query": "…", "should_trigger": true}`'


@dataclass(frozen=True, slots=True)
class CaseFault:
    """What is wrong with a case, and how to fix it."""

    field: str
    """Where it is in the file, such as `[2].query`."""
    message: str
    hint: str


class _CaseError(Exception):
    def __init__(self, field: str, message: str, hint: str) -> None:
        self.fault = CaseFault(field, message, hint)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class TriggerCase:
    """A query, and whether a model should use a skill for it."""

    id: str
    """Identifies the case among those of its skill."""
    query: str
    should_trigger: bool
    skill: str = ""
    """The name of the skill as the file gives it. Empty if the file does not name a skill."""

    def __post_init__(self) -> None:
        _check(self.id, self.query)


@dataclass(frozen=True, slots=True)
class TaskCase:
    """A task that a model should do with the help of a skill, and what a good result is like."""

    id: str
    prompt: str
    expected_output: str = ""
    files: tuple[str, ...] = ()
    """The input files, relative to the folder of the skill."""
    expectations: tuple[str, ...] = ()
    """Statements about the result that can be verified."""
    skill: str = ""

    def __post_init__(self) -> None:
        _check(self.id, self.prompt)
        if any(not is_inner_path(each) for each in self.files):
            raise InvalidValueError(
                "a file", repr(self.files), "leads out of the skill", "use a relative path"
            )

    @property
    def trigger(self) -> TriggerCase:
        """The question whether the skill is used for this task. It should be."""
        return TriggerCase(self.id, self.prompt, should_trigger=True, skill=self.skill)


def _check(name: str, text: str) -> None:
    if not name or len(name) > _MAX_ID:
        raise InvalidValueError("the id", repr(name[:_MAX_ID]), "is empty or too long", "use a short id")
    if fault := text_fault(text):
        raise InvalidValueError("the text", repr(text[:_MAX_ID]), fault, _ASK)


def text_fault(text: str) -> str:
    """Return what is wrong with a query or prompt, or an empty string."""
    if not text.strip():
        return "is empty"
    if len(text) > MAX_TEXT_BYTES or len(text.encode(errors="replace")) > MAX_TEXT_BYTES:
        return f"is longer than {MAX_TEXT_BYTES:,} bytes"
    return ""


def is_inner_path(path: str) -> bool:
    """Return whether a path is relative and stays inside the folder that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and "\0" not in path and "\\" not in path and parts[0] != "/" and ".." not in parts


def parse_cases(
    value: object, prefix: str, *, max_cases: int
) -> Iterator[TriggerCase | TaskCase | CaseFault]:
    """Yield the cases in the JSON value of a file, or what is wrong with them.

    The id of a case is `prefix#id`, with its position if it has no id.
    """
    if isinstance(value, list):
        found, where, skill = cast("list[object]", value), "", ""
    elif isinstance(value, dict) and isinstance((evals := cast("Any", value).get("evals")), list):
        found, where = cast("list[object]", evals), "evals"
        skill = cast("Any", value).get("skill_name", "")
        if not isinstance(skill, str):
            yield CaseFault("skill_name", "`skill_name` is not text", "put it in quotes")
            skill = ""
    else:
        message = "this is neither a list of queries nor an object with the list `evals`"
        yield CaseFault("", message, f"write `[…]` with cases such as {_TRIGGER}")
        return
    if not found:
        yield CaseFault(where, "there is no case", f"add one, such as {_TRIGGER}")
    if len(found) > max_cases:
        message = f"only the first {max_cases:,} of {len(found):,} cases are read"
        yield CaseFault(where, message, "move the others to another file")
    for number, each in enumerate(found[:max_cases], 1):
        try:
            yield _Parser(each, f"{where}[{number - 1}]").case(f"{prefix}#", str(number), skill)
        except _CaseError as error:
            yield error.fault


class _Parser:
    """Reads one case. Its methods raise `_CaseError`."""

    def __init__(self, value: object, place: str) -> None:
        self._place = place
        if not isinstance(value, dict):
            raise _CaseError(place, "a case is an object", f"write {_TRIGGER}")
        self._value = cast("Mapping[str, object]", value)

    def case(self, prefix: str, number: str, skill: str) -> TriggerCase | TaskCase:
        """Return the case. `number` is its id, and `skill` its skill, if it does not name them."""
        value = self._value
        key = "query" if "query" in value else "prompt"
        if key not in value:
            raise _CaseError(self._place, "there is neither a `query` nor a `prompt`", _ASK)
        text, name, skill = self._text(key), self._id(prefix, number), self._text("skill") or skill
        if fault := text_fault(text):
            raise self._error(key, f"the text {fault}", _ASK)
        if "should_trigger" in value or key == "query":
            should = value.get("should_trigger")
            if not isinstance(should, bool):
                said = "is missing" if should is None else "is not a boolean"
                raise self._error("should_trigger", f"`should_trigger` {said}", "write `true` or `false`")
            return TriggerCase(name, text, should, skill)
        files = self._texts("files")
        if not all(map(is_inner_path, files)):
            hint = "use a path such as `evals/files/a.csv`"
            raise self._error("files", "a file leads out of the folder of the skill", hint)
        # The pages of agentskills.io call them assertions, and the skill-creator calls them expectations.
        stated = self._texts("expectations" if "expectations" in value else "assertions")
        return TaskCase(name, text, self._text("expected_output"), files, stated, skill)

    def _error(self, key: str, message: str, hint: str) -> _CaseError:
        return _CaseError(f"{self._place}.{key}", message, hint)

    def _id(self, prefix: str, number: str) -> str:
        given = self._value.get("id", number)
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise self._error("id", "the id is neither a number nor text", "correct it, or leave it out")
        name = prefix + str(given)
        if not str(given).strip() or len(name) > _MAX_ID:
            raise self._error("id", "the id is empty or too long", "use a short one, or leave it out")
        return name

    def _text(self, key: str) -> str:
        """Return a text, or an empty one if it is missing."""
        given = self._value.get(key)
        if given is not None and not isinstance(given, str):
            raise self._error(key, f"`{key}` is not text", "put it in quotes")
        return given or ""

    def _texts(self, key: str) -> tuple[str, ...]:
        given = self._value.get(key)
        if given is None:
            return ()
        if isinstance(given, list):
            texts = [each for each in cast("list[object]", given) if isinstance(each, str)]
            if len(texts) == len(cast("list[object]", given)) <= _MAX_LIST:
                return tuple(texts)
        raise self._error(key, f"`{key}` is not a list of at most {_MAX_LIST} texts", 'write `["…", "…"]`')
