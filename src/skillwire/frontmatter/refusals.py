"""Errors for refused frontmatter: forbidden characters, escapes and YAML features, and syntax errors."""

import re

from yaml import MarkedYAMLError, YAMLError
from yaml.events import AliasEvent, CollectionStartEvent, Event, ScalarEvent

from skillwire.core.problem import Rule
from skillwire.core.record import Json
from skillwire.frontmatter.split import UnreadableError
from skillwire.safe_text import escape_invisible, quoted

# Control characters and noncharacters are not YAML. U+0085, U+2028 and U+2029 are line breaks for libyaml and
# text for YAML 1.2. A CR without LF is a line break for libyaml and text for npm `yaml`. Some parsers drop
# U+FEFF.
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIRECTIVE = re.compile(r"^%.*", re.MULTILINE)
_BAD_ESCAPE = "invalid Unicode character escape code"
_MAPPING_VALUE = "mapping values are not allowed"
_COLON = "a colon followed by a space begins another field here"
# A part of libyaml's message, and the most likely fix.
_HINTS = (
    (_MAPPING_VALUE, "put quotes around a value that contains `: `"),
    (
        "cannot start any token",
        "indent with spaces, and put quotes around a value that starts with `@`, a backtick or `%`",
    ),
    (
        "did not find expected alphabetic or numeric character",
        "put quotes around a value that starts with `*` or `&`",
    ),
    ("block sequence entries are not allowed", "start the list on the line below its field"),
    ("unexpected end of stream", "close the quotes that this value opens"),
    ("unknown escape character", "write each backslash in double quotes twice, or use single quotes"),
    ("did not find expected ',' or", "close the bracket, and put a comma between the values"),
    ("could not find expected ':'", "write `field: value`, and indent the lines that continue a value"),
    ("did not find expected key", "give the fields of one mapping the same indentation"),
)
_ANY_HINT = "check the indentation, and put quotes around values that contain special characters"


def check_characters(text: str) -> None:
    """Raise `UnreadableError` if `text` contains a character that YAML forbids or parsers read differently.

    The line breaks of `text` must be `\\n`.
    """
    if found := _REFUSED.search(text):
        raise UnreadableError(
            Rule.YAML_CHARACTER,
            f"the character {quoted(found[0])} is read differently by YAML parsers",
            hint=f'remove it, or write it as an escape in double quotes: `"\\u{ord(found[0]):04X}"`',
            line=text.count("\n", 0, found.start()) + 1,
        )


def check_escapes(value: str, line: int) -> None:
    """Raise `UnreadableError` if `value`, whose escapes are already decoded, has a lone surrogate (H26)."""
    if not value.isascii() and _SURROGATE.search(value):
        raise escape_error(line)


def escape_error(line: int | None) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_CHARACTER,
        "an escape is not a Unicode character",
        hint="write the character itself instead of its escapes",
        line=line,
    )


def line_of(event: Event) -> int:
    """Return the line of `event`, counted from 1."""
    return 1 if event.start_mark is None else event.start_mark.line + 1


def properties(event: ScalarEvent | CollectionStartEvent) -> UnreadableError:
    if event.anchor is not None:
        return _anchor_error(event, f"&{event.anchor}")
    return UnreadableError(
        Rule.YAML_TAG,
        f"{quoted(str(event.tag))} is a tag, which frontmatter must not contain",
        hint="remove it, or put quotes around text that starts with `!`",
        line=line_of(event),
    )


def alias(event: AliasEvent) -> UnreadableError:
    return _anchor_error(event, f"*{event.anchor}")


def _anchor_error(event: Event, marker: str) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_ANCHOR,
        f"{quoted(marker)} is an anchor or an alias, which frontmatter must not contain",
        hint=f"write the value out, or put quotes around text that starts with `{marker[0]}`",
        line=line_of(event),
    )


def collection_key(event: Event) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_KEY, "a mapping or a list is used as a key", hint="use text as the key", line=line_of(event)
    )


def scalar_key(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_KEY,
        f"{quoted(event.value)} is used as a key, and it is not text",
        hint="put the key in quotes: " + quoted(f'"{event.value}"'),
        line=line_of(event),
    )


def duplicate_key(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_DUPLICATE_KEY,
        f"{quoted(event.value)} is defined twice",
        hint="remove one of the two",
        line=line_of(event),
    )


def number(event: ScalarEvent) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_NUMBER,
        f"{quoted(event.value)} is not a finite number, so JSON cannot represent it",
        hint="put it in quotes to make it text: " + quoted(f'"{event.value}"'),
        line=line_of(event),
    )


def depth(event: Event, limit: int) -> UnreadableError:
    """Return the error for YAML that is nested deeper than `limit`."""
    return UnreadableError(
        Rule.YAML_DEPTH,
        f"mappings and lists are nested more than {limit} levels deep",
        hint="flatten the value, or move it into a file beside `SKILL.md`",
        line=line_of(event),
    )


def second_document(event: Event) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_DOCUMENTS,
        "the frontmatter must be one YAML document, but this line ends it",
        hint="remove the line, or put spaces before it if it belongs to a value",
        line=line_of(event),
    )


def not_mapping(root: Json) -> UnreadableError:
    what = "empty" if root is None else "not a mapping of fields to values"
    return UnreadableError(
        Rule.FRONTMATTER_NOT_MAPPING,
        f"the frontmatter is {what}",
        hint="write `name: …` and `description: …`, each on a line of its own",
        line=1,
    )


def translate_yaml_error(error: YAMLError, text: str) -> UnreadableError:
    """Return the error to report for PyYAML's `error` in `text`."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return UnreadableError(Rule.FRONTMATTER_YAML, escape_invisible(str(error), 200), hint=_ANY_HINT)
    mark, complaint = error.problem_mark, error.problem or ""
    # The parser finds an unclosed quote or bracket at the end of the text, but the author needs the line
    # where it opens.
    if mark.index >= len(text) and error.context_mark is not None:
        mark = error.context_mark
    if _BAD_ESCAPE in complaint:
        return escape_error(mark.line + 1)
    if directive := _DIRECTIVE.search(text, 0, error.problem_mark.index):
        return UnreadableError(
            Rule.YAML_DIRECTIVE,
            f"{quoted(directive[0])} is a directive, which frontmatter must not contain",
            hint="remove the line",
            line=text.count("\n", 0, directive.start()) + 1,
        )
    hint = next((hint for part, hint in _HINTS if part in complaint), _ANY_HINT)
    reason = _COLON if _MAPPING_VALUE in complaint else escape_invisible(complaint, 200)
    return UnreadableError(Rule.FRONTMATTER_YAML, f"not YAML: {reason}", hint=hint, line=mark.line + 1)
