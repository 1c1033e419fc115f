"""Characters that YAML implementations read in different ways, or not at all."""

import re

from skillwire.model.display import quoted
from skillwire.model.problem import Rule
from skillwire.skillmd.unreadable import UnreadableError

# Control characters and noncharacters are not YAML. U+0085, U+2028 and U+2029 are line breaks to libyaml and
# text to YAML 1.2. A CR without its LF is a line break to libyaml and text to npm `yaml`. Some drop a U+FEFF.
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def check_characters(text: str) -> None:
    """Raise if `text`, whose line breaks are all `\\n`, holds a character that may not stand for itself."""
    if found := _REFUSED.search(text):
        raise UnreadableError(
            Rule.YAML_CHARACTER,
            f"the character {quoted(found[0])} is not read alike by all YAML parsers",
            hint=f'remove it, or write it as an escape in double quotes: `"\\u{ord(found[0]):04X}"`',
            line=text.count("\n", 0, found.start()) + 1,
        )


def check_escapes(value: str, line: int) -> None:
    """Raise if escapes have put half a surrogate pair into `value` (H26)."""
    if not value.isascii() and _SURROGATE.search(value):
        raise bad_escape(line)


def bad_escape(line: int | None) -> UnreadableError:
    return UnreadableError(
        Rule.YAML_CHARACTER,
        "an escape names no Unicode character",
        hint="write the character itself instead of its escapes",
        line=line,
    )
