"""What a skill written in code may be called, and what its paths may hold."""

import re
import unicodedata
from collections.abc import Iterable

from skillwire.model.display import quoted
from skillwire.model.errors import SkillwireError
from skillwire.model.name import NAME_RULE, is_skill_name
from skillwire.model.path import folded, prefixes
from skillwire.model.template import PARAMETER_RULE, parameter_of, parameters_of
from skillwire.model.uri import SKILL_FILE

_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
_MIME_TYPE = re.compile(rf'{_WORD}/{_WORD}(?: *; *{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]*"))*')
"""Type, subtype and parameters (RFC 9110, 8.3.1)."""


class AuthoringError(SkillwireError, ValueError):
    """A skill that cannot be: the value, the rule that it breaks, and what to write instead."""

    def __init__(self, what: str, value: str, rule: str, fix: str) -> None:
        self.value, self.rule, self.fix = value, rule, fix
        super().__init__(f"{what} {quoted(value)} {rule}; {fix}")


def check_name(name: str) -> None:
    """Raise `AuthoringError` if a skill cannot be called so."""
    if not is_skill_name(name):
        raise AuthoringError("the name", name, f"is not {NAME_RULE}", "write it as in `refund-desk`")


def check_skill_path(path: str, name: str) -> None:
    """Raise `AuthoringError` if a skill cannot stand at this path."""
    fix = f"write it as in `team/topic/{name}`"
    if fault := _fault(path):
        raise AuthoringError("the path of a skill", path, fault, fix)
    if path.rpartition("/")[2] != name:
        raise AuthoringError("the path of a skill", path, f"does not end in its name, `{name}`", fix)


def check_live_path(path: str) -> None:
    """Raise `AuthoringError` if content made at read time cannot stand at this path, parameters and all."""
    fix = "write it as in `reports/daily` or `docs/{product}/guide`"
    if fault := _fault(path):
        raise AuthoringError("the path of a skill", path, fault, fix)
    for segment in path.split("/"):
        if ("{" in segment or "}" in segment) and parameter_of(segment) is None:
            raise AuthoringError("the segment", segment, f"is not {PARAMETER_RULE}", fix)
    named = parameters_of(path)
    if len(set(named)) < len(named):
        rule = "has a parameter twice"
        raise AuthoringError("the path of a skill", path, rule, "give each parameter a name of its own")
    if parameter_of(last := path.rpartition("/")[2]) is None:
        check_name(last)


def check_reference_path(path: str) -> None:
    """Raise `AuthoringError` if a file beside a `SKILL.md` cannot have this path."""
    fix = "write it as in `references/guide.md`"
    if fault := _fault(path):
        raise AuthoringError("the path of a reference", path, fault, fix)
    if path.casefold() == SKILL_FILE.casefold():
        rule = "is that of the skill's own document"
        raise AuthoringError("the path of a reference", path, rule, "give that as the body of the skill")


def check_file_paths(paths: Iterable[str]) -> None:
    """Raise `AuthoringError` if files cannot stand side by side in one skill, on every host (H7)."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    fix = "give each file a path of its own"
    for path in paths:
        name = folded(path)
        if (other := files.get(name)) is not None:
            same = "is taken in this skill" if other == path else f"is for many hosts the same as `{other}`"
            raise AuthoringError("the path of a reference", path, same, fix)
        files[name] = path
        folders |= dict.fromkeys(prefixes(name), path)
        clash = folders.get(name) or next((files[above] for above in prefixes(name) if above in files), None)
        if clash is not None:
            rule = f"cannot stand beside `{clash}`: a file is no folder"
            raise AuthoringError("the path of a reference", path, rule, fix)


def check_mime_type(path: str, mime_type: object) -> None:
    """Raise `AuthoringError` if this is not the type of a file."""
    if not isinstance(mime_type, str) or _MIME_TYPE.fullmatch(mime_type) is None:
        fix = "write it as in `text/markdown`"
        raise AuthoringError("the MIME type", str(mime_type), f"of `{path}` is not `type/subtype`", fix)


def _fault(path: str) -> str | None:
    """Return the first rule that a relative path breaks."""
    if not path:
        return "is empty"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return "holds a control character"  # NUL among them
    if "://" in path:
        return "is a URL"
    if path.startswith("/"):
        return "begins with `/`"
    for character in "\\?#":
        if character in path:
            return f"holds `{character}`"
    segments = path.split("/")
    return next((f"has the segment `{each}`" for each in segments if each in {"", ".", ".."}), None)
