"""Rules for the Markdown body of a skill and for the files that it mentions. Each violation is a warning."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import basename, dirname

from skillwire.core.names import EVALS_FOLDER, SKILL_FILE, collision_key, find_close_matches
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.frontmatter.body import BodyFacts, Mention, is_mentioned, is_placeholder
from skillwire.safe_text import quoted

MAX_LINES = 500
MAX_TOKENS = 5_000

_MAX_LISTED = 3
"""Maximum number of unmentioned files in one folder that get a message each."""
_SAME_BUT_FOR_A_TYPO = 0.85
_DOCUMENTS = frozenset({"md", "mdx", "markdown"})
_CODE = frozenset(
    {"py", "js", "mjs", "cjs", "ts", "mts", "jsx", "tsx", "sh", "bash", "zsh", "rb", "pl", "php", "ps1"}
)
_REFERENCES = "references/"
# Files for the people who maintain a skill, and files that programs find by a fixed name.
_EXEMPT_NAMES = (
    *("LICENSE", "LICENCE", "NOTICE", "COPYING", "README", "CHANGELOG", "TEST_", "CONFTEST.PY", "SETUP.PY"),
    *("__INIT__.", "__MAIN__.", "INDEX.JS", "INDEX.TS", "INDEX.MJS"),
)
_EXEMPT_BESIDE_SKILL_FILE = (
    *("CHANGES", "HISTORY", "AUTHORS", "CONTRIBUTING", "CODE_OF_CONDUCT", "SECURITY", "TODO"),
    *("CLAUDE.", "AGENTS.", "GEMINI."),
)
_EXEMPT_FOLDERS = frozenset({"test", "tests", "__tests__", "evals", "node_modules"})
_EXEMPT_SUFFIXES = (".test", ".spec", ".config", ".d", "_test", "-lock")


@dataclass(frozen=True, slots=True)
class SkillBody:
    """The body of a skill and the skill's files, as input to the rules."""

    path: str
    """The path of the `SKILL.md`, relative to the root of the source."""
    first_line: int
    """The line of the `SKILL.md` at which the body begins."""
    body: BodyFacts
    files: frozenset[str]
    folders: frozenset[str]
    executable: frozenset[str] | None = None
    """Files with the executable bit, or None if that is unknown."""
    names: frozenset[str] = frozenset()
    """The words in the body and in the skill's other files that could be file names."""
    mentioned_folders: frozenset[str] = frozenset()
    """The folders that the body or another file of the skill mentions as a whole."""
    served_elsewhere: Callable[[str], bool] = lambda path: False  # noqa: ARG005 - the shape of others
    """A function that returns whether a path outside the skill's folder leads into another skill."""

    def problem(self, rule: Rule, message: str, hint: str, *, line: int = 0) -> Problem:
        at = self.first_line + line - 1 if line else None
        return Problem(self.path, rule, Severity.WARNING, message, hint=hint, field="body", line=at)

    def has(self, path: str) -> bool:
        """Return whether `path` is a file or folder of the skill, or the skill's folder itself."""
        return path in self.files or path in self.folders or path == "."


def link_missing(skill: SkillBody) -> Iterator[Problem]:
    for mention, likely in _missing(skill):
        path = mention.path
        if likely is not None:
            continue
        message = f"the text refers to {quoted(path)}, but the skill has no such file"
        if path.startswith("../"):
            hint = "fix the path, or copy the file into the folder: only its files are served with the skill"
        elif path.startswith(f"{EVALS_FOLDER}/"):
            hint = f"move the file: the folder `{EVALS_FOLDER}` is not served, so that models cannot read it"
        elif (typo := _typo(path, skill.files)) is not None:
            hint = f"write {quoted(typo)}, or add the file"
        else:
            hint = "fix the path, or add the file"
        yield skill.problem(Rule.LINK_MISSING, message, hint, line=mention.line)


def link_case(skill: SkillBody) -> Iterator[Problem]:
    for mention, likely in _missing(skill):
        if likely is not None:
            message = (
                f"the text refers to {quoted(mention.path)}, but the name of the file is {quoted(likely)}: "
                "many systems distinguish upper and lower case"
            )
            hint = f"write {quoted(likely)}, or rename the file"
            yield skill.problem(Rule.LINK_CASE, message, hint, line=mention.line)


def _missing(skill: SkillBody) -> Iterator[tuple[Mention, str | None]]:
    """Yield each missing file once, where it is mentioned first.

    The second value is the file whose path differs only in case, or None.
    """
    seen: set[str] = set()
    for mention, likely in _references(skill, _by_collision_key(skill)):
        if mention.path not in seen:
            seen.add(mention.path)
            yield mention, likely


def _typo(path: str, files: Collection[str]) -> str | None:
    """Return the only file with the same name as `path`, else a file with a very similar path, else None."""
    name = basename(path)
    same = [each for each in files if basename(each) == name]
    if len(same) == 1:
        return same[0]
    near = find_close_matches(path, sorted(files), 1, cutoff=_SAME_BUT_FOR_A_TYPO)
    return near[0] if near else None


