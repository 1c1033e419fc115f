"""Rules for the Markdown body and the files it mentions, and the link finder they use."""

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
"""Rule of thumb for English prose. The exact number depends on the model."""

# The text is untrusted. An unclosed construct extends to the end, and quantifiers are possessive
# (`++`, `*+`), so that matching takes linear time.
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
# Paths in plain text that are not links, in the folders that the standard names.
_MENTION = re.compile(r"(?<![\w/.\\-])(?:\./)?((?:references|scripts|assets)/[\w./-]*[\w-]\.\w+)(?![\w/*])")
_RUN_INSTRUCTION = re.compile(r"(?i)\b(?:run|runs|running|execute|start|call|invoke)\s+\Z")
_RUN_INSTRUCTION_LENGTH = len("running") + 3
_COMMAND = re.compile(r"^[ \t]*(?:[$>] )?(?:\./)?([\w./-]+)(?=\s|$)", re.MULTILINE)
_IMPORTED = frozenset({"py", "js", "mjs", "ts"})
"""Suffixes of files that are imported by name, without the suffix."""
_WORD = re.compile(r"[\w.-]++")
_FOLDER = re.compile(r"(?<![\w/.-])(?:\./)?([\w./-]++)(?<=/)")
_LONGEST_FOLDER = 200
# Files for people, which a skill does not have to mention.
_DOCUMENTATION_NAMES = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "README", "CHANGELOG")


@dataclass(frozen=True, slots=True)
class Mention:
    """A path mentioned in the text, relative to the skill's folder, and its line in the text."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What the rules need to know about a body."""

    lines: int
    tokens: int
    links: tuple[Mention, ...]
    """Paths it refers to, each once."""
    run: tuple[Mention, ...]
    """Files it tells the reader to run directly, not as an argument of another program."""
    names: frozenset[str]
    """Every word that could be a file name."""
    folders: frozenset[str]
    """Folders it mentions as a whole."""


def read_body(text: str) -> BodyFacts:
    """Analyze a Markdown body. `\\r\\n` counts as one line break."""
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
    """Return every word of `text` that could be a file name."""
    return frozenset(_words(unquote(text) if "%" in text else text))


def unreferenced(paths: Iterable[str], names: frozenset[str], folders: frozenset[str]) -> Iterator[str]:
    """Yield the paths whose name is not in `names` and whose parent folders are not in `folders`."""
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
    """Yield the words, without trailing dots and dashes."""
    return filter(None, (word.rstrip(".-") for word in _WORD.findall(text)))


def _find_links(text: str) -> Iterator[tuple[str, int]]:
    defined = ((each[1] or each[2], each.start()) for each in _DEFINED.finditer(text))
    for target, at in chain(_inline(text), defined):
        if target and not _EXTERNAL_TARGET.match(target):
            yield unquote(re.split("[#?]", target)[0]), at


def _inline(text: str) -> Iterator[tuple[str, int]]:
    """Yield the targets of inline links that end on their line, after a title of limited length."""
    close = line_end = -1
    for found in _INLINE.finditer(text):
        end = found.end()
        if close < end:
            close = _find(text, ")", end)
        if line_end < end:
            line_end = _find(text, "\n", end)
        target = found[1] if found[1] is not None else found[2]
        if (
            close < line_end and close - end <= _LONGEST_TITLE
        ):  # an absent character counts as at the end of the text
            yield target, found.start()
        elif found[2] is not None and "(" in target:  # the closing parenthesis in the target ends the link
            yield target[: target.rindex("(")], found.start()


def _find(text: str, what: str, start: int) -> int:
    at = text.find(what, start)
    return at if at >= 0 else len(text)


def _commands(text: str) -> Iterator[tuple[str, int]]:
    """Yield the files that the text tells the reader to run by path, not as an argument of a program."""
    for fence in _FENCE.finditer(text):
        for command in _COMMAND.finditer(fence[2]):
            if "/" in command[1]:
                yield command[1], fence.start(2) + command.start(1)
    for span in _SPAN.finditer(text):
        if "/" not in span[1]:
            continue
        program = span[1].split(maxsplit=1)[0].removeprefix("./") if span[1].strip() else ""
        before = text[max(span.start() - _RUN_INSTRUCTION_LENGTH, 0) : span.start()]
        if "/" in program and _RUN_INSTRUCTION.search(before):
            yield program, span.start()


def _folders(text: str) -> Iterator[str]:
    """Yield the folders that the text mentions as a whole: `assets/`, but not `assets/logo.svg`."""
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
    """Replace matches of `pattern` by spaces. Line breaks and offsets stay the same."""
    return pattern.sub(lambda found: "\n".join(" " * len(line) for line in found[0].split("\n")), text)


@dataclass(frozen=True, slots=True)
class SkillBody:
    """The body of a skill and its files, as input of the rules."""

    path: str
    """Path of its `SKILL.md`, relative to the checked folder."""
    first_line: int
    """Line of the file at which the body begins."""
    body: BodyFacts
    files: frozenset[str]
    folders: frozenset[str]
    executable: frozenset[str] | None
    """Files with the executable bit, or None where the system has no such bit."""
    declared: frozenset[str]
    """Files declared as references in the metadata block."""
    names_elsewhere: Callable[[], frozenset[str]]
    """Return the words in the skill's other files. Lazy, because it reads them."""

    def problem(self, rule: Rule, message: str, hint: str, *, path: str = "", line: int = 0) -> Problem:
        where = path or self.path
        at = self.first_line + line - 1 if line else None
        return Problem(where, rule, SEVERITIES[rule], message, hint=hint, field="body", line=at)


def link_missing(text: SkillBody) -> Iterator[Problem]:
    for link in text.body.links:
        if link.path not in text.files and link.path not in text.folders and link.path != ".":
            message = f"the text refers to {quoted(link.path)}, but the skill has no such file"
            hint = "fix the path, or add the file"
            if link.path.startswith("../"):
                hint = "copy it into the folder of the skill: files outside are not served with it"
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
            message = f"the text says to run {quoted(command.path)}, but the file is not executable"
            hint = f"run {quoted(f'chmod +x {command.path}')}, or name the program that runs it"
            yield text.problem(Rule.CONTRACT_SCRIPT_MODE, message, hint, line=command.line)


CHECKS: tuple[Callable[[SkillBody], Iterable[Problem]], ...] = (
    link_missing,
    file_unreferenced,
    body_length,
    script_mode,
)


def check_text(text: SkillBody) -> Iterator[Problem]:
    """Yield the problems of a skill's body and of the files it mentions."""
    for check in CHECKS:
        yield from check(text)
