"""Analyze the Markdown body of a skill: its length, and the files that it mentions."""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote

CHARACTERS_PER_TOKEN = 4
"""Approximate number of characters of English prose in one token. The exact number depends on the model."""

# The text is untrusted. An unclosed construct extends to the end, and quantifiers are possessive
# (`++`, `*+`), so that matching takes linear time.
_FENCE = re.compile(
    r"^ {0,3}(`{3,}+|~{3,}+)([^\n]*)\n(.*?)(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_SHELLS = frozenset({"sh", "bash", "zsh", "shell", "console", "shell-session", "terminal"})
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# `[text](target "title")`, also in angle brackets; `[label]: target` at the start of a line.
_INLINE = re.compile(r"\]\([ \t]*+(?:<([^<>\n]*+)>|([^\s()<>]++(?:\([^\s()]*+\)[^\s()]*+)*+))")
_LONGEST_TITLE = 300
_DEFINED = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]++\]:\s*+(?:<([^<>\n]*+)>|(\S++))", re.MULTILINE)
_EXTERNAL_TARGET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\?|\{|\$")
_PLACEHOLDER = re.compile(
    r"[<>{}$*…]|\.\.\.|(?:^|/)(?:path/to|your|my)\b|xxx|(?:file|script|skill|folder)[-_]?name", re.IGNORECASE
)
"""Matches a target that the reader is meant to replace, in a template or an example."""

# Paths in plain text that are not links, in the folders that the standard names.
_FOLDERS = ("references/", "scripts/", "assets/")
_MENTION = re.compile(r"(?<![\w/.\\-])(?:\./)?((?:references|scripts|assets)/[\w./-]*[\w-]\.\w+)(?![\w/*])")
# Words that show that a path is an example, or a file that the reader will make.
_HYPOTHETICAL = re.compile(
    r"\b(?:examples?|e\.g\.|such as|for instance|would|could|might|suppose|imagine|creat\w*|writ\w*"
    r"|sav(?:e|es|ed|ing)|generat\w*|produc\w*|outputs?|stor(?:e|es|ed|ing)|add(?:s|ed|ing)?|scaffold\w*)\b",
    re.IGNORECASE,
)
_LONGEST_CONTEXT = 1_000
_RUN_INSTRUCTION = re.compile(r"(?i)\b(?:run|runs|running|execute|start|call|invoke)\s+\Z")
_RUN_INSTRUCTION_LENGTH = len("running") + 3
_COMMAND = re.compile(r"^[ \t]*([$>] )?(\./)?([\w./-]+)(?=\s|$)", re.MULTILINE)
_INTERPRETED = frozenset({"py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "r", "lua", "ps1"})
"""Suffixes of scripts that people name without their interpreter: "run `fill.py`"."""
_IMPORTED = frozenset({"py", "js", "mjs", "cjs", "ts", "mts", "jsx", "tsx"})
"""Suffixes of files that are imported by name, without the suffix."""
_SUFFIX = re.compile(r"[^./]\.\w{1,12}\Z")
_WORD = re.compile(r"[\w.-]++")
_PATH = re.compile(r"[\w./-]++")
_PATH_WITH_DOT = re.compile(r"(?<![\w./-])[\w/-]*+\.[\w./-]*+")
_FOLDER = re.compile(r"(?<![\w/.-])(?:\./)?([\w./-]++)(?<=/)")
_LONGEST_PATH = 200


@dataclass(frozen=True, slots=True)
class Mention:
    """A path mentioned in the text, relative to the skill's folder, and its line in the text."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """The facts about a body that the rules check."""

    lines: int
    tokens: int
    """The estimated number of tokens."""
    links: tuple[Mention, ...]
    """Relative paths that are targets of links, each once."""
    mentions: tuple[Mention, ...]
    """Paths below `references/`, `scripts/` or `assets/` in plain text and shell commands, each once.

    A missing file is left out if it seems to be an example or a file that the reader creates.
    """
    paths: tuple[Mention, ...]
    """Everything outside code blocks that could be the name or path of a file, each once."""
    run: tuple[Mention, ...]
    """Files that the text tells the reader to run directly, not as an argument of another program."""


def read_body(text: str, files: Container[str] = (), *, alone: bool = False) -> BodyFacts:
    """Analyze the Markdown body of a skill with these `files`. `\\r\\n` counts as one line break.

    `alone` tells that the skill has no other files. `paths` is empty then, because no rule compares them.
    """
    text = text.replace("\r\n", "\n")
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    commented = _blank_out(_COMMENT, text) if "<!--" in text else text
    prose = _blank_out(_FENCE, commented) if _has_fence(commented) else commented
    without_spans = _blank_out(_SPAN, prose) if "`" in prose else prose
    return BodyFacts(
        lines,
        -(-len(text) // CHARACTERS_PER_TOKEN),
        _mentions(text, _find_links(without_spans)),
        _mentions(text, chain(_prose_mentions(prose, files), _command_mentions(commented))),
        () if alone else _mentions(text, _paths(prose)),
        _mentions(text, chain(_shell_commands(commented), _commands_in_prose(prose))),
    )


def names_in(text: str) -> frozenset[str]:
    """Return every word of `text` that could be a file name, and the parts of words with dots.

    The parts are needed because modules are imported as `package.module`.
    """
    words = _words(unquote(text) if "%" in text else text)
    return frozenset(words.union(*(word.split(".") for word in words if "." in word)))


def folders_in(text: str) -> frozenset[str]:
    """Return the folders that the text mentions as a whole: `assets/`, but not `assets/logo.svg`.

    A folder in a code span needs no slash.
    """
    found: set[str] = set()
    for each in _FOLDER.finditer(text) if "/" in text else ():
        folder = each[1].rstrip("/")
        if len(folder) <= _LONGEST_PATH and not folder.endswith((".", "-")) and folder:
            found.add(posixpath.normpath(folder))
    for span in _spans(text):
        folder = span[1].removeprefix("./").rstrip("/")
        if 0 < len(folder) <= _LONGEST_PATH and _PATH.fullmatch(folder):
            found.add(posixpath.normpath(folder))
    return frozenset(found)


def is_mentioned(path: str, names: frozenset[str], folders: frozenset[str]) -> bool:
    """Return whether `names` mention or import a file, or `folders` contain one of the folders above it."""
    folder, _, name = path.rpartition("/")
    stem, _, suffix = name.rpartition(".")
    if all(word in names for word in _words(name)) or (suffix in _IMPORTED and stem in names):
        return True
    while folder:
        if folder in folders:
            return True
        folder = folder.rpartition("/")[0]
    return False


def is_placeholder(path: str) -> bool:
    """Return whether a path looks like a placeholder in a template or example, or has no file suffix."""
    return _PLACEHOLDER.search(path) is not None or _SUFFIX.search(path) is None


def _words(text: str) -> set[str]:
    """Return the different words of `text`, without trailing dots and dashes."""
    return {word.rstrip(".-") for word in set[str](_WORD.findall(text))} - {""}


def _find_links(text: str) -> Iterator[tuple[str, int]]:
    inline = _inline(text) if "](" in text else ()
    definitions = _DEFINED.finditer(text) if "]:" in text else ()
    defined = ((each[1] or each[2], each.start()) for each in definitions)
    for target, at in chain(inline, defined):
        if target and not _EXTERNAL_TARGET.match(target):
            yield unquote(re.split("[#?]", target)[0]), at


def _inline(text: str) -> Iterator[tuple[str, int]]:
    """Yield the target and offset of each inline link that ends on its line, after a short title or none."""
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
        ):  # a missing character counts as one at the end of the text
            yield target, found.start()
        elif found[2] is not None and "(" in target:  # the closing parenthesis in the target ends the link
            yield target[: target.rindex("(")], found.start()


def _find(text: str, what: str, start: int) -> int:
    at = text.find(what, start)
    return at if at >= 0 else len(text)


def _prose_mentions(prose: str, files: Container[str]) -> Iterator[tuple[str, int]]:
    """Yield the paths in plain text.

    A missing file is left out if a word before it in the paragraph, or later on its line, shows that it is an
    example or a new file.
    """
    mentions = list(_MENTION.finditer(prose)) if any(map(prose.__contains__, _FOLDERS)) else []
    missing = any(found[1] not in files for found in mentions)
    doubts = [found.start() for found in _HYPOTHETICAL.finditer(prose)] if missing else []
    for found in mentions:
        if found[1] in files:
            yield found[1], found.start()
            continue
        start, end = found.span()
        earliest, latest = max(start - _LONGEST_CONTEXT, 0), min(end + _LONGEST_CONTEXT, len(prose))
        paragraph = max(prose.rfind("\n\n", earliest, start), earliest)
        line_end = prose.find("\n", end, latest)
        at = bisect_left(doubts, paragraph)
        if at == len(doubts) or doubts[at] >= (line_end if line_end >= 0 else latest):
            yield found[1], start


def _command_mentions(text: str) -> Iterator[tuple[str, int]]:
    """Yield the scripts in shell examples. Other paths there may be files that a command writes."""
    for fence in _shell_fences(text):
        for found in _MENTION.finditer(text, fence.start(3), fence.end(3)):
            if found[1].startswith("scripts/"):
                yield found[1], found.start()


def _shell_fences(text: str) -> Iterator[re.Match[str]]:
    return (fence for fence in _fences(text) if _language(fence) in _SHELLS)


# Most texts have no fence, or no span. Looking for its characters first is much faster.


def _fences(text: str) -> Iterator[re.Match[str]]:
    return _FENCE.finditer(text) if _has_fence(text) else iter(())


def _has_fence(text: str) -> bool:
    return "```" in text or "~~~" in text


def _spans(text: str) -> Iterator[re.Match[str]]:
    return _SPAN.finditer(text) if "`" in text else iter(())


def _language(fence: re.Match[str]) -> str:
    return (fence[2].split() or [""])[0].lower()


def _paths(prose: str) -> Iterator[tuple[str, int]]:
    for found in _PATH_WITH_DOT.finditer(prose):
        path = found[0].rstrip(".-/").removeprefix("./")
        if "." in path and len(path) <= _LONGEST_PATH:
            yield path, found.start()


def _shell_commands(text: str) -> Iterator[tuple[str, int]]:
    """Yield the files at the start of command lines in code blocks.

    A block without a language is often a list of files, so only lines with a prompt or `./` count there.
    """
    for fence in _fences(text):
        language = _language(fence)
        for command in _COMMAND.finditer(fence[3]) if language in {*_SHELLS, ""} else ():
            explicit = command[1] or command[2] or language in _SHELLS
            if explicit and ("/" in command[3] or command[2]):
                yield command[3], fence.start(3) + command.start(3)


def _commands_in_prose(prose: str) -> Iterator[tuple[str, int]]:
    """Yield the files in code spans after a word such as "run".

    A name without a folder does not count. A script such as `scripts/fill.py` counts only if it has arguments
    or begins with `./`, because people leave out its interpreter.
    """
    for span in _spans(prose):
        program, *arguments = span[1].split(maxsplit=1) or [""]
        path = program.removeprefix("./")
        suffix = path.rpartition(".")[2].lower()
        if "/" not in program or (path == program and not arguments and suffix in _INTERPRETED):
            continue
        before = prose[max(span.start() - _RUN_INSTRUCTION_LENGTH, 0) : span.start()]
        if _RUN_INSTRUCTION.search(before):
            yield path, span.start()


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
    """Return `text` with matches of `pattern` replaced by spaces. Line breaks and offsets stay the same."""
    return pattern.sub(lambda found: "\n".join(" " * len(line) for line in found[0].split("\n")), text)
