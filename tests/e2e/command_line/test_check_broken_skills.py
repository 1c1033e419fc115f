"""`skillwire check` with skills that are broken in every way: each is reported, and the others are fixed."""

import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.command_line import Cli, run
from tests.support.skills import write

OPTIONS = [
    [],
    ["--contract"],
    ["--fix", "--yes"],
    ["--fix", "--yes", "--contract"],
    ["--fix", "--yes", "--adopt"],
    ["--fix", "--yes", "--adopt", "--contract"],
    ["--fix", "--yes", "--adopt", "--block-key", "x-own"],
]
FILES = [
    b"",
    b"---\n",
    b"---\n---\n",
    b"---\n- a\n- b\n---\n",
    b"---\ntext\n---\n",
    b"---\nnull\n---\n",
    b"\x00\xff\xfe\x80",
    b"\xff\xfe-\x00-\x00-\x00",
    b"---\nname: \xff\n---\n",
    b"---\nname: a\nname: b\n---\n",
    b"---\n1: a\nnull: b\n---\n",
    b"---\ndescription: Use for: this\nname: [\n---\n",
    b"---\nname: skill\ndescription: x\nx-skillwire: {id: skill\n---\n",
]
VALUES = [
    "",
    "null",
    "~",
    "1",
    "1.5",
    "true",
    "[]",
    "[a, 1, null]",
    "{}",
    "{a: 1}",
    "text",
    '""',
    "Use: this",
    "*x",
    "{a: {path: 1}}",
    "{p: {path: references/policy.md, aliases: [1]}}",
    "[resource://skills/skill/document, 1]",
    ".inf",
    "2024-01-01",
]
FIELDS = ["name", "description", "license", "compatibility", "metadata", "allowed-tools", "user-invocable"]
BLOCK = ["id", "version", "capabilities", "tags", "depends_on", "references", "icons"]
GOOD = b"---\nname: good\ndescription: Does good.\n---\nText\n"


def fields(names: list[str], indent: str = "") -> st.SearchStrategy[str]:
    lines = st.dictionaries(st.sampled_from(names), st.sampled_from(VALUES))
    return lines.map(lambda known: "".join(f"{indent}{name}: {value}\n" for name, value in known.items()))


BLOCKS = fields(BLOCK, "  ").map("x-skillwire:\n{}".format) | st.sampled_from(VALUES).map(
    "x-skillwire: {}\n".format
)
FRONTMATTERS = st.tuples(fields(FIELDS), st.just("") | BLOCKS).map(
    lambda parts: f"---\n{''.join(parts)}---\nText\n".encode()
)
SIDECARS = st.none() | fields(BLOCK).map(str.encode) | st.sampled_from(FILES)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.sampled_from(FILES) | FRONTMATTERS, sidecar=SIDECARS, options=st.sampled_from(OPTIONS))
def test_a_broken_skill_never_stops_a_check(
    content: bytes, sidecar: bytes | None, options: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        more: dict[str, bytes | str] = {} if sidecar is None else {"metadata.yaml": sidecar}
        write(root / "skill", {"SKILL.md": content, "references/policy.md": "Policy\n", **more})
        write(root / "good", {"SKILL.md": GOOD})
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as err:
            code = run(["check", folder, *options])
        assert code in {0, 1}, err.getvalue()
        assert "Traceback" not in err.getvalue()
        adopted = (root / "good/SKILL.md").read_bytes() != GOOD
        assert adopted == ("--adopt" in options)


def test_a_skill_without_a_description_does_not_stop_adoption(tmp_path: Path, cli: Cli) -> None:
    write(tmp_path / "good", {"SKILL.md": GOOD})
    write(tmp_path / "none", {"SKILL.md": "---\nname: none\n---\n"})
    write(tmp_path / "typo", {"SKILL.md": "---\nname: typo\ndescripton: x\n---\n"})
    done = cli("check", tmp_path, "--fix", "--adopt", "--yes", "--json")
    assert [(each["path"], each["rule"], each["line"]) for each in done.json] == [
        ("none/SKILL.md", "description-missing", None),
        ("typo/SKILL.md", "description-missing", 3),
    ]
    assert done.json[1]["hint"] == "did you mean `description`? the file has `descripton`"
    assert all(
        "x-skillwire:" in (tmp_path / name / "SKILL.md").read_text() for name in ("good", "none", "typo")
    )
    assert done.err.endswith("fix the remaining problems by hand\n")


@pytest.mark.parametrize(
    ("written", "missing", "suggested"),
    [
        ("Name: a\ndescription: x", "name", "Name"),
        ("name: skill\nDescription: x", "description", "Description"),
        ("name: skill\ndesc: x", "description", "desc"),
        ("name: skill\nmetadata: {}", "description", None),
        ("nmae: skill\ndescription: x", "name", "nmae"),
    ],
)
def test_a_misspelled_field_is_suggested(
    written: str, missing: str, suggested: str | None, tmp_path: Path, cli: Cli
) -> None:
    write(tmp_path / "skill", {"SKILL.md": f"---\n{written}\n---\n"})
    (problem,) = cli("check", tmp_path / "skill", "--json").json
    assert problem["field"] == missing
    hint = f"did you mean `{missing}`? the file has `{suggested}`"
    assert (problem["hint"] == hint) == (suggested is not None)


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("Use for: this", "'Use for: this'"),
        ("It's for: this", "'It''s for: this'"),
        ("Use for this:", "'Use for this:'"),
        ("@acme tools", "'@acme tools'"),
        ("`pdf` files", "'`pdf` files'"),
        ("%d files", "'%d files'"),
        ("*bold* text", "'*bold* text'"),
        ("[Beta] Makes files", "'[Beta] Makes files'"),
        ("{name} files", "'{name} files'"),
    ],
)
def test_a_value_that_can_only_be_text_is_quoted(value: str, quoted: str, tmp_path: Path, cli: Cli) -> None:
    for newline in ("\n", "\r\n"):
        text = newline.join(
            ["---", "name: skill # short", f"description: {value}", "license: MIT", "---", "Body: x", ""]
        )
        write(tmp_path / "skill", {"SKILL.md": text.encode()})
        done = cli("check", tmp_path / "skill", "--fix", "--yes")
        assert (done.code, done.out) == (0, "")
        fixed = (tmp_path / "skill/SKILL.md").read_bytes().decode()
        assert fixed == text.replace(f"description: {value}", f"description: {quoted}")


