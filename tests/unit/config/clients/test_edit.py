"""A change to one entry of a client's file keeps every other character."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skillwire.config.clients.edit import ClientDocument
from skillwire.config.clients.files import ClientFile, ClientFileError, Format

FIELDS = {"command": "/opt/my tools/ünï\u200d", "args": ["serve", 'a"b\\c\n', "\x7f\u2028#: {}"]}
PATHS = {
    Format.JSON: ("mcpServers", "skillwire"),
    Format.TOML: ("mcp_servers", "skillwire"),
    Format.YAML: ("extensions", "skillwire"),
}
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)
KEYS = WORDS.filter(lambda word: word not in {"skillwire", "mcpServers", "mcp_servers", "extensions", "<<"})
SCALARS = WORDS | st.integers(-9, 9) | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)
SERVERS = st.none() | st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=2), max_size=3)


def document(format: Format, text: str) -> ClientDocument:  # noqa: A002
    return ClientDocument.read(ClientFile(Path("file"), format=format), text.encode())


@st.composite
def contents(draw: st.DrawFn, format: Format) -> dict[str, Any]:  # noqa: A002
    """What may be in a file besides the entry, with or without other servers."""
    before, after = (draw(st.dictionaries(KEYS, VALUES, max_size=2)) for _ in range(2))
    servers = draw(SERVERS)
    return {**before, **({} if servers is None else {PATHS[format][0]: servers}), **after}


def commented(text: str, newline: str) -> str:
    """Put a comment at the end of each line, and a comma after each last member."""
    lines = text.split("\n")
    for at in range(len(lines) - 1):
        if lines[at][-1] not in ",{[" and lines[at + 1].strip()[0] in "}]":
            lines[at] += ","
    return newline.join(f"{line} // {{ it's" for line in lines) + newline


def check(format: Format, text: str) -> None:  # noqa: A002
    """Write an entry, change it and remove it. Nothing else changes."""
    before, path = document(format, text), PATHS[format]
    after = before.with_entry(path, FIELDS)
    assert after.entry(path) == FIELDS
    assert _without(after.values, path) == _without(before.values, path)
    span = after.span(path)
    if span is not None:
        _is_kept(before.text, after.text[: span[0]], after.text[span[1] :])
    moved = after.with_entry((*path, "command"), "/elsewhere")
    if "\r\n" in text:
        assert "\n" not in (after.text + moved.text).replace("\r\n", "")
    assert moved.entry(path) == {**FIELDS, "command": "/elsewhere"}
    assert _without(moved.values, path) == _without(before.values, path)
    removed = after.without_entry(path, before.missing_parents(path))
    assert json.dumps(removed.values) == json.dumps(before.values)


def _without(values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    servers: dict[str, Any] = {**(values.get(path[0]) or {})}
    servers.pop(path[1], None)
    return {**values, path[0]: servers}


def _is_kept(text: str, start: str, end: str) -> None:
    """Check that the text is what surrounds the entry, apart from what makes room for it."""
    room = str.maketrans("", "", ' \t\r\n,{}:"')
    kept = (start + end).translate(room)
    if kept != text.translate(room):
        kept = re.sub("mcpServers|extensions", "", kept, count=1)
    assert kept == text.translate(room)


@given(
    contents(Format.JSON),
    st.sampled_from([None, 2, "\t", 8]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_json(
    content: dict[str, Any],
    indent: int | str | None,
    newline: str,
    comments: bool,  # noqa: FBT001
    bom: bool,  # noqa: FBT001
) -> None:
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    text = commented(text, newline) if comments else text.replace("\n", newline)
    check(Format.JSON, "\ufeff" + text if bom else text)


@given(contents(Format.TOML), st.sampled_from(["\n", "\r\n"]))
def test_toml(content: dict[str, Any], newline: str) -> None:
    check(Format.TOML, "# first\n".replace("\n", newline) + tomlkit.dumps(content).replace("\n", newline))


@given(contents(Format.YAML), st.sampled_from([None, False, True]), st.sampled_from([2, 5]), st.booleans())
def test_yaml(content: dict[str, Any], flow: bool | None, indent: int, crlf: bool) -> None:  # noqa: FBT001
    text = yaml.safe_dump(
        content, default_flow_style=flow, indent=indent, allow_unicode=True, sort_keys=False
    )
    check(Format.YAML, text.replace("\n", "\r\n") if crlf else text)


EXACT = {
    Format.JSON: [
        "{}",
        '{"a":1}',
        '{\n\t"mcpServers": {\n\t\t"a": {} // n\n\t\t// "b"\n\t}\n}',
        '{\r\n  "mcpServers": {\r\n    "a": {"x": 1},\r\n  },\r\n}\r\n',
        '{"mcpServers": {"a": {}}, "z": 1}',
        "{\n  // only a comment\n}",
        '{ "a": 1, // note\n "b": 2 }',
        '{\n  /* one */ "a": 1 /* two */ , /* three */\n  "b": [1, {"mcpServers": {}}], // four\n}\n// five',
    ],
    Format.TOML: [
        "",
        '# c\n[mcp_servers.a]\ncommand = "x" # d\n\n# next\n[tui]\nx = """\n[mcp_servers.skillwire]\n"""\n',
        '[mcp_servers]\na = {command="x"}\n',
        'mcp_servers = {a = {command = "x"}}\n',
        'mcp_servers.a.command = "x"\n',
        "a = nan\r\n[x]\r\n",
    ],
    Format.YAML: [
        "",
        "# c\n",
        "extensions: {}\nA: b\n",
        "A: b\nextensions:\n  # dev\n  developer:\n    args:\n    - x\n  # end\nB: |+\n  t\n\n",
        "extensions: {a: {type: stdio}}\n",
        "{A: b}",
        "A: b\r\nextensions:\r\n    developer:\r\n        enabled: true\r\n",
    ],
}


@pytest.mark.parametrize(
    ("format", "text"), [(each, text) for each, texts in EXACT.items() for text in texts], ids=repr
)
def test_adding_and_removing_restores_every_byte(format: Format, text: str) -> None:  # noqa: A002
    before, path = document(format, text), PATHS[format]
    after = before.with_entry(path, FIELDS)
    assert after.entry(path) == FIELDS
    assert after.without_entry(path, before.missing_parents(path)).content == before.content


def test_a_comment_stays_on_the_line_of_its_entry() -> None:
    for text in (
        '{\n  "mcpServers": {\n    "a": {} // of a\n  }\n}',
        '{\n  "mcpServers": {\n    "a": {}, /* of a */\n  }\n}',
    ):
        after = document(Format.JSON, text).with_entry(PATHS[Format.JSON], FIELDS)
        line = next(each for each in after.text.splitlines() if "of a" in each)
        assert line.strip().startswith('"a": {}')
        assert "skillwire" not in line
    yaml_text = "extensions:\n  a: {} # of a\n  # about b\n  b: {}\n"
    after = document(Format.YAML, yaml_text).with_entry(PATHS[Format.YAML], FIELDS)
    assert "  a: {} # of a\n  # about b\n  b: {}\n" in after.text


def test_only_the_entry_of_a_table_with_comments_is_removed() -> None:
    text = '[mcp_servers.skillwire]\ncommand = "x"\n# of it\nargs = []\n\n# of the next\n[tui]\n'
    after = document(Format.TOML, text).without_entry(PATHS[Format.TOML])
    assert after.text == "\n# of the next\n[tui]\n"


def test_the_byte_order_mark_stays() -> None:
    for format, path in PATHS.items():  # noqa: A001
        after = document(format, "\ufeff").with_entry(path, FIELDS)
        assert after.content.startswith(b"\xef\xbb\xbf")
        assert document(format, after.content.decode()).entry(path) == FIELDS


ALIASES = b"a0: &a0 [x]\n" + b"".join(
    b"a%d: &a%d [*a%d, *a%d]\n" % (number, number, number - 1, number - 1) for number in range(1, 40)
)
REFUSED = [
    (Format.JSON, b'{"mcpServers": []}', "`mcpServers` is not an object"),
    (Format.JSON, b'{"mcpServers": null}', "`mcpServers` is not an object"),
    (Format.JSON, b'{"mcpServers": {}, "mcpServers": {}}', 'the key "mcpServers" more than once'),
    (Format.JSON, b'{"mcpServers": {"a": {}, "a": {}}}', 'has the key "a" more than once'),
    (Format.JSON, b"{,}", "unexpected place"),
    (Format.JSON, b"[]", "does not contain an object"),
    (Format.JSON, b'{"a": }', "not JSON"),
    (Format.JSON, b'{"a": 1} /* b', "not JSON: The comment has no end: line 1 column 10"),
    (Format.JSON, b'{"a": 1} /*/', "has no end"),
    (Format.JSON, b'{"a": "\xff"}', "not UTF-8"),
    (Format.JSON, b"[" * 200_000, "nested too deeply"),
    (Format.JSON, b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", "nested too deeply"),
    (Format.TOML, b"mcp_servers = 3\n", "`mcp_servers` is not an object"),
    (Format.TOML, b"a = 1\na = 2\n", "not TOML"),
    (Format.TOML, b"#" * 1_048_577, "more than 1,048,576 bytes"),
    (Format.YAML, b"- a\n", "does not contain an object"),
    (Format.YAML, b"extensions: 3\n", "`extensions` is not an object"),
    (Format.YAML, b"extensions: {}\nextensions: {}\n", "`extensions` occurs more than once"),
    (Format.YAML, b"a: &x {b: {c: d}}\nextensions: *x\n", "without changing other parts"),
    (Format.YAML, b"extensions: &x\n  a: {b: c}\ncopy: *x\n", "without changing other parts"),
    (Format.YAML, b"a: [\n", "not YAML"),
    (Format.YAML, ALIASES, "more than 2,000,000 values"),
    (Format.YAML, b"a: b\n---\nc: d\n", "not YAML"),
]


@pytest.mark.parametrize(("format", "content", "reason"), REFUSED, ids=lambda each: repr(each)[:40])
def test_a_broken_file_is_refused(format: Format, content: bytes, reason: str) -> None:  # noqa: A002
    with pytest.raises(ClientFileError, match=reason):
        ClientDocument.read(ClientFile(Path("file"), format=format), content).with_entry(
            PATHS[format], FIELDS
        )
