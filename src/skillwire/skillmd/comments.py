"""Comments that begin right behind a value: libyaml takes them, YAML 1.2 wants a space before the `#`."""

import re
from collections.abc import Iterator

from yaml import tokens

from skillwire.model.problem import Rule
from skillwire.skillmd.loader import scan
from skillwire.skillmd.unreadable import UnreadableError

# libyaml starts a comment right behind these; behind anything else a `#` without a space is text.
_SUSPECT = re.compile(r"""(?<=[\[\]{},:?"'|>+\-0-9])#""")


def check_comments(text: str) -> None:
    """Raise if a comment in `text`, which must be YAML, has no space before it."""
    if "#" not in text or not (suspects := [found.start() for found in _SUSPECT.finditer(text)]):
        return
    # A `#` seldom stands there, so a second walk, which knows where the values are, costs little.
    values = _values(text)
    start = end = 0
    for suspect in suspects:
        while end <= suspect:
            start, end = next(values)
        if suspect < start:
            raise UnreadableError(
                Rule.FRONTMATTER_YAML,
                "a `#` with no space before it is a comment to some YAML parsers and an error to others",
                hint="put a space before the `#`, or quotes around the whole value",
                line=text.count("\n", 0, suspect) + 1,
            )


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the text of each scalar begins and ends, and at last where there can be none."""
    for token in scan(text):
        if isinstance(token, tokens.ScalarToken):
            start, end = token.start_mark.index, token.end_mark.index
            # The first line of a block scalar is its header, which may end in a comment.
            yield (text.find("\n", start) if token.style in {"|", ">"} else start), end
    yield len(text), len(text) + 1
