"""The rules for the text of a skill, and for the files around it. All of them warn."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from skillwire.contract.links import MAX_LINES, MAX_TOKENS, BodyFacts, unreferenced
from skillwire.contract.metadata_file import NAME as METADATA_FILE
from skillwire.contract.severity import SEVERITIES
from skillwire.model.display import quoted
from skillwire.model.problem import Problem, Rule
from skillwire.model.uri import SKILL_FILE

# What people and lawyers read, and models need not.
_FOR_PEOPLE = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "README", "CHANGELOG")


@dataclass(frozen=True, slots=True)
class Text:
    """The body of a skill as the rules see it, and what is known of the files beside it."""

    path: str
    """Its `SKILL.md`, below the folder that was given."""
    first_line: int
    """The line of the file in which the body begins."""
    body: BodyFacts
    files: frozenset[str]
    folders: frozenset[str]
    executable: frozenset[str] | None
    """The files that can be run; None where nobody knows."""
    declared: frozenset[str]
    """The files that the block names."""
    names_elsewhere: Callable[[], frozenset[str]]
    """The words of the skill's other files, for when they matter."""

    def problem(self, rule: Rule, message: str, hint: str, *, path: str = "", line: int = 0) -> Problem:
        where = path or self.path
        at = self.first_line + line - 1 if line else None
        return Problem(where, rule, SEVERITIES[rule], message, hint=hint, field="body", line=at)


def link_missing(text: Text) -> Iterator[Problem]:
    for link in text.body.links:
        if link.path not in text.files and link.path not in text.folders and link.path != ".":
            message = f"the text refers to {quoted(link.path)}, and the skill has no such file"
            hint = "mend the path, or add the file"
            if link.path.startswith("../"):
                hint = "put a copy into the folder of the skill: nothing outside it is served with it"
            yield text.problem(Rule.CONTRACT_LINK_MISSING, message, hint, line=link.line)


def file_unreferenced(text: Text) -> Iterator[Problem]:
    known = text.declared | {link.path for link in text.body.links} | {SKILL_FILE, METADATA_FILE}
    nested = tuple(path.removesuffix(SKILL_FILE) for path in text.files if path.endswith(f"/{SKILL_FILE}"))
    candidates = sorted(
        path
        for path in text.files - known
        if not path.startswith(nested) and not path.rpartition("/")[2].upper().startswith(_FOR_PEOPLE)
    )
    folders = text.body.folders | {link.path for link in text.body.links}
    left = list(unreferenced(candidates, text.body.names, folders))
    if not left:
        return
    for path in unreferenced(left, text.names_elsewhere(), frozenset()):
        message = f"nothing in the skill refers to {quoted(path)}, so no model will read it"
        hint = "link to it where it is needed, or remove it"
        yield text.problem(Rule.CONTRACT_FILE_UNREFERENCED, message, hint)


def body_length(text: Text) -> Iterator[Problem]:
    hint = "move what is not always needed into `references/`, and link to it"
    if text.body.lines > MAX_LINES:
        message = f"the text has {text.body.lines:,} lines, more than {MAX_LINES}"
        yield text.problem(Rule.CONTRACT_BODY_LENGTH, message, hint)
    elif text.body.tokens > MAX_TOKENS:
        message = f"the text has about {text.body.tokens:,} tokens, more than {MAX_TOKENS:,}"
        yield text.problem(Rule.CONTRACT_BODY_LENGTH, message, hint)


def script_mode(text: Text) -> Iterator[Problem]:
    for command in text.body.run if text.executable is not None else ():
        if command.path in text.files and command.path not in (text.executable or ()):
            message = f"the text has {quoted(command.path)} run, and the file is not executable"
            hint = f"run {quoted(f'chmod +x {command.path}')}, or name the program that runs it"
            yield text.problem(Rule.CONTRACT_SCRIPT_MODE, message, hint, line=command.line)


CHECKS: tuple[Callable[[Text], Iterable[Problem]], ...] = (
    link_missing,
    file_unreferenced,
    body_length,
    script_mode,
)


def check_text(text: Text) -> Iterator[Problem]:
    """Yield what is wrong with the text of a skill and the files around it."""
    for check in CHECKS:
        yield from check(text)
