"""Diffs of untrusted text show every change, and nothing that a terminal could interpret."""

import re
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from skillwire.safe_text import escape_invisible
from skillwire.terminal.text_diff import bounded_lines, diff_lines

LINE = st.text("ab c\t", max_size=5)
TEXT = st.tuples(st.lists(LINE, max_size=30), st.sampled_from(["", "\n"])).map(
    lambda found: ("\n".join(found[0]) + found[1]).encode()
)
HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def apply(before: bytes, lines: Sequence[str]) -> bytes:
    """Return the text that a unified diff makes of `before`, as `patch` would."""
    old, new, at, last = before.decode().splitlines(keepends=True), list[str](), 0, ""
    for line in lines[2:]:
        if found := HUNK.fullmatch(line):
            start = int(found[1]) - (1 if int(found[2]) else 0)
            new += old[at:start]
            at = start
        elif line.startswith("\\"):
            if last in "+ ":
                new[-1] = new[-1].removesuffix("\n")
        else:
            last = line[0]
            if last in "- ":
                assert old[at].removesuffix("\n") == line[1:]
                at += 1
            if last in "+ ":
                new.append(f"{line[1:]}\n")
    return "".join([*new, *old[at:]]).encode()


@given(before=TEXT, after=TEXT)
@example(before=b"a\n" * 1500 + b"b\n" * 1500, after=b"b\n" * 1500 + b"a\n" * 1500)
def test_a_diff_makes_the_new_text_of_the_old(before: bytes, after: bytes) -> None:
    assert apply(before, list(diff_lines(before, after, "a.md"))) == after


@given(before=st.binary(max_size=60) | st.none(), after=st.binary(max_size=60) | st.none())
@example(before=b"a", after=b"a\n")
@example(before=b"a\x1b[31m\n", after=b"a\n")
def test_every_difference_is_visible_and_harmless(before: bytes | None, after: bytes | None) -> None:
    lines = list(diff_lines(before, after, "evil\x1b.md"))
    assert all(escape_invisible(line, keep="\t") == line for line in lines)
    if (before or b"") != (after or b""):
        assert any(line.startswith(("+", "-", "binary")) for line in lines[2:])


@given(text=st.lists(LINE, min_size=1, max_size=30), lines=st.integers(0, 10), size=st.integers(0, 40))
def test_a_bounded_diff_says_what_it_leaves_out(text: list[str], lines: int, size: int) -> None:
    shown = list(bounded_lines(iter(text), lines, size))
    assert len(shown) <= lines + 2
    if shown != text:
        assert shown[-1].endswith(("not shown", "…"))
