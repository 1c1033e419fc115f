"""How the pages describe the connection of clients: with the address of the server, and without secrets."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.errors import BadParamsError
from skillwire.features.base import Call
from skillwire.pages.connections import ConnectGuide
from skillwire.server.admin import SourceFacts

URL = "https://skills.example/mcp"


def folder(place: str, kind: str = "folder", given_by: str = "command line") -> SourceFacts:
    return SourceFacts("label", kind, place, "label", given_by, removable=False)


def described(connections: ConnectGuide) -> list[dict[str, Any]]:
    found: Any = connections.describe(Call({"url": URL}, can_change=False))
    return found["clients"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0/."), min_size=1), min_size=1))
def test_the_command_names_each_absolute_folder_as_one_word(places: list[str]) -> None:
    sources = list(map(folder, places))
    clients = described(ConnectGuide(lambda: sources, needs_token=False, on_this_machine=True))
    for each in clients:
        absolute = [f"{Path.cwd()}/{place}" for place in places]
        assert shlex.split(each["command"]) == ["skillwire", "install", *absolute, "--client", each["client"]]


@pytest.mark.parametrize(
    ("facts", "here"),
    [
        (folder("/skills"), False),
        (folder("https://skills.example", "web"), True),
        (folder("/skills", given_by="configuration"), True),
    ],
    ids=["remote", "web", "configured"],
)
def test_other_sources_have_no_command(facts: SourceFacts, *, here: bool) -> None:
    connections = ConnectGuide(lambda: [facts], needs_token=False, on_this_machine=here)
    assert {each["command"] for each in described(connections)} == {""}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "skills.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://me:secret@skills.example/mcp",
        "https://skills.example/a b",
        "https://skills.example/\n",
        "http://[",
        "https://" + "a" * 3000,
    ],
)
def test_only_an_address_of_a_server_is_described(url: str) -> None:
    connections = ConnectGuide(list, needs_token=False, on_this_machine=True)
    with pytest.raises(BadParamsError):
        connections.describe(Call({"url": url}, can_change=False))
