"""The Agent Skills rules for frontmatter fields, as one table.

A problem is an error if it prevents the Skills extension from serving the skill. Every other problem is a
warning, and the skill is served, because one in ten public skills breaks some rule. Fields without a rule are
served unchanged (S7).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from skillwire.core.conformance import MAX_COMPATIBILITY, MAX_DESCRIPTION
from skillwire.core.names import NAME_RULE, is_skill_name, suggest_name
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.frontmatter.values import Fields, is_plain_text
from skillwire.safe_text import quoted

RESERVED_METADATA = "io.modelcontextprotocol/"

_SHOWN_KEYS = 3
# A tool may have arguments with spaces and commas: `Bash(git add, git commit)`.
_TOOL = re.compile(r"(?:[^\s,()]|\([^()]*\))+")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_COMPARED_KEYS = 100
_SHORTEST_ABBREVIATION = 4
_SIMILARITY = 0.75
"""How similar a misspelled key is at least, from 0 to 1."""
_REQUIRED = frozenset({"name", "description"})
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "empty"),
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a mapping"),
)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a field, and what to write instead."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Check:
    """One rule. `find` returns the fault of a field's value, or None if the value is valid.

    Its arguments are the value (None if the field is missing) and the name of the folder, if any.
    """

    field: str
    rule: Rule
    severity: Severity
    find: Callable[[Json, str | None], _Fault | None]


def check_fields(fields: Fields, path: str, folder: str | None) -> Iterator[Problem]:
    """Yield the problems with these fields, in the order of the table."""
    for check in _CHECKS:
        if check.field not in fields.values and check.field not in _REQUIRED:
            continue
        if fault := check.find(fields.values.get(check.field), folder):
            near = None if check.field in fields.values else _near_key(fields, check.field)
            hint = (
                fault.hint if near is None else f"did you mean `{check.field}`? the file has {quoted(near)}"
            )
            yield Problem(
                path,
                check.rule,
                check.severity,
                fault.message,
                hint=hint,
                field=check.field,
                line=fields.lines.get(check.field if near is None else near),
            )


def _near_key(fields: Fields, missing: str) -> str | None:
    """Return the key that is probably a misspelling of the `missing` key, or None if there is none."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a missing field

    # A frontmatter may have thousands of fields, and each comparison takes time.
    unknown = (key for key in islice(fields.values, _COMPARED_KEYS) if key not in _CHECKED_FIELDS)
    keys = {key.lower(): key for key in unknown}
    found = get_close_matches(missing, keys, n=1, cutoff=_SIMILARITY)
    begun = (key for key in keys if len(key) >= _SHORTEST_ABBREVIATION and missing.startswith(key))
    nearest = next(iter(found), None) or next(begun, None)
    return None if nearest is None else keys[nearest]


def check_ambiguities(fields: Fields, path: str) -> Iterator[Problem]:
    """Yield a problem for each value that another parser reads differently."""
    for ambiguity in fields.ambiguities:
        yield Problem(
            path,
            Rule.YAML_AMBIGUOUS,
            Severity.WARNING,
            ambiguity.message,
            hint=ambiguity.hint,
            field=ambiguity.field,
            line=ambiguity.line,
        )


def parse_tools(text: str) -> list[str]:
    """Split a line of text into tools at spaces and commas."""
    return _TOOL.findall(text)


def has_commas(text: str) -> bool:
    """Return whether a line of tools contains commas outside of the tools' arguments in parentheses."""
    return "," in _ARGUMENTS.sub("", text)


def _name_missing(value: Json, folder: str | None) -> _Fault | None:
    return _Fault("the skill has no name", _name_hint("", folder)) if value is None else None


def _name_format(value: Json, folder: str | None) -> _Fault | None:
    if value is None or (isinstance(value, str) and is_skill_name(value)):
        return None
    if isinstance(value, str):
        return _Fault(f"{quoted(value)} is not {NAME_RULE}", _name_hint(value, folder))
    return _Fault(f"the name is {_describe_type(value)}, not text", _name_hint(_as_text(value), folder))


def _name_folder(value: Json, folder: str | None) -> _Fault | None:
    if not isinstance(value, str) or folder is None or value == folder or not is_skill_name(value):
        return None
    rename = f"rename the folder to {quoted(value)}"
    return _Fault(
        f"{quoted(value)} is not the name of its folder, {quoted(folder)}",
        f"{rename}, or write {_name_line(folder)}" if is_skill_name(folder) else rename,
    )


def _description_missing(value: Json, _folder: str | None) -> _Fault | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return _Fault(
            "the skill has no description" if value is None else "the description is empty",
            "write `description: …`: what the skill does, and when to use it",
        )
    return None


def _description_type(value: Json, _folder: str | None) -> _Fault | None:
    return None if value is None else _not_text("description", value)


def _description_length(value: Json, _folder: str | None) -> _Fault | None:
    return _too_long(value, MAX_DESCRIPTION)


def _license_type(value: Json, _folder: str | None) -> _Fault | None:
    return _not_text("license", value)


def _compatibility_format(value: Json, _folder: str | None) -> _Fault | None:
    if value == "":
        return _Fault("the compatibility is empty", "remove the field, or write what the skill needs to run")
    return _not_text("compatibility", value) or _too_long(value, MAX_COMPATIBILITY)


