"""A bundle passes the official tool, and serves its skills when it is started as its manifest says."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import BlobResourceContents, TextResourceContents

from skillwire import Catalog
from tests.support.foreign_servers import mcpb
from tests.support.installers import PROGRAMS, installer_environment
from tests.support.packed import contents
from tests.support.paths import ROOT
from tests.support.peers import skillwire
from tests.support.scans import catalog
from tests.support.skills import write_skill

SECONDS = 180
"""Until the test gives up waiting for the first start, which installs packages."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    write_skill(folder, "acme/refunds", {"scripts/run": "#!/bin/sh\n", "data/ünïcode.bin": bytes(range(256))})
    (folder / "acme/refunds/scripts/run").chmod(0o755)
    write_skill(folder, "returns", {"references/policy.md": "# Policy\n"})
    return folder


@pytest.fixture(scope="module")
def unpacked(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed bundle."""
    folder = tmp_path_factory.mktemp("installed")
    bundle = folder / "acme.mcpb"
    for command in (
        skillwire("pack", source, ROOT / "examples/skills", "--mcpb", bundle),
        [*mcpb(), "unpack", str(bundle), str(folder / "acme")],
    ):
        subprocess.run(command, check=True, timeout=SECONDS, stdout=subprocess.PIPE)
    return folder / "acme"


def test_official_tool_accepts_the_manifest(unpacked: Path) -> None:
    command = [*mcpb(), "validate", str(unpacked / "manifest.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, "validation passes" in done.stdout) == (0, True), done.stdout + done.stderr


def test_official_tool_unpacks_what_was_served(unpacked: Path, source: Path) -> None:
    served = contents(catalog(source, ROOT / "examples/skills"))
    assert len(served) > 4
    assert contents(catalog(unpacked / "skills")) == served


def test_a_bundle_serves_every_file_when_a_client_starts_it(
    unpacked: Path, source: Path, tmp_path: Path
) -> None:
    programs, home = tmp_path / "programs", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "uv").symlink_to(PROGRAMS / "uv")
    config: Any = json.loads((unpacked / "manifest.json").read_bytes())["server"]["mcp_config"]
    arguments = [each.replace("${__dirname}", str(unpacked)) for each in config["args"]]
    assert config["command"] == "uv"
    server = StdioServerParameters(
        command=str(programs / "uv"), args=arguments, cwd=tmp_path, env=installer_environment(home, programs)
    )
    expected = catalog(source, ROOT / "examples/skills")
    anyio.run(_compare, server, expected)
    assert list(unpacked.glob(".venv/lib/*/site-packages/mcp"))
    assert not list(unpacked.glob(".venv/lib/*/site-packages/skillwire*"))


async def _compare(server: StdioServerParameters, expected: Catalog) -> None:
    """Read every file of every skill over stdio, and compare it with its digest."""
    with anyio.fail_after(SECONDS):
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            for uri, served in expected.files.items():
                (content,) = (await session.read_resource(uri)).contents
                served.file.verify(_bytes_of(content), uri)
            loaded = await session.call_tool("load-skill", {"skill": "returns"})
            assert "# Steps" in str(loaded.content)


def _bytes_of(content: TextResourceContents | BlobResourceContents) -> bytes:
    return content.text.encode() if isinstance(content, TextResourceContents) else b64decode(content.blob)