def _references(skill: SkillBody, known: Mapping[str, str]) -> Iterator[tuple[Mention, str | None]]:
    """Yield each reference to a missing file, and the file whose path differs only in case, or None."""
    for link in skill.body.links:
        if skill.has(link.path) or skill.served_elsewhere(link.path):
            continue
        likely = known.get(collision_key(link.path))
        if likely is not None or not is_placeholder(link.path):
            yield link, likely
    for mention in skill.body.mentions:
        # A folder that the skill does not have belongs to the project that the reader works on.
        known_folder = mention.path.partition("/")[0] in skill.folders
        if known_folder and not skill.has(mention.path) and not is_placeholder(mention.path):
            yield mention, known.get(collision_key(mention.path))
    names = {path.rpartition("/")[2] for path in skill.files}
    for path in skill.body.paths:
        likely = known.get(collision_key(path.path))
        if likely is not None and path.path not in skill.files and path.path not in names:
            yield path, likely


def _by_collision_key(skill: SkillBody) -> dict[str, str]:
    """Return the files by `collision_key`, without exempt files and paths that differ only in case."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in skill.files:
        found[collision_key(path)].append(path)
    return {key: paths[0] for key, paths in found.items() if len(paths) == 1 and not _is_exempt(paths[0])}


def unmentioned(skill: SkillBody) -> list[str]:
    """Return the documents, scripts and files in `references/` that no text of the skill mentions, sorted.

    Other files do not count, because programs find their data without a mention in the text. Exempt files and
    the files of nested skills do not count, either.
    """
    nested = tuple(path.removesuffix(SKILL_FILE) for path in skill.files if path.endswith(f"/{SKILL_FILE}"))
    linked = {mention.path for mention in (*skill.body.links, *skill.body.mentions)}
    folded = {collision_key(mention.path) for mention in skill.body.paths}
    folders = skill.mentioned_folders | linked
    return sorted(
        path
        for path in skill.files
        if _is_read_or_run(path)
        and path not in linked
        and collision_key(path) not in folded
        and not path.startswith(nested)
        and not _is_exempt(path)
        and not is_mentioned(path, skill.names, folders)
    )


def _is_read_or_run(path: str) -> bool:
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    return suffix in _DOCUMENTS or suffix in _CODE or path.startswith(_REFERENCES)


def _is_exempt(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0]
    return (
        name == SKILL_FILE
        or name.startswith(".")
        or name.upper().startswith(_EXEMPT_NAMES)
        or (not folder and name.upper().startswith(_EXEMPT_BESIDE_SKILL_FILE))
        or stem.endswith(_EXEMPT_SUFFIXES)
        or not _EXEMPT_FOLDERS.isdisjoint(folder.split("/"))
    )


def file_unreferenced(skill: SkillBody) -> Iterator[Problem]:
    by_folder: defaultdict[str, list[str]] = defaultdict(list)
    for path in unmentioned(skill):
        by_folder[dirname(path)].append(path)
    hint = "mention it where it is needed, or remove it"
    for folder, paths in by_folder.items():
        if len(paths) > _MAX_LISTED:
            where = f"in {quoted(folder)}" if folder else "beside `SKILL.md`"
            message = (
                f"nothing in the skill mentions {len(paths)} files {where}, such as {quoted(paths[0])}, "
                "so models do not know of them"
            )
            yield skill.problem(
                Rule.FILE_UNREFERENCED, message, "mention them or their folder, or remove them"
            )
            continue
        for path in paths:
            message = f"nothing in the skill mentions {quoted(path)}, so models do not know of it"
            yield skill.problem(Rule.FILE_UNREFERENCED, message, hint)


def body_length(skill: SkillBody) -> Iterator[Problem]:
    hint = "move what is not always needed into `references/`, and link to it"
    if skill.body.lines > MAX_LINES:
        message = f"the text has {skill.body.lines:,} lines, more than {MAX_LINES}"
        yield skill.problem(Rule.BODY_LENGTH, message, hint)
    elif skill.body.tokens > MAX_TOKENS:
        message = f"the text has about {skill.body.tokens:,} tokens, more than {MAX_TOKENS:,}"
        yield skill.problem(Rule.BODY_LENGTH, message, hint)


def script_mode(skill: SkillBody) -> Iterator[Problem]:
    for command in skill.body.run if skill.executable is not None else ():
        if command.path in skill.files and command.path not in (skill.executable or ()):
            message = f"the text says to run {quoted(command.path)}, but the file is not executable"
            hint = f"run {quoted(f'chmod +x {command.path}')}, or name the program that runs it"
            yield skill.problem(Rule.SCRIPT_MODE, message, hint, line=command.line)


CHECKS: tuple[Callable[[SkillBody], Iterable[Problem]], ...] = (
    link_missing,
    link_case,
    file_unreferenced,
    body_length,
    script_mode,
)


def check_body(skill: SkillBody) -> Iterator[Problem]:
    """Yield the problems with a skill's body and with the files that it mentions."""
    for check in CHECKS:
        yield from check(skill)