def _metadata_type(value: Json, _folder: str | None) -> _Fault | None:
    if not isinstance(value, dict):
        return _Fault(
            f"the metadata is {_describe_type(value)}, not a mapping of text to text",
            'write one indented `key: "value"` on each line below `metadata:`, or remove the field',
        )
    wrong = [key for key, item in value.items() if not isinstance(item, str)]
    if not wrong:
        return None
    message, example = f"values that are not text: {_join_keys(wrong)}", quoted(f'{wrong[0]}: "…"')
    if isinstance(value[wrong[0]], (list, dict)):
        return _Fault(message, f"write the values on one line, in quotes: {example}")
    return _Fault(message, f"put the value in quotes, as in {example}")


def _metadata_reserved(value: Json, _folder: str | None) -> _Fault | None:
    reserved = [key for key in value if key.startswith(RESERVED_METADATA)] if isinstance(value, dict) else []
    if not reserved:
        return None
    return _Fault(
        f"`{RESERVED_METADATA}` is reserved for the protocol: {_join_keys(reserved)}",
        "use your own domain before the slash",
    )


def _allowed_tools_format(value: Json, _folder: str | None) -> _Fault | None:
    if isinstance(value, list):
        return _Fault("the tools are a list, not one line of text", _tools_hint(map(_as_text, value)))
    if isinstance(value, str) and has_commas(value):
        message = "the tools are separated by commas; the standard uses spaces"
        return _Fault(message, _tools_hint(parse_tools(value)))
    return _not_text("allowed-tools", value)


def _invocation_type(value: Json, _folder: str | None) -> _Fault | None:
    if isinstance(value, bool):
        return None
    hint = "write `true` or `false`, without quotes"
    return _Fault(f"the value is {_describe_type(value)}, not true or false", hint)


_CHECKS = (
    _Check("name", Rule.NAME_MISSING, Severity.ERROR, _name_missing),
    _Check("name", Rule.NAME_FORMAT, Severity.ERROR, _name_format),
    _Check("name", Rule.NAME_FOLDER, Severity.WARNING, _name_folder),
    _Check("description", Rule.DESCRIPTION_MISSING, Severity.ERROR, _description_missing),
    _Check("description", Rule.DESCRIPTION_TYPE, Severity.ERROR, _description_type),
    _Check("description", Rule.DESCRIPTION_LENGTH, Severity.WARNING, _description_length),
    _Check("license", Rule.LICENSE_TYPE, Severity.WARNING, _license_type),
    _Check("compatibility", Rule.COMPATIBILITY_FORMAT, Severity.WARNING, _compatibility_format),
    _Check("metadata", Rule.METADATA_TYPE, Severity.WARNING, _metadata_type),
    _Check("metadata", Rule.METADATA_RESERVED, Severity.WARNING, _metadata_reserved),  # S18
    _Check("allowed-tools", Rule.ALLOWED_TOOLS_FORMAT, Severity.WARNING, _allowed_tools_format),
    _Check("disable-model-invocation", Rule.INVOCATION_TYPE, Severity.WARNING, _invocation_type),
    _Check("user-invocable", Rule.INVOCATION_TYPE, Severity.WARNING, _invocation_type),
)
_CHECKED_FIELDS = frozenset(check.field for check in _CHECKS)


def _not_text(field: str, value: Json) -> _Fault | None:
    if isinstance(value, str):
        return None
    example = (
        quoted(f'{field}: "{_as_text(value)}"') if value and not isinstance(value, (list, dict)) else None
    )
    hint = f"put it in quotes: {example}" if example else f"write text after `{field}:`, or remove the field"
    return _Fault(f"the value is {_describe_type(value)}, not text", hint)


def _too_long(value: Json, limit: int) -> _Fault | None:
    if not isinstance(value, str) or len(value) <= limit:
        return None
    return _Fault(
        f"the text has {len(value)} characters, the limit is {limit}",
        f"shorten it by {len(value) - limit}; move details below the frontmatter",
    )


def _name_hint(wrong: str, folder: str | None) -> str:
    if folder is not None and is_skill_name(folder):
        return f"write {_name_line(folder)}, the name of its folder"
    return f"write {_name_line(suggest_name(wrong) or 'my-skill')}"


def _name_line(name: str) -> str:
    # `name: 2024` would be a number, and `name: null` would be no name at all.
    return f"`name: {name}`" if is_plain_text(name) else f'`name: "{name}"`'


def _tools_hint(tools: Iterator[str] | list[str]) -> str:
    return "write " + quoted("allowed-tools: " + " ".join(tools))


def _join_keys(keys: list[str]) -> str:
    more = len(keys) - _SHOWN_KEYS
    return ", ".join(map(quoted, keys[:_SHOWN_KEYS])) + (f" and {more} more" if more > 0 else "")


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "…" if value is None or isinstance(value, (list, dict)) else str(value)


def _describe_type(value: object) -> str:
    # A file contains only these types, but a program can pass any object.
    return next((name for kind, name in _KINDS if isinstance(value, kind)), f"a `{type(value).__name__}`")
