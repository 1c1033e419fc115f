"""A key that the configuration file does not know is an error that names the nearest known key."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.config.file import ConfigFile, FileSettings
from skillwire.config.file_keys import TOP_KEYS, fault_of_keys
from skillwire.errors import UsageError

_REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[visibility.'skill://a/SKILL.md']\nasistant = false\n", "did you mean `assistant`?"),
        ("[limit]\nfiles = 5\n", "did you mean `limits`?"),
        ("[limits]\nfile = 5\n", "did you mean `files`?"),
        ("[[source]]\nsource = './a'\n", "did you mean `sources`?"),
        ("[[sources]]\nsource = './a'\ntoken_env = 'X'\n", "did you mean `token-env`?"),
        (
            "[[sources]]\nsource = './a'\nzzz = 'X'\n",
            "source number 1 has no setting `zzz`; the",
        ),
        ("allowed_origins = []\n", "did you mean `allowed-origins`?"),
        ("[visibilty.'skill://a/SKILL.md']\nassistant = false\n", "did you mean `visibility`?"),
        ("[chek]\nignore = []\n", "did you mean `check`?"),
        ("[check]\nignored = []\n", "did you mean `ignore`?"),
        ("[visibility.'skill://deploy/*']\nassistant = false\n", "is a pattern"),
        ("[visibility.deploy-23]\nassistant = false\n", "write `skill://deploy-23/SKILL.md`"),
        ("[visibility.'skill://deploy']\nassistant = false\n", "write `skill://deploy/SKILL.md`"),
        ("[visibility.'skill://deploy/skill.md']\nuser = false\n", "write `skill://deploy/SKILL.md`"),
        ("[visibility.'']\nuser = false\n", "is not the URI of a skill"),
    ],
    ids=str,
)
def test_a_key_that_would_be_ignored_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(reason)) as caught:
        FileSettings.read(ConfigFile(path))
    assert f"the configuration file `{path}` cannot be used" in str(caught.value)


def test_every_documented_key_is_known() -> None:
    text = (_REPOSITORY / "docs" / "sources.md").read_text(encoding="utf-8")
    examples = [tomllib.loads(each) for each in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert examples
    assert [fault_of_keys(each) for each in examples] == [None] * len(examples)
    section = text.partition("## The configuration file")[2]
    assert all(f"`[{key}]`" in section or f"`{key}`" in section or key in section for key in TOP_KEYS)


@given(st.dictionaries(st.text(max_size=8), st.recursive(st.integers(), st.lists, max_leaves=3), max_size=4))
def test_any_other_key_at_the_top_is_an_error(read: dict[str, object]) -> None:
    known = set(read) <= set(TOP_KEYS)
    assert (fault_of_keys(read) is None) == known


@given(st.text(max_size=30))
def test_the_form_that_an_error_suggests_is_accepted(key: str) -> None:
    fault = fault_of_keys({"visibility": {key: {}}})
    if fault is None or "is a pattern" in fault:
        return
    suggested = fault.rpartition("write `")[2].removesuffix("`")
    if "`" not in suggested and suggested.isprintable():  # else it is shown escaped
        assert fault_of_keys({"visibility": {suggested: {}}}) is None
