"""Rules for the Markdown body and the files around it, and the link finder they use."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote

from skillwire.contract.rules.skill import SEVERITIES
from skillwire.contract.rules.standard import METADATA_FILE
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.safe_text import quoted

MAX_LINES = 500
MAX_TOKENS = 5_000
CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English prose; nobody can know which model will read it."""

# A stranger may have written the text. What is never closed reaches to the end, and what was taken is not
# given back (`++`, `*+`), so that no text takes more than one walk.
_FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)[^\n]*\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# `[text](target "title")`, also in angle brackets; `[label]: target` at the start of a line.
_INLINE = re.compile(r"\]\([ \t]*+(?:<([^<>\n]*+)>|([^\s()<>]++(?:\([^\s()]*+\)[^\s()]*+)*+))")
_LONGEST_TITLE = 300
_DEFINED = re.compile(r"^ {0,3}\[[^\]\n]++\]:\s*+(?:<([^<>\n]*+)>|(\S++))", re.MULTILINE)
_EXTERNAL_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\?|\{|\$")
# Paths that stand in the text without being links: below the folders that the standard names.
_MENTION = re.compile(r"(?<![\w/.\\-])(?:\./)?((?:references|scripts|assets)/[\w./-]*[\w-]\.\w+)(?![\w/*])")
_RUN_INSTRUCTION = re.compile(r"(?i)\b(?:run|runs|running|execute|start|call|invoke)\s+\Z")
_LONGEST_VERB = len("running") + 3
_COMMAND = re.compile(r"^[ \t]*(?:[$>] )?(?:\./)?([\w./-]+)(?=\s|$)", re.MULTILINE)
_IMPORTED = frozenset({"py", "js", "mjs", "ts"})
"""What programs name without the suffix."""
_WORD = re.compile(r"[\w.-]++")
_FOLDER = re.compile(r"(?<![\w/.-])(?:\./)?([\w./-]++)(?<=/)")
_LONGEST_FOLDER = 200
# What people and lawyers read, and models need not.
_DOCUMENTATION_NAMES = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "README", "CHANGELOG")


@dataclass(frozen=True, slots=True)
class Mention:
    """A path in the text, relative to the skill's folder, and the line of the text that it stands in."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What is kept of a body once it was read."""

    lines: int
    tokens: int
    links: tuple[Mention, ...]
    """What it refers to, each path once."""
    run: tuple[Mention, ...]
    """What it has the reader run by its own name."""
    names: frozenset[str]
    """Every word that could be the name of a file."""
    folders: frozenset[str]
    """Folders that it points at as a whole."""


