"""Find the files that `skillwire check --fix` can fix, show the changes, and write them."""

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rich.text import Text

from skillwire.contract.adoption import NotAdoptedError, adopt, id_in
from skillwire.contract.editing import EditableFrontmatter
from skillwire.contract.fixes import ADOPTION_RULES, apply_fixes
from skillwire.contract.repository import CheckedSkill
from skillwire.contract.rules.standard import METADATA_FILE
from skillwire.contract.standard_fixes import NAME_RULES
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.problem import Problem, Rule
from skillwire.errors import UsageError
from skillwire.frontmatter.split import UnreadableError
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import confirm, is_interactive, print_error, stderr_console

ADOPTED = frozenset({Rule.CONTRACT_BLOCK_MISSING, Rule.CONTRACT_METADATA_FILE})
"""The rules whose violations `--adopt` fixes."""
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@dataclass(frozen=True, slots=True)
class Repair:
    """The current and the fixed content of a file."""

    path: str
    file: Path
    before: bytes
    after: bytes | None
    """None if the file should be removed."""


@dataclass(frozen=True, slots=True)
class WritableSkill:
    """A checked skill in a local folder that the user named, so that fixes may be written."""

    folder: Path
    checked: CheckedSkill
    readable: bytes | None = None
    """The `SKILL.md` with quotes that make its frontmatter readable, or None if it is readable as it is."""

    @property
    def name(self) -> str:
        """The name in the frontmatter, or an empty string."""
        name = self.checked.facts.frontmatter.get("name")
        return name if isinstance(name, str) else ""

    @property
    def is_linked(self) -> bool:
        """Whether the `SKILL.md` is in a folder with another name, to which a link leads."""
        return (
            self.folder / Path(self.checked.facts.path).name
        ).resolve().parent.name != self.checked.facts.folder


def find_repairs(
    problems: Iterable[Problem], skills: Mapping[str, WritableSkill], key: str | None, *, adopt: bool
) -> list[Repair]:
    """Return the files that can be fixed automatically, with their fixed content. Writes no file.

    With `adopt`, a fix may also add a metadata block and remove `metadata.yaml`. If a skill cannot be
    adopted, prints the reason.
    """
    taken = {skill.name for skill in skills.values()}
    repairs: list[Repair] = []
    for path, broken in _rules_by_file(problems, skills).items():
        skill = skills[path]
        file = skill.folder / Path(path).name
        try:
            before = file.read_bytes()
            # A block takes its id from the name, so the name is fixed first.
            after = before if skill.readable is None else skill.readable
            after = _with_name(skill, after, NAME_RULES.intersection(broken), key, taken)
        except (OSError, UnreadableError):  # changed since the check, which the next check reports
            continue
        obsolete: Repair | None = None
        adopted = adopt
        if adopt and not ADOPTED.isdisjoint(broken):
            try:
                after, obsolete = _adopt(path, skill, after)
            except NotAdoptedError as error:
                print_error(f"{quoted(path)} was not adopted: {error.reason}", hint=error.hint)
                adopted = False
        others = [
            each for each in broken if each not in NAME_RULES and (adopted or each not in ADOPTION_RULES)
        ]
        after = apply_fixes(after, others, key, skill.checked.facts.folder)
        if after != before:
            repairs.append(Repair(path, file, before, after))
        if obsolete is not None:
            repairs.append(obsolete)
    return repairs


def _rules_by_file(
    problems: Iterable[Problem], skills: Mapping[str, WritableSkill]
) -> Mapping[str, Collection[Rule]]:
    """Return the rules that each `SKILL.md` violates, by the path of its skill.

    If links lead to the same file from several skills, only the skill whose folder contains the file is
    returned, or the first if none does.
    """
    rules: defaultdict[str, dict[Rule, None]] = defaultdict(dict)
    for problem in problems:
        if problem.path in skills:
            rules[problem.path][problem.rule] = None
    first: dict[Path, str] = {}
    found: dict[str, dict[Rule, None]] = {}
    for path in sorted(rules, key=lambda path: skills[path].is_linked):
        real = (skills[path].folder / Path(path).name).resolve()
        known = first.setdefault(real, path)
        found.setdefault(known, {}).update(
            {rule: None for rule in rules[path] if path == known or rule is not Rule.NAME_FOLDER}
        )
    return {path: found[path] for path in rules if path in found}


