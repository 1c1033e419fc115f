"""FastMCP as a client of a real server. Needs only its client, as in `fastmcp-slim`."""

import hashlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.skills.client import SkillsClientExtension

from tests.support.peers import HttpServer
from tests.support.skills import write, write_skill

FILES: dict[str, bytes | str] = {
    "references/deep/guide.md": "# Guide\r\n",
    "scripts/tool.bin": bytes(range(256)),
    "größe 日本.md": "wide",
    "50%.md": "half",
    "empty": b"",
}
SKILLS = ["refunds", "acme/billing/invoices", *(f"many/skill-{number:03}" for number in range(120))]
LONG = "x" * 1100
"""A description that strict clients refuse."""
REFUNDS = "skill://refunds/SKILL.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("skills")
    for name in SKILLS:
        write_skill(root, name, FILES if name == "refunds" else None)
    write(root / "too-long", {"SKILL.md": f"---\nname: too-long\ndescription: {LONG}\n---\nBody\n"})
    return root


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with HttpServer(folder, "--no-config", "--http", "127.0.0.1:0") as server:
        yield server.url


def connected(url: str) -> Any:
    return Client(url, extensions=[SkillsClientExtension()])


async def content_of(client: Any, uri: str) -> bytes:
    """Return the bytes of a resource, however its content is sent."""
    (block,) = await client.read_resource(uri)
    if (text := getattr(block, "text", None)) is not None:
        return text.encode()
    return b64decode(block.blob)


@pytest.mark.anyio
async def test_every_page_of_the_list_is_accepted(url: str) -> None:
    async with connected(url) as client:
        listed = await client.list_skills()
    assert sorted(each.uri for each in listed) == sorted(f"skill://{name}/SKILL.md" for name in SKILLS)


@pytest.mark.anyio
async def test_every_file_has_the_listed_digest(url: str, folder: Path) -> None:
    async with connected(url) as client:
        entry = await client.get_skill(REFUNDS)
        contents = {each.uri: await content_of(client, each.uri) for each in entry.resources}
    for each in entry.resources:
        content = contents[each.uri]
        assert each.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert each.size == len(content)
    on_disk = sorted(path.read_bytes() for path in (folder / "refunds").rglob("*") if path.is_file())
    assert sorted(contents.values()) == on_disk


@pytest.mark.anyio
async def test_a_skill_that_is_not_listed_can_be_read(url: str) -> None:
    async with connected(url) as client:
        assert LONG.encode() in await content_of(client, "skill://too-long/SKILL.md")


@pytest.mark.anyio
@pytest.mark.parametrize("extensions", [True, False])
async def test_a_whole_skill_is_read_where_the_client_can(url: str, folder: Path, extensions: bool) -> None:  # noqa: FBT001
    client: Any = connected(url) if extensions else Client(url)
    if not hasattr(client, "read_skill"):
        pytest.skip("FastMCP reads whole skills from 4.2 on; the utilities of 4.1 are in `test_manifests.py`")
    async with client:
        skill = await client.read_skill(REFUNDS)
    assert dict(skill.files) == {
        path.relative_to(folder / "refunds").as_posix(): path.read_bytes()
        for path in (folder / "refunds").rglob("*")
        if path.is_file()
    }
