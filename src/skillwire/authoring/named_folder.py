"""A skill whose folder a function names."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skillwire.authoring.folder import function_folder
from skillwire.authoring.registry import Skills
from skillwire.authoring.rules import AuthoringError, check_live_path
from skillwire.authoring.skill import Skill
from skillwire.model.template import parameters_of


@dataclass(frozen=True, slots=True)
class NamedFolder:
    """A skill at a path, and the function that is asked for its folder when the server is built.

    Raises `AuthoringError` for a function that cannot be asked then.
    """

    path: str
    function: Callable[[], Path]

    def __post_init__(self) -> None:
        check_live_path(self.path)
        if parameters_of(self.path):
            fix = "return its text instead, or a folder without parameters in the path"
            raise AuthoringError("the path", self.path, "has parameters, and a folder is one skill", fix)
        if inspect.iscoroutinefunction(self.function):
            fix = "write `def`: it is asked once, when the server is built"
            raise AuthoringError("the skill", self.path, "is a folder that an `async def` names", fix)
        try:
            inspect.signature(self.function).bind()
        except TypeError as error:
            fix = "write it as in `def folder() -> Path`"
            raise AuthoringError(
                "the skill", self.path, "is a folder, whose function is called without arguments", fix
            ) from error

    def skills(self) -> Skills:
        """Return the skill as it is now. Raises `AuthoringError` for a folder that is none."""
        folder = function_folder(self.function) / self.function()
        return Skills().add(Skill.from_dir(folder).with_path(self.path))


def check_nothing_said(path: str, said: Mapping[str, object]) -> None:
    """Raise `AuthoringError` if somebody says of a folder what stands in its `SKILL.md`."""
    given = [name for name, value in said.items() if value is not None]
    if given:
        rule = f"is a folder, and `{given[0]}` is for content that is made when it is read"
        raise AuthoringError("the skill", path, rule, "leave it out: what stands in the folder counts")
