"""What a skill written in code may be called, and what its paths may hold."""

import unicodedata

from skillwire.model.display import quoted
from skillwire.model.errors import SkillwireError
from skillwire.model.name import NAME_RULE, is_skill_name
from skillwire.model.template import PARAMETER_RULE, parameter_of, parameters_of
from skillwire.model.uri import SKILL_FILE


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