def _with_name(
    skill: WritableSkill, content: bytes, broken: Iterable[Rule], key: str | None, taken: set[str]
) -> bytes:
    """Return the `SKILL.md` with its right name, and add the name to `taken`.

    A name that does not come from the folder must not be taken, because another one would be right then.
    """
    folder = _folder_name(skill)
    after = apply_fixes(content, broken, key, folder)
    if after == content:
        return content
    name = str(EditableFrontmatter.of(after).values["name"])
    if name != folder and name in taken:
        return content
    taken.add(name)
    return after


def _folder_name(skill: WritableSkill) -> str | None:
    """Return the name of a skill's folder, or None if the skill should not be named after it.

    Return None if `metadata.yaml` has another id, or if the folder is a link to a folder with another name.
    Also return None for the root of a repository, because each clone can have another name.
    """
    folder = skill.checked.facts.folder
    if skill.is_linked:
        return None
    try:
        sidecar = id_in(_content_of(skill.folder / METADATA_FILE))
    except (NotAdoptedError, OSError):
        sidecar = None
    is_clone = (skill.folder / ".git").exists()
    return None if is_clone or sidecar not in {None, folder} else folder


def _adopt(path: str, skill: WritableSkill, content: bytes) -> tuple[bytes, Repair | None]:
    """Return the `SKILL.md` with a metadata block, and a `Repair` that removes `metadata.yaml` if it exists.

    Raises `NotAdoptedError`.
    """
    sidecar = skill.folder / METADATA_FILE
    text = _content_of(sidecar)
    after = adopt(content, skill.checked.facts, skill.checked.key, text)
    if text is None:
        return after, None
    return after, Repair(str(PurePosixPath(path).with_name(METADATA_FILE)), sidecar, text, None)


def _content_of(sidecar: Path) -> bytes | None:
    if sidecar.is_symlink():
        raise NotAdoptedError(f"{quoted(METADATA_FILE)} is a link", "put the file itself there")
    return sidecar.read_bytes() if sidecar.is_file() else None


def may_write(repairs: list[Repair], *, yes: bool) -> bool | None:
    """Print a diff. Return whether to write the changes: with `yes`, or if the user confirms.

    If no one can be asked, because there is no terminal, prints an error and returns None.
    """
    console = stderr_console()
    for repair in repairs:
        for line in _diff(repair):
            console.print(Text(escape_invisible(line, keep="\t"), _COLOURS.get(line[0], "")))
    if yes:
        return True
    files = pluralize(len(repairs), "file")
    if not is_interactive():
        print_error(
            f"{files} can be fixed; nothing was written, because stdin or stderr is not a terminal",
            hint="`--fix --yes` writes without asking",
        )
        return None
    if confirm(f"write this to {files}?"):
        return True
    console.print("nothing was written")
    return False


def write(repairs: Iterable[Repair]) -> None:
    """Write or remove each file.

    Raises `UsageError` if a file has changed since it was read, or cannot be written.
    """
    for repair in repairs:
        try:
            if repair.file.read_bytes() != repair.before:
                raise UsageError(
                    f"{quoted(repair.path)} has changed in the meantime", hint="run the command again"
                )
            if repair.after is None:
                repair.file.unlink()
                continue
            target = repair.file.resolve()
            remove_abandoned(target.parent, {target.name})
            replace_file(target, repair.after)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise UsageError(f"cannot write {quoted(repair.path)}: {reason}") from error


def _diff(repair: Repair) -> Iterable[str]:
    contents = (repair.before, repair.after or b"")
    before, after = (text.decode(errors="replace").splitlines() for text in contents)
    new = "/dev/null" if repair.after is None else f"b/{repair.path}"
    lines = difflib.unified_diff(before, after, f"a/{repair.path}", new, lineterm="")
    return (line for line in lines if line)