def read_body(text: str) -> BodyFacts:
    """Return what there is to know of a Markdown text. `\\r\\n` counts as one line break."""
    text = text.replace("\r\n", "\n")
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    prose = _blank_out(_COMMENT, text)
    without_code = _blank_out(_SPAN, _blank_out(_FENCE, prose))
    found = [*_find_links(without_code), *((each[1], each.start()) for each in _MENTION.finditer(prose))]
    return BodyFacts(
        lines,
        -(-len(text) // CHARACTERS_PER_TOKEN),
        _mentions(text, found),
        _mentions(text, _commands(prose)),
        names_in(text),
        frozenset(_folders(text)),
    )


def names_in(text: str) -> frozenset[str]:
    """Return every word of `text` that could be the name of a file."""
    return frozenset(_words(unquote(text) if "%" in text else text))


def unreferenced(paths: Iterable[str], names: frozenset[str], folders: frozenset[str]) -> Iterator[str]:
    """Yield the files of which neither the name nor a folder around them is mentioned."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        words = set(_words(name))
        stem, _, suffix = name.rpartition(".")
        imported = suffix in _IMPORTED and stem in names
        if words <= names or imported or any(each in folders for each in _parent_folders(folder)):
            continue
        yield path


def _parent_folders(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def _words(text: str) -> Iterator[str]:
    """Yield the words, without the dots and dashes that they end in."""
    return filter(None, (word.rstrip(".-") for word in _WORD.findall(text)))


def _find_links(text: str) -> Iterator[tuple[str, int]]:
    defined = ((each[1] or each[2], each.start()) for each in _DEFINED.finditer(text))
    for target, at in chain(_inline(text), defined):
        if target and not _EXTERNAL_TARGET.match(target):
            yield unquote(re.split("[#?]", target)[0]), at


def _inline(text: str) -> Iterator[tuple[str, int]]:
    """Yield the targets that are closed on their line, after a title of reasonable length."""
    close = line_end = -1
    for found in _INLINE.finditer(text):
        end = found.end()
        if close < end:
            close = _find(text, ")", end)
        if line_end < end:
            line_end = _find(text, "\n", end)
        target = found[1] if found[1] is not None else found[2]
        if close < line_end and close - end <= _LONGEST_TITLE:  # both are at the end where there is none
            yield target, found.start()
        elif found[2] is not None and "(" in target:  # its own parenthesis closes the link
            yield target[: target.rindex("(")], found.start()


def _find(text: str, what: str, start: int) -> int:
    at = text.find(what, start)
    return at if at >= 0 else len(text)


def _commands(text: str) -> Iterator[tuple[str, int]]:
    """Yield what a shell would be asked to run by its path: a file, not an argument of something else."""
    for fence in _FENCE.finditer(text):
        for command in _COMMAND.finditer(fence[2]):
            if "/" in command[1]:
                yield command[1], fence.start(2) + command.start(1)
    for span in _SPAN.finditer(text):
        if "/" not in span[1]:
            continue
        program = span[1].split(maxsplit=1)[0].removeprefix("./") if span[1].strip() else ""
        before = text[max(span.start() - _LONGEST_VERB, 0) : span.start()]
        if "/" in program and _RUN_INSTRUCTION.search(before):
            yield program, span.start()


def _folders(text: str) -> Iterator[str]:
    """Yield the folders that the text points at as a whole: `assets/`, and not `assets/logo.svg`."""
    for found in _FOLDER.finditer(text):
        folder = found[1].rstrip("/")
        if len(folder) <= _LONGEST_FOLDER and not folder.endswith((".", "-")) and folder:
            yield posixpath.normpath(folder)


def _mentions(text: str, found: Iterable[tuple[str, int]]) -> tuple[Mention, ...]:
    first: dict[str, int] = {}
    for path, at in sorted(found, key=lambda each: each[1]):
        first.setdefault(posixpath.normpath(path), at)
    mentions: list[Mention] = []
    line, counted = 1, 0
    for path, at in first.items():
        line, counted = line + text.count("\n", counted, at), at
        mentions.append(Mention(path, line))
    return tuple(mentions)


def _blank_out(pattern: re.Pattern[str], text: str) -> str:
    """Return `text` with spaces where `pattern` was: every line stays the line that it is."""
    return pattern.sub(lambda found: "\n".join(" " * len(line) for line in found[0].split("\n")), text)


@dataclass(frozen=True, slots=True)
class SkillBody:
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


def link_missing(text: SkillBody) -> Iterator[Problem]:
    for link in text.body.links:
        if link.path not in text.files and link.path not in text.folders and link.path != ".":
            message = f"the text refers to {quoted(link.path)}, and the skill has no such file"
            hint = "mend the path, or add the file"
            if link.path.startswith("../"):
                hint = "put a copy into the folder of the skill: nothing outside it is served with it"
            yield text.problem(Rule.CONTRACT_LINK_MISSING, message, hint, line=link.line)


def file_unreferenced(text: SkillBody) -> Iterator[Problem]:
    known = text.declared | {link.path for link in text.body.links} | {SKILL_FILE, METADATA_FILE}
    nested = tuple(path.removesuffix(SKILL_FILE) for path in text.files if path.endswith(f"/{SKILL_FILE}"))
    candidates = sorted(
        path
        for path in text.files - known
        if not path.startswith(nested)
        and not path.rpartition("/")[2].upper().startswith(_DOCUMENTATION_NAMES)
    )
    folders = text.body.folders | {link.path for link in text.body.links}
    left = list(unreferenced(candidates, text.body.names, folders))
    if not left:
        return
    for path in unreferenced(left, text.names_elsewhere(), frozenset()):
        message = f"nothing in the skill refers to {quoted(path)}, so no model will read it"
        hint = "link to it where it is needed, or remove it"
        yield text.problem(Rule.CONTRACT_FILE_UNREFERENCED, message, hint)


def body_length(text: SkillBody) -> Iterator[Problem]:
    hint = "move what is not always needed into `references/`, and link to it"
    if text.body.lines > MAX_LINES:
        message = f"the text has {text.body.lines:,} lines, more than {MAX_LINES}"
        yield text.problem(Rule.CONTRACT_BODY_LENGTH, message, hint)
    elif text.body.tokens > MAX_TOKENS:
        message = f"the text has about {text.body.tokens:,} tokens, more than {MAX_TOKENS:,}"
        yield text.problem(Rule.CONTRACT_BODY_LENGTH, message, hint)


def script_mode(text: SkillBody) -> Iterator[Problem]:
    for command in text.body.run if text.executable is not None else ():
        if command.path in text.files and command.path not in (text.executable or ()):
            message = f"the text has {quoted(command.path)} run, and the file is not executable"
            hint = f"run {quoted(f'chmod +x {command.path}')}, or name the program that runs it"
            yield text.problem(Rule.CONTRACT_SCRIPT_MODE, message, hint, line=command.line)


CHECKS: tuple[Callable[[SkillBody], Iterable[Problem]], ...] = (
    link_missing,
    file_unreferenced,
    body_length,
    script_mode,
)


def check_text(text: SkillBody) -> Iterator[Problem]:
    """Yield what is wrong with the text of a skill and the files around it."""
    for check in CHECKS:
        yield from check(text)
