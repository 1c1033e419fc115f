"""Very large files come back byte for byte, through a real process and through the library."""

import base64
import hashlib
from pathlib import Path

import pytest

from tests.support.peers import MODERN, HttpPeer, HttpServer, StdioPeer, skillwire
from tests.support.skills import skill_md, write_skill

LIMIT = 16 * 1024 * 1024
URI = "skill://big/big.bin"


@pytest.fixture(scope="module")
def big_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("big")
    content = bytes(range(256)) * (LIMIT // 256)
    write_skill(root, "big", {"big.bin": content[: LIMIT - len(skill_md("big"))]})
    write_skill(root, "long-text", {"long.md": "ü" * 1_000_000})
    return root


@pytest.mark.rule("S8", "S10")
@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_a_skill_at_the_limit_is_served_whole_over_stdio(big_tree: Path, version: str) -> None:
    with StdioPeer(version, skillwire("serve", big_tree)) as peer:
        entry = peer.result("skills/get", {"uri": "skill://big/SKILL.md"})["skill"]
        listed = {resource["uri"]: resource for resource in entry["resources"]}
        assert sum(resource["size"] for resource in listed.values()) == LIMIT
        content = base64.b64decode(peer.result("resources/read", {"uri": URI})["contents"][0]["blob"])
        assert len(content) == listed[URI]["size"]
        assert "sha256:" + hashlib.sha256(content).hexdigest() == listed[URI]["digest"]


@pytest.mark.rule("S8", "S10")
def test_a_skill_at_the_limit_is_served_whole_over_http(big_tree: Path) -> None:
    with HttpServer(big_tree, "--http", "0") as server:
        peer = HttpPeer(MODERN, server.url)
        content = base64.b64decode(peer.result("resources/read", {"uri": URI})["contents"][0]["blob"])
        text = peer.result("resources/read", {"uri": "skill://long-text/long.md"})["contents"][0]["text"]
        peer.close()
    assert content == (big_tree / "big/big.bin").read_bytes()
    assert text == "ü" * 1_000_000
