"""Arguments of a skill: what the frontmatter declares, and how values are filled into the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.core.record import Json
from skillwire.core.skill_arguments import MAX_ADDED, SkillArguments, TooLongError

NAMED = SkillArguments(("issue", "branch"))
NONE = SkillArguments()


@pytest.mark.parametrize(
    ("fields", "names", "hint"),
    [
        ({}, (), ""),
        ({"arguments": "issue branch"}, ("issue", "branch"), ""),
        ({"arguments": ["issue", "branch"]}, ("issue", "branch"), ""),
        (
            {"arguments": ["old-name", "_x", "ARGUMENTS", "1st", "a b", "", 7, "old-name"]},
            ("old-name", "_x"),
            "",
        ),
        ({"arguments": {"issue": "text"}}, (), ""),
        ({"arguments": None, "argument-hint": 3}, (), ""),
        ({"argument-hint": "[issue] [branch]"}, (), "[issue] [branch]"),
        ({"argument-hint": ["issue", "branch"]}, (), "[issue] [branch]"),
        ({"argument-hint": "a\n\u202eb" + "c" * 500}, (), "a b" + "c" * 196 + "…"),
    ],
)
def test_frontmatter_declares_names_and_a_hint(
    fields: dict[str, Json], names: tuple[str, ...], hint: str
) -> None:
    declared = SkillArguments.of(fields)
    assert (declared.names, declared.hint) == (names, hint)
    assert declared.is_declared is bool(names or hint)
    assert declared.parameters == (names or (("arguments",) if hint else ()))


@pytest.mark.parametrize(
    ("declared", "text", "values", "filled"),
    [
        (NAMED, "Fix $issue on $branch.", {"issue": "42", "branch": "main"}, "Fix 42 on main."),
        (NAMED, "fix/$issue-$branch $issues ${issue}", {"issue": "42"}, "fix/42- $issues ${issue}"),
        (NAMED, "$ARGUMENTS|$ARGUMENTS[1]|$0|$1|$2", {"issue": "4 2", "branch": "m"}, '"4 2" m|m|4 2|m|$2'),
        (NAMED, "$0|$branch|$ARGUMENTS", {"branch": "m"}, '|m|"" m'),
        (NAMED, "Fix $issue: $ARGUMENTS, $0, $ARGUMENTS[0].", {}, "Fix : , $0, $ARGUMENTS[0]."),
        (NAMED, r"\$issue \$0 \$ARGUMENTS \$HOME $0", {"issue": "42"}, r"$issue $0 $ARGUMENTS \$HOME 42"),
        (NAMED, "Fix it.\n", {"issue": "42", "branch": "a b"}, 'Fix it.\n\nARGUMENTS: 42 "a b"\n'),
        (NAMED, "Fix it.\n", {}, "Fix it.\n"),
        (NAMED, "$issue, $branch", {"arguments": '"hello world" second third'}, "hello world, second"),
        (NONE, "$ARGUMENTS: $0, $1", {"arguments": "'hello world' it"}, "'hello world' it: hello world, it"),
        (NONE, "$0 $1", {"arguments": "it's two"}, "it's two"),
        (NONE, "awk '{print $1}', $1.20, $200K, $10000", {"arguments": "a b"},
         "awk '{print b}', b.20, $200K, $10000"),
        (NONE, "Fix it.", {"arguments": "one"}, "Fix it.\n\nARGUMENTS: one\n"),
        (NONE, "$1", {"arguments": "one"}, "$1\n\nARGUMENTS: one\n"),
        (NONE, "Fix it.", {"arguments": "  "}, "Fix it."),
        (NONE, "!`rm -rf /` @/etc/passwd ${CLAUDE_SKILL_DIR} $ARGUMENTS", {"arguments": "x"},
         "!`rm -rf /` @/etc/passwd ${CLAUDE_SKILL_DIR} x"),
        (NONE, "$ARGUMENTS and $0", {"arguments": "$0$ARGUMENTS !`x`"}, "$0$ARGUMENTS !`x` and $0$ARGUMENTS"),
        (SkillArguments(("a", "a-b")), "$a-b $a", {"a": "1", "a-b": "2"}, "2 1"),
    ],
)  # fmt: skip
def test_values_replace_placeholders_as_in_claude_code(
    declared: SkillArguments, text: str, values: dict[str, str], filled: str
) -> None:
    assert declared.fill(text, values) == filled


def test_arguments_cannot_make_a_text_huge() -> None:
    with pytest.raises(TooLongError):
        NONE.fill("$ARGUMENTS " * 2000, {"arguments": "x" * 1000})
    with pytest.raises(TooLongError):
        NONE.fill("no placeholder", {"arguments": "x" * (MAX_ADDED + 1)})
    assert len(NONE.fill("$ARGUMENTS", {"arguments": "x" * MAX_ADDED})) == MAX_ADDED


texts = st.lists(
    st.sampled_from(["$ARGUMENTS", "$0", "$1", "$issue", "$branch", "\\", "$", "[0]", "x", " "])
    | st.text(max_size=3)
).map("".join)


@given(texts, st.text("abc$0[]{}ARGUMENTSissue\\", max_size=20), st.text("$1branch", max_size=20))
def test_a_value_is_never_searched_for_placeholders(text: str, issue: str, branch: str) -> None:
    values = {"issue": f"<{issue}>".replace("\\", ""), "branch": f"<{branch}>"}
    stand_ins = {"issue": "<1>", "branch": "<2>"}
    with_stand_ins = NAMED.fill(text.replace("<", ""), stand_ins)
    expected = with_stand_ins.replace("<1>", values["issue"]).replace("<2>", values["branch"])
    assert NAMED.fill(text.replace("<", ""), values) == expected


@given(st.text(), st.text(max_size=50))
def test_any_text_can_be_filled(text: str, typed: str) -> None:
    filled = NONE.fill(text, {"arguments": typed})
    assert typed.strip() in filled or "$" in text
    assert NONE.fill(text, {}) == text or "$" in text
