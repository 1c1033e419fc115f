"""Folders in code that are not folders: the error names the source to use."""

from pathlib import Path

import pytest
from mcp.server.mcpserver import MCPServer

import skillwire
from skillwire import FolderSource, Host, SkillServer, attach
from skillwire.errors import InvalidValueError, UsageError

ADDRESSES = {
    "https://github.com/acme/skills": "pass `GitSource('https://github.com/acme/skills')`",
    "github:acme/skills": "pass `GitSource('github:acme/skills')`",
    "git@github.com:acme/skills.git": "pass `GitSource('git@github.com:acme/skills.git')`",
    "git+https://example.com/a.git": "pass `GitSource('git+https://example.com/a.git')`",
    "https://example.com": "pass `WebSource('https://example.com')` for a website",
    "https://example.com/mcp": "pass `ServerSource(Target('label', url='https://example.com/mcp'))`",
    "mcp+https://example.com/x": "pass `ServerSource(Target('label', url='https://example.com/x'))`",
    "file:///srv/team.git": "pass the path without `file://` or, for a repository, "
    "`GitSource('git+file:///srv/team.git')`",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_instead_of_a_folder_names_the_right_source(address: str) -> None:
    for use in (
        lambda: attach(MCPServer("own"), address),
        lambda: skillwire.serve(address),
        lambda: Host(folders={"mine": address}),
        lambda: FolderSource(address),
    ):
        with pytest.raises(InvalidValueError) as caught:
            use()
        assert ADDRESSES[address] in str(caught.value)
        assert address in str(caught.value)


def test_a_path_object_with_an_address_is_recognized() -> None:
    with pytest.raises(InvalidValueError, match="GitSource"):
        attach(MCPServer("own"), Path("https://github.com/acme/skills"))


def test_an_archive_instead_of_a_folder_names_its_source(tmp_path: Path) -> None:
    (tmp_path / "skills.zip").write_bytes(b"PK")
    with pytest.raises(InvalidValueError, match=r"ArchiveSource\('.*skills.zip'\)"):
        attach(MCPServer("own"), tmp_path / "skills.zip")


def test_an_error_shows_no_secret() -> None:
    with pytest.raises(InvalidValueError) as caught:
        attach(MCPServer("own"), "https://user:geheim@example.com/skills")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("name", ["https:", "github:acme", "a@b:c"])
def test_an_existing_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    attach(MCPServer("own"), tmp_path / name)


def test_attaching_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="there is nothing to attach"):
        attach(MCPServer("own"))


def test_a_server_in_code_refuses_an_address() -> None:
    with pytest.raises(InvalidValueError):
        SkillServer("own").add("https://github.com/acme/skills")  # pyright: ignore[reportArgumentType]
