"""What PyYAML complains about, told as a rule and a way out."""

import re

from yaml import MarkedYAMLError, YAMLError

from skillwire.model.display import quoted, visible
from skillwire.model.problem import Rule
from skillwire.skillmd.characters import bad_escape
from skillwire.skillmd.unreadable import UnreadableError

_DIRECTIVE = re.compile(r"^%.*", re.MULTILINE)
_BAD_ESCAPE = "invalid Unicode character escape code"

# A part of libyaml's complaint, and what its author most likely has to do.
_HINTS = (
    ("mapping values are not allowed", "put quotes around a value that holds `: `"),
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
_ANY_HINT = "check the indentation, and put quotes around values that hold special characters"


def translated(error: YAMLError, text: str) -> UnreadableError:
    """Return the fault that `error` is, for the author of `text`."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return UnreadableError(Rule.FRONTMATTER_YAML, visible(str(error), 200), hint=_ANY_HINT)
    mark, complaint = error.problem_mark, error.problem or ""
    # What is never closed is found at the end of the text; its author looks for where it was opened.
    if mark.index >= len(text) and error.context_mark is not None:
        mark = error.context_mark
    if _BAD_ESCAPE in complaint:
        return bad_escape(mark.line + 1)
    if directive := _DIRECTIVE.search(text, 0, error.problem_mark.index):
        return UnreadableError(
            Rule.YAML_DIRECTIVE,
            f"{quoted(directive[0])} is a directive, which a frontmatter may not hold",
            hint="remove the line",
            line=text.count("\n", 0, directive.start()) + 1,
        )
    hint = next((hint for part, hint in _HINTS if part in complaint), _ANY_HINT)
    return UnreadableError(
        Rule.FRONTMATTER_YAML, f"not YAML: {visible(complaint, 200)}", hint=hint, line=mark.line + 1
    )
