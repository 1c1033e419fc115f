"""Variables in what a file says, replaced as each client replaces them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillwire.model.display import quoted
from skillwire.model.errors import SkillwireError

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# An end that is missing is searched for once, and not again from every beginning.
_BRACES = rf"\$\{{(?P<braced>{_NAME})(?:\}}|:-(?P<default>[^}}]*+)(?:\}}|(?P<unclosed>\Z)))"
_BARE = rf"\$(?P<bare>{_NAME})"
NONE = re.compile(r"(?!)")
"""Nothing is a variable."""
BRACES = re.compile(_BRACES)
"""`${NAME}` and `${NAME:-default}`."""
BRACES_AND_BARE = re.compile(rf"{_BRACES}|{_BARE}")
"""The same, and `$NAME`."""
EDITOR = re.compile(r"\$\{(?P<editor>[^}]*+)(?:\}|(?P<unclosed>\Z))")
"""`${env:NAME}`, `${workspaceFolder}` and the like."""

_SEPARATORS = frozenset({"pathSeparator", "/"})


class EntryError(SkillwireError):
    """Why one server of a file cannot be reached. The others can."""


@dataclass(slots=True)
class Variables:
    """Replaces variables in the way of one client, and remembers those of the environment that it used."""

    pattern: re.Pattern[str]
    environment: Mapping[str, str] = field(repr=False)
    predefined: Mapping[str, str] = field(default_factory=dict[str, str])
    used: set[str] = field(default_factory=set[str])

    def expand(self, text: str) -> str:
        """Return `text` with the values. What is in a value stays as it is. Raises `EntryError`."""
        return self.pattern.sub(self._value, text)

    def value(self, name: str) -> str:
        """Return the value of a variable of the environment. Raises `EntryError`."""
        if name not in self.environment:
            raise EntryError(f"the variable {quoted(name)} is not set")
        self.used.add(name)
        return self.environment[name]

    def _value(self, match: re.Match[str]) -> str:
        found = match.groupdict()
        if found.get("unclosed") is not None:
            return match[0]
        if (editor := found.get("editor")) is not None:
            return self._of_an_editor(editor)
        name, default = found.get("braced") or found.get("bare") or "", found.get("default")
        if default is not None and "${" in default:
            raise EntryError(f"a variable in the default of another, {quoted(name)}, is not supported")
        if default is not None and not self.environment.get(name):
            return default
        return self.value(name)

    def _of_an_editor(self, name: str) -> str:
        if name in self.predefined:
            if name not in _SEPARATORS:  # who is told where something is, is told who works here
                self.used.add(name)
            return self.predefined[name]
        kind, _, rest = name.partition(":")
        if kind == "env" and rest:
            return self.value(rest)
        if kind == "input":
            raise EntryError(f"the editor asks a person for {quoted(rest)}, and nobody else knows the answer")
        raise EntryError(f"only the editor knows what {quoted('${' + name + '}')} is")


def of_an_editor(environment: Mapping[str, str], home: Path, workspace: Path) -> Variables:
    """Return the variables that editors know, with `workspace` as the folder that is open."""
    predefined = {
        "userHome": str(home),
        "workspaceFolder": str(workspace),
        "workspaceRoot": str(workspace),
        "workspaceFolderBasename": workspace.name,
        "cwd": str(workspace),
        "pathSeparator": "/",
        "/": "/",
    }
    return Variables(EDITOR, environment, predefined)
