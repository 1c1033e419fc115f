"""The list of skills for people fits every terminal, and names every skill."""

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from skillwire.safe_text import escape_invisible
from skillwire.terminal.skill_table import SkillRow, table_lines

SKILL = st.builds(
    SkillRow,
    st.text("ab-/", min_size=1, max_size=70),
    st.text(max_size=300),
    st.text("ab/", max_size=70),
    st.sampled_from(["", "live", "template"]),
    st.booleans(),
)


@given(
    skills=st.lists(SKILL, max_size=6),
    width=st.integers(20, 200),
    paths=st.booleans(),
)
def test_no_line_is_wider_than_the_terminal(skills: list[SkillRow], width: int, *, paths: bool) -> None:
    console = Console(width=width)
    lines = list(table_lines(console, skills, paths=paths))
    assert all(line.cell_len <= width for line in lines)
    assert all(escape_invisible(line.plain) == line.plain for line in lines)
    together = "".join(line.plain.strip() for line in lines)
    assert all(skill.name in together for skill in skills)


def test_a_long_description_is_cut_after_two_lines() -> None:
    skill = SkillRow("refunds", "word " * 100)
    name, *lines = table_lines(Console(width=40), [skill])
    assert name == Text("refunds", style="cyan")
    assert [line.plain.endswith("…") for line in lines] == [False, True]
