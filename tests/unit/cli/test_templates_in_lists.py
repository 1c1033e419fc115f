"""`skillwire list`, `show` and `read` with templates, and the name of a template as an argument."""

import io
import json
import sys
from contextlib import redirect_stdout

import anyio
import pytest

from skillwire.authoring.source import CodeSource
from skillwire.cli.find import TemplateFoundError, find_in
from skillwire.cli.list import catalog_rows, print_catalog
from skillwire.cli.show import print_template
from skillwire.library.library import Library
from skillwire.terminal.messages import NoSuchSkillError
from tests.support.templates import GUIDE, GUIDE_URI, NOTES, USERS, code_source, template_skills

KEYS = ["name", "description", "type", "uri", "origin", "dialect", "problems"]


@pytest.fixture
def library() -> Library:
    library = Library([CodeSource(template_skills()), code_source("more", ["acme/refunds"])])
    anyio.run(library.load)
    return library


def test_list_prints_templates_after_skills(library: Library) -> None:
    with redirect_stdout(io.StringIO()) as out:
        print_catalog(library.catalog)
    assert [line.split("\t")[:2] for line in out.getvalue().splitlines()] == [
        ["refunds", "skill://acme/refunds/SKILL.md"],
        [GUIDE, GUIDE_URI],
        [USERS, "skill://app/users/{user_id}/SKILL.md"],
        [NOTES, "skill://notes/{year}/{topic}/SKILL.md"],
    ]


def test_table_shows_templates_by_their_paths(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(io.StringIO()) as out:
        print_catalog(library.catalog)
    row = next(line for line in out.getvalue().splitlines() if GUIDE in line)
    assert row.split() == [GUIDE, "(template)", "How", "to", "use", "{product}."]


def test_json_rows_of_templates_have_parameters(library: Library) -> None:
    skill, guide, users, notes = catalog_rows(library.catalog)
    assert list(skill) == KEYS
    assert list(guide) == [*KEYS, "parameters"]
    assert guide == {
        "name": GUIDE,
        "description": "How to use {product}.",
        "type": "template",
        "uri": GUIDE_URI,
        "origin": GUIDE,
        "dialect": "folder",
        "problems": [],
        "parameters": {"product": ["anvil", "rocket"]},
    }
    assert users["parameters"] == {"user_id": []}
    assert notes["parameters"] == {"year": ["2025"], "topic": []}


@pytest.mark.parametrize("name", [GUIDE, f"code:{GUIDE}", GUIDE_URI, f"{GUIDE}/SKILL.md"])
def test_name_of_a_template_finds_the_template(library: Library, name: str) -> None:
    with pytest.raises(TemplateFoundError) as caught:
        find_in(library, name)
    assert caught.value.template.path == GUIDE
    assert str(caught.value) == f"`{name}` stands for many skills"
    assert caught.value.hint == f"write one of `anvil`, `rocket` in place of `{{product}}` in `{GUIDE}`"


@pytest.mark.parametrize(
    "name",
    ["docs/anvil/guide", "/docs/anvil/guide/skill.md", "code:docs/anvil/guide", "skill://docs/anvil/guide"],
)
def test_instance_is_found_by_every_spelling(library: Library, name: str) -> None:
    assert find_in(library, name).entry.uri == "skill://docs/anvil/guide/SKILL.md"


def test_wrong_value_on_the_command_line_names_the_parameter(library: Library) -> None:
    with pytest.raises(NoSuchSkillError) as caught:
        find_in(library, "docs/bomb/guide")
    assert str(caught.value) == "there is no skill `docs/bomb/guide`"
    assert caught.value.hint == f"write one of `anvil`, `rocket` in place of `{{product}}` in `{GUIDE}`"


def test_show_prints_parameters_and_their_values(library: Library) -> None:
    guide, users, _ = library.catalog.templates
    with redirect_stdout(io.StringIO()) as out:
        print_template(guide, as_json=False)
        print_template(users, as_json=False)
    assert out.getvalue() == (
        f"{GUIDE}\nHow to use {{product}}.\n\nuri: {GUIDE_URI}\nfrom: {GUIDE}\n\n"
        "{product}: one of anvil, rocket\n"
        f"{USERS}\nAbout a user.\n\nuri: skill://app/users/{{user_id}}/SKILL.md\nfrom: {USERS}\n\n"
        "{user_id}: lowercase letters, digits and single hyphens (1-64 characters)\n"
    )


def test_show_prints_a_template_as_json(library: Library, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_template(library.catalog.templates[0], as_json=True)
    sys.stdout.flush()
    assert json.loads(capsysbinary.readouterr().out) == {
        "uriTemplate": GUIDE_URI,
        "frontmatter": {"description": "How to use {product}."},
        "resources": "dynamic",
        "parameters": {"product": ["anvil", "rocket"]},
        "origin": GUIDE,
        "problems": [],
    }