@pytest.mark.parametrize(
    "line",
    [
        "description: Use for: this # a comment",
        'description: "Use for: this',
        'description: "Use" for: this',
        "description: > Use for: this",
        "description: [a, b",
        "description: - a: b",
        "description: Use for: this\n  and that",
        "metadata: a: b",
        "description: &anchor text",
        "description: !tag text",
        "description: Use for: this\nlicense: [",
    ],
)
def test_a_value_with_several_readings_is_left_alone(line: str, tmp_path: Path, cli: Cli) -> None:
    text = f"---\nname: skill\n{line}\n---\n"
    write(tmp_path / "skill", {"SKILL.md": text})
    done = cli("check", tmp_path / "skill", "--fix", "--yes")
    assert done.code == 1
    assert done.err.endswith("nothing here can be fixed automatically\n")
    assert (tmp_path / "skill/SKILL.md").read_text() == text


def test_a_quoted_skill_also_gets_its_other_fixes(tmp_path: Path, cli: Cli) -> None:
    write(tmp_path / "skill", {"SKILL.md": "---\nname: Skill\ndescription: Use for: this\n---\n"})
    assert cli("check", tmp_path, "--fix", "--yes", "--ignore", "frontmatter").code == 0
    assert "Use for: this" in (tmp_path / "skill/SKILL.md").read_text()
    assert cli("check", tmp_path, "--fix", "--yes", "--adopt").code == 0
    assert (tmp_path / "skill/SKILL.md").read_text() == (
        "---\nname: skill\ndescription: 'Use for: this'\nx-skillwire:\n  id: skill\n"
        '  version: "0.1.0"\n  capabilities:\n    - resource://skills/skill/document\n---\n'
    )


def test_hidden_skills_are_not_called_missing(tmp_path: Path, cli: Cli) -> None:
    write(tmp_path / "skills/good", {"SKILL.md": GOOD})
    baseline = tmp_path / "baseline.json"
    arguments = ("check", tmp_path / "skills", "--contract", "--baseline", baseline)
    for more in ("--write-baseline", "--strict"):
        done = cli(*arguments, more)
        assert done.code == 0
        assert "no skills here" not in done.err
    (tmp_path / "empty").mkdir()
    assert cli("check", tmp_path / "empty").err.endswith("a skill is a folder with a `SKILL.md` in it\n")
