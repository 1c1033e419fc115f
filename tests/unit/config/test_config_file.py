"""The configuration file: what it decides, and that nobody's work in it is ever lost."""

import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tomlkit import TOMLDocument

from skillwire.config.file import (
    ConfigFile,
    SourceSettings,
    decide,
    default_config,
    read_overrides,
    write_allowed_origins,
    write_static,
)
from skillwire.core.atomic_write import replace_file
from skillwire.errors import UsageError
from skillwire.library.visibility import Override

URI = "skill://acme/refunds/SKILL.md"
OTHER = "skill://other/SKILL.md"
OURS, THEIRS = "skill://a/SKILL.md", "skill://b.c/SKILL.md"
HAND_WRITTEN = f"""\
# my skills
static = true   # and odd   spacing

[visibility."{OTHER}"]
# because of the audit
assistant = false

[check.severity]
list = [
  1,  # one
]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_reading_a_missing_file_does_not_create_it(path: Path) -> None:
    assert read_overrides(ConfigFile(path)) == {}
    assert not path.exists()


def test_what_is_written_is_read_again(path: Path) -> None:
    file = ConfigFile(path.parent / "new" / "folder" / "config.toml")
    assert decide(file, URI, {"assistant": False}) == Override(assistant=False)
    assert decide(file, URI, {"user": True}) == Override(assistant=False, user=True)
    assert decide(file, OTHER, {"user": False}) == Override(user=False)
    assert read_overrides(file) == {URI: Override(assistant=False, user=True), OTHER: Override(user=False)}


def test_a_side_that_is_reset_is_left_to_the_frontmatter(path: Path) -> None:
    file = ConfigFile(path)
    decide(file, URI, {"assistant": False, "user": False})
    assert decide(file, URI, {"assistant": None}) == Override(user=False)
    assert decide(file, URI, {"user": None}) == Override()
    assert path.read_text() == ""


def test_resetting_what_was_never_decided_writes_nothing(path: Path) -> None:
    assert decide(ConfigFile(path), URI, {"assistant": None, "user": None}) == Override()
    assert not path.exists()


def test_comments_spacing_and_other_tables_are_kept(path: Path) -> None:
    path.write_text(HAND_WRITTEN)
    file = ConfigFile(path)
    decide(file, URI, {"user": False})
    text = path.read_text()
    assert all(line in text.splitlines() for line in HAND_WRITTEN.splitlines())
    assert read_overrides(file) == {OTHER: Override(assistant=False), URI: Override(user=False)}
    decide(file, URI, {"user": None})
    assert path.read_text() == HAND_WRITTEN


def test_changing_or_resetting_a_decision_keeps_other_tables(path: Path) -> None:
    path.write_text(HAND_WRITTEN)
    file = ConfigFile(path)
    decide(file, OTHER, {"assistant": True, "user": False})
    kept = tomllib.loads(path.read_text())["visibility"][OTHER]
    assert kept == {"assistant": True, "user": False}
    assert decide(file, OTHER, {"assistant": None, "user": None}) == Override()
    assert tomllib.loads(path.read_text()) == {"static": True, "check": {"severity": {"list": [1]}}}


def test_line_ends_of_another_system_are_kept(path: Path) -> None:
    path.write_bytes(b"# mine\r\nstatic = true\r\n")
    decide(ConfigFile(path), URI, {"user": False})
    assert path.read_bytes().startswith(b"# mine\r\nstatic = true\r\n")


@pytest.mark.parametrize(
    "text",
    [
        "visibility = {}\n",
        f'visibility = {{"{OTHER}" = {{assistant = false}}}}\n',
        f'visibility."{OTHER}".assistant = false\n',
        f'[visibility."{OTHER}"]\nuser = false\n[limits]\nfiles = 1\n[visibility."{OURS}"]\nuser = true\n',
        f'[visibility]\n"{OTHER}" = {{ assistant = false }}\n',
    ],
    ids=["inline", "inline in inline", "dotted", "apart", "inline in a table"],
)
def test_every_way_to_write_a_table_can_be_added_to(path: Path, text: str) -> None:
    path.write_text(text)
    file = ConfigFile(path)
    before = read_overrides(file)
    assert decide(file, URI, {"assistant": False}) == Override(assistant=False)
    assert read_overrides(file) == {**before, URI: Override(assistant=False)}
    assert decide(file, URI, {"assistant": None}) == Override()
    assert read_overrides(file) == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[visibility\n", "Expected ']'"),
        (b"a = 1\na = 2\n", "Cannot overwrite a value"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"visibility = 5\n", "`visibility` is not a table"),
        (b"[[visibility]]\n", "`visibility` is not a table"),
        (
            b'[visibility]\n"skill://x/SKILL.md" = 5\n',
            "the visibility of `skill://x/SKILL.md` is not a table",
        ),
        (
            b"[visibility.'skill://x/SKILL.md']\nuser = 'no'\n",
            "`user` of `skill://x/SKILL.md` is not true",
        ),
        (b"[visibility.'skill://x/SKILL.md']\nassistant = 0\n", "`assistant` of `skill://x/SKILL.md` is not"),
    ],
    ids=str,
)
def test_an_invalid_file_is_never_overwritten(path: Path, content: bytes, reason: str) -> None:
    path.write_bytes(content)
    tries: list[Callable[[], object]] = [
        lambda: read_overrides(ConfigFile(path)),
        lambda: decide(ConfigFile(path), URI, {"user": False}),
    ]
    for attempt in tries:
        with pytest.raises(UsageError) as caught:
            attempt()
        assert str(caught.value).startswith(f"the configuration file `{path}` cannot be used: {reason}")
        assert "--no-config" in caught.value.hint
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_in_place_of_the_file_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        read_overrides(ConfigFile(path))


def test_a_path_that_cannot_be_written_is_an_error(path: Path) -> None:
    path.write_text("")
    with pytest.raises(UsageError, match="cannot write the configuration file") as caught:
        decide(ConfigFile(path / "config.toml"), URI, {"user": False})
    assert "`--config FILE`" in caught.value.hint


def test_a_failed_write_leaves_only_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path.write_text(HAND_WRITTEN)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cannot write .*: No space left on device"):
        decide(ConfigFile(path), URI, {"user": False})
    assert path.read_text() == HAND_WRITTEN
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(path: Path) -> None:
    contents = [b"a" * 100_000, b"b" * 100_000]
    replace_file(path, contents[0])
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(lambda: [replace_file(path, contents[n % 2]) for n in range(50)])
        while not writing.done():
            assert path.read_bytes() in contents
        writing.result()


def test_writing_keeps_permissions_and_links(path: Path) -> None:
    dotfiles = path.parent / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "skillwire.toml"
    real.write_text("static = true\n")
    real.chmod(0o600)
    path.symlink_to(real)
    decide(ConfigFile(path), URI, {"user": False})
    assert path.is_symlink()
    assert URI in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_writers_at_the_same_time_lose_nothing(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from skillwire.config.file import ConfigFile\n"
        "from skillwire.config.file import decide\n"
        "_, path, name, side = sys.argv\n"
        "for n in range(10): decide(ConfigFile(Path(path)), f'skill://{name}-{n}/SKILL.md', {side: False})\n"
    )
    sides = ["assistant", "user"]
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(path), name, side])
        for name in ("one", "two")
        for side in sides
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    both_off = Override(assistant=False, user=False)
    expected = {f"skill://{name}-{n}/SKILL.md": both_off for name in ("one", "two") for n in range(10)}
    assert read_overrides(ConfigFile(path)) == expected


decisions = st.fixed_dictionaries(
    {}, optional={side: st.sampled_from([True, False, None]) for side in ("assistant", "user")}
)
uris = st.sampled_from(
    ["skill://a/SKILL.md", 'skill://"b\\/SKILL.md', "skill://é.c/SKILL.md", "github://a/b/SKILL.md"]
)


@given(steps=st.lists(st.tuples(uris, decisions), max_size=8))
def test_any_sequence_of_decisions_adds_up(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, dict[str, bool | None]]]
) -> None:
    file = ConfigFile(tmp_path_factory.mktemp("steps") / "config.toml")
    expected: dict[str, dict[str, bool | None]] = {}
    for uri, sides in steps:
        expected[uri] = {**expected.get(uri, {}), **sides}
        assert decide(file, uri, sides) == Override(**expected[uri])
    decided = {uri: Override(**sides) for uri, sides in expected.items()}
    assert read_overrides(file) == {
        uri: override for uri, override in decided.items() if override != Override()
    }


lines = st.lists(
    st.sampled_from(
        [
            "# a comment",
            "static = true",
            "allowed-origins = ['https://a.example']",
            "allowed-origins = [\n  'https://a.example', # why\n]",
            "limits.files = nan",
            "limits.bytes = 5",
            "check.severity.c = 'off'",
            "visibility = {}",
            f'visibility = {{"{OURS}" = {{user = true}}}}',
            f'visibility."{OURS}".user = true',
            f'visibility."{OURS}".assistant = false # why',
            f'visibility."{OURS}" = {{ user = false }}',
            'visibility."skill://c/SKILL.md".user = true',
        ]
    ),
    unique=True,
    max_size=4,
)
tables = st.lists(
    st.sampled_from(
        [
            "# keep: limits\n[limits]\nbytes = 5 # keep: five",
            "[[sources]]\nsource = '/a'",
            "[[sources]]\nsource = '/b' # keep: hey\n",
            "[visibility]",
            f'[visibility."{OURS}"]\nassistant = false # why',
            f'[visibility."{OURS}"]\nuser = true # why\nassistant = false',
            f'[visibility]\n"{OURS}" = {{user = false}}',
            f'[visibility]\n"{OURS}".user = false',
            f'[visibility]\n"{OURS}".user = false\n# why\n"{OURS}".assistant = false',
            "[visibility.'skill://c/SKILL.md']\nuser = true",
            "[check.severity]\ny = 1",
        ]
    ),
    unique=True,
    max_size=4,
)


def _said(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=str)


@settings(max_examples=300)
@given(
    top=lines,
    below=tables,
    end=st.sampled_from(["\n", ""]),
    steps=st.lists(st.tuples(st.sampled_from([OURS, THEIRS]), decisions), min_size=1, max_size=4),
)
def test_a_decision_changes_nothing_else_however_the_file_is_written(
    tmp_path_factory: pytest.TempPathFactory,
    top: list[str],
    below: list[str],
    end: str,
    steps: list[tuple[str, dict[str, bool | None]]],
) -> None:
    text = "\n".join([*top, *below]) + end
    try:
        before = _said(text)
    except tomllib.TOMLDecodeError:
        assume(False)  # noqa: FBT003 - how hypothesis spells it
        raise
    file = ConfigFile(tmp_path_factory.mktemp("odd") / "config.toml")
    file.path.write_text(text, encoding="utf-8")
    expected = {uri: dict(entry) for uri, entry in before.pop("visibility", {}).items()}
    for uri, sides in steps:
        decide(file, uri, sides)
        expected[uri] = {
            key: value for key, value in {**expected.get(uri, {}), **sides}.items() if value is not None
        }
    written = file.path.read_text(encoding="utf-8")
    # Tables of one list that are apart may be brought together, so the order may change.
    assert sorted(re.findall("# keep: [a-z]+", written)) == sorted(re.findall("# keep: [a-z]+", text))
    after = _said(written)
    decided = after.pop("visibility", {})
    assert after == before
    assert decided == {uri: entry for uri, entry in expected.items() if entry}


def test_a_decision_beside_dotted_keys_leaves_other_settings_in_place(path: Path) -> None:
    others = "static = true\nallowed-origins = ['https://a.example']\n"
    path.write_text(f'visibility."{OTHER}".user = true\n{others}')
    decide(ConfigFile(path), URI, {"assistant": False})
    assert path.read_text() == (
        f'visibility."{OTHER}".user = true\nvisibility."{URI}" = {{assistant = false}}\n{others}'
    )


def test_a_decision_in_dotted_lines_can_be_changed_and_reset(path: Path) -> None:
    sources = "[[sources]]\nsource = '/a'\n[[sources]]\nsource = '/b'\n[check.severity]\nz = 1\n"
    path.write_text(f'{sources}[visibility]\n"{URI}".user = false\n')
    file = ConfigFile(path)
    assert decide(file, URI, {"assistant": False}) == Override(assistant=False, user=False)
    assert decide(file, URI, {"user": None, "assistant": None}) == Override()
    assert path.read_text() == sources


@pytest.mark.parametrize(
    "end", ["check.severity.c = 1", "limits.files = 1 # z", "[check]\nseverity.c = 1", "# no more"]
)
def test_a_last_line_without_an_end_can_be_followed(path: Path, end: str) -> None:
    path.write_text(end)
    file = ConfigFile(path)
    write_allowed_origins(file, ["https://a.example"])
    write_static(file, static=True)
    decide(file, URI, {"user": False})
    assert path.read_text().count(end) == 1
    configured = SourceSettings.read(file)
    assert (configured.static, configured.allowed_origins) == (True, ("https://a.example",))
    assert read_overrides(file) == {URI: Override(user=False)}


def test_a_change_that_would_change_something_else_is_refused(path: Path) -> None:
    path.write_text("static = true\n")

    def careless(values: MutableMapping[str, Any]) -> None:
        values["odd"] = 1
        if isinstance(values, TOMLDocument):
            values["static"] = False

    with pytest.raises(UsageError, match="without changing other parts"):
        ConfigFile(path).edit(careless, check=lambda _: None)
    assert path.read_text() == "static = true\n"


def test_the_file_is_in_the_folder_for_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_config() == tmp_path / "skillwire" / "config.toml"
    assert default_config().parts[-2:] == ("skillwire", "config.toml")
