"""What a server owes its clients: the same answers over stdio and HTTP, on every protocol version."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.blackbox.conftest import MANY
from tests.blackbox.peers import EXTENSION, MODERN, VERSIONS, HttpPeer, Peer, StdioPeer
from tests.blackbox.product import (
    FILE_TOOL,
    LIMITS,
    LOAD_TOOL,
    NO_CONFIG,
    NO_DRAFTS,
    PROBLEMS,
    HttpService,
    Person,
    eventually,
)
from tests.blackbox.skills import DESCRIPTION, block_bytes, digest, skill_md, write, write_skill

INVALID_PARAMS = -32602
REFUNDS = "skill://acme/billing/refunds"
FRESHNESS = {"resultType", "ttlMs", "cacheScope"}


def read(peer: Peer, uri: str) -> tuple[bytes, dict[str, Any]]:
    (block,) = peer.result("resources/read", {"uri": uri})["contents"]
    assert block["uri"] == uri
    return block_bytes(block), block


def problems(peer: Peer) -> list[dict[str, Any]]:
    return json.loads(read(peer, PROBLEMS)[0])["problems"]


@pytest.mark.rule("S1")
def test_the_extension_is_declared_beside_resources(peer: Peer) -> None:
    capabilities = peer.handshake["capabilities"]
    others = dict(capabilities["extensions"])
    assert others.pop(EXTENSION) == {"directoryRead": True}
    assert all(name.startswith("dev.skillwire/") for name in others)
    assert "resources" in capabilities


@pytest.mark.rule("S2", "S3")
def test_every_declared_method_answers_undeclared_clients(peer: Peer) -> None:
    assert peer.result("skills/list")["skills"]
    assert peer.result("skills/get", {"uri": f"{REFUNDS}/SKILL.md"})["skill"]
    assert peer.result("resources/directory/read", {"uri": REFUNDS})["resources"]
    assert peer.result("resources/list")["resources"]
    assert peer.result("resources/templates/list")["resourceTemplates"]
    assert {tool["name"] for tool in peer.result("tools/list")["tools"]} >= {LOAD_TOOL, FILE_TOOL}
    assert peer.result("prompts/list")["prompts"]
    assert peer.error("skills/delete", {"uri": "x"})["code"] == -32601


@pytest.mark.rule("S3")
def test_header_name_is_not_demanded_for_skills(service: HttpService) -> None:
    with HttpPeer(MODERN, service.url) as peer:
        message = peer.message("skills/get", {"uri": f"{REFUNDS}/SKILL.md"})
        headers = peer.headers(message)
        assert "mcp-name" not in headers
        assert peer.post(json.dumps(message).encode(), headers).json["result"]["skill"]


@pytest.mark.rule("S4", "S5", "S7")
def test_uris_are_percent_encoded_paths_ending_in_names(peer: Peer) -> None:
    entries = peer.skills()
    for uri, entry in entries.items():
        path = uri.removeprefix("skill://").removesuffix("/SKILL.md")
        assert path.split("/")[-1] == entry["frontmatter"]["name"]
        assert set(entry) == {"uri", "frontmatter", "resources"}
        for resource in entry["resources"]:
            assert resource["uri"].startswith(f"skill://{path}/")
            assert resource["uri"] == quote(unquote(resource["uri"]), safe=":/!$&'()*+,;=@")
    listed = {resource["uri"] for resource in entries["skill://bytes/SKILL.md"]["resources"]}
    assert "skill://bytes/with%20space%20&%20100%25.md" in listed
    assert "skill://bytes/%C3%BCn%C3%AFcode/na%C3%AFve.md" in listed


@pytest.mark.rule("S4")
@pytest.mark.parametrize(
    "name", ["Refund-Desk", "-a", "a-", "a--b", "a_b", "a b", "../a", "", "x" * 65, "\xe4"]
)
def test_a_name_that_breaks_the_rules_is_not_served(name: str, odd_names: dict[str, Any]) -> None:
    place = f"{odd_names['places'][name]}/SKILL.md"
    assert [each["severity"] for each in odd_names["problems"] if each["path"] == place] == ["error"]
    assert odd_names["served"] == ["skill://good/SKILL.md"]


@pytest.fixture(scope="module")
def odd_names(tmp_path_factory: pytest.TempPathFactory, somebody: Person) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("names")
    write_skill(root, "good")
    names = ["Refund-Desk", "-a", "a-", "a--b", "a_b", "a b", "../a", "", "x" * 65, "\xe4"]
    places = {name: f"folder-{number}" for number, name in enumerate(names)}
    for name, place in places.items():
        write(root, {f"{place}/SKILL.md": skill_md(json.dumps(name))})
    with StdioPeer(MODERN, somebody, "serve", root, NO_CONFIG) as peer:
        return {"places": places, "problems": problems(peer), "served": list(peer.skills())}


@pytest.mark.rule("S6")
def test_each_file_has_its_type_and_form(peer: Peer) -> None:
    expected = {
        "SKILL.md": ("text/markdown", "text"),
        "scripts/run.ts": ("text/typescript", "text"),
        "data/text": ("text/plain", "text"),
        "data/empty.txt": ("text/plain", "text"),
        "data/latin1.txt": ("text/plain", "blob"),
        "data/zero.txt": ("text/plain", "blob"),
        "data/blob.bin": ("application/octet-stream", "blob"),
    }
    for path, (mime_type, form) in expected.items():
        block = read(peer, f"skill://bytes/{path}")[1]
        assert (path, block["mimeType"], form in block) == (path, mime_type, True)


@pytest.mark.rule("S6", "S18")
def test_listed_documents_carry_frontmatter_and_prefixed_metadata(peer: Peer) -> None:
    resources = {each["uri"]: each for each in peer.items("resources/list", "resources")}
    refunds = resources[f"{REFUNDS}/SKILL.md"]
    assert (refunds["name"], refunds["description"], refunds["mimeType"]) == (
        "refunds",
        DESCRIPTION,
        "text/markdown",
    )
    meta = resources["skill://reserved/SKILL.md"]["_meta"]
    prefix = "io.modelcontextprotocol.skills/"
    assert meta == {f"{prefix}io.modelcontextprotocol/future": "kept", f"{prefix}owner": "me"}
    frontmatter = peer.skills()["skill://reserved/SKILL.md"]["frontmatter"]
    assert frontmatter["metadata"] == {"io.modelcontextprotocol/future": "kept", "owner": "me"}
    assert [each["severity"] for each in problems(peer) if each["path"] == "reserved/SKILL.md"] == ["warning"]


@pytest.mark.rule("S7")
def test_frontmatter_is_verbatim_yaml_1_2(peer: Peer) -> None:
    assert peer.skills()["skill://verbatim/SKILL.md"]["frontmatter"] == {
        "name": "verbatim",
        "description": DESCRIPTION,
        "version": 755,
        "when": "12:30:45",
        "flag": "yes",
        "day": "2026-01-02",
        "empty": None,
        "ratio": 2.5,
        "nested": {"a": [1, 2.5, None], "b": {"c": True}},
    }


@pytest.mark.rule("S8", "S19")
def test_every_file_has_its_listed_digest_and_size(peer: Peer, tree: Path) -> None:
    entries = {uri: entry for uri, entry in peer.skills().items() if "/many/" not in uri}
    for entry in entries.values():
        uris = [resource["uri"] for resource in entry["resources"]]
        assert len(uris) == len(set(uris))
        assert entry["uri"] in uris
        for resource in entry["resources"]:
            assert set(resource) == {"uri", "digest", "size"}
            content, _ = read(peer, resource["uri"])
            assert (resource["digest"], resource["size"]) == (digest(content), len(content))
            place = tree / unquote(resource["uri"].removeprefix("skill://"))
            assert content == place.read_bytes()
    on_disk = {str(path.relative_to(tree)) for path in (tree / "bytes").rglob("*") if path.is_file()}
    listed = entries["skill://bytes/SKILL.md"]["resources"]
    assert {unquote(each["uri"].removeprefix("skill://")) for each in listed} == on_disk


@pytest.mark.rule("S11")
def test_pages_hold_whole_entries_and_every_skill_once(peer: Peer) -> None:
    pages = list(peer.pages("skills/list", "skills"))
    uris = [entry["uri"] for page in pages for entry in page]
    assert len(pages) > 1
    assert len(uris) == len(set(uris))
    assert sum("/many/" in uri for uri in uris) == MANY
    assert all(entry["resources"] for page in pages for entry in page)


@pytest.mark.rule("S11", "S15")
def test_unknown_and_foreign_cursors_are_refused(peer: Peer) -> None:
    own = peer.result("skills/list")["nextCursor"]
    wrong: list[Any] = ["", "0", "x" * 50, own + "A", own[:-2], 5, {}]
    asked: list[tuple[str, dict[str, Any]]] = [
        *[("skills/list", {"cursor": cursor}) for cursor in wrong],
        ("resources/list", {"cursor": own}),
        ("resources/directory/read", {"uri": "skill://many", "cursor": own}),
        ("resources/directory/read", {"uri": REFUNDS, "cursor": "nonsense"}),
    ]
    for method, params in asked:
        assert (method, params, peer.error(method, params)["code"]) == (method, params, INVALID_PARAMS)


@pytest.mark.rule("S12")
def test_freshness_is_sent_on_the_newest_version_only(peer: Peer) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("skills/list", {}),
        ("skills/get", {"uri": f"{REFUNDS}/SKILL.md"}),
        ("resources/directory/read", {"uri": REFUNDS}),
    ]
    for method, params in asked:
        result = peer.result(method, params)
        told = {key: result[key] for key in FRESHNESS if key in result}
        wanted = {"resultType": "complete", "ttlMs": 5000, "cacheScope": "public"} if peer.modern else {}
        assert (method, told) == (method, wanted)


@pytest.mark.rule("S12")
def test_a_token_makes_answers_private_and_static_long(tree: Path, somebody: Person) -> None:
    arguments = (tree, NO_CONFIG, "--static", "--http", "0", "--token-env", "TOKEN")
    with (
        HttpService(somebody, *arguments, variables={"TOKEN": "t0ken"}) as guarded,
        HttpPeer(MODERN, guarded.url, "t0ken") as allowed,
        HttpPeer(MODERN, guarded.url) as stranger,
    ):
        result = allowed.result("skills/list")
        assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "private")
        message = stranger.message("skills/list")
        refused = stranger.post(json.dumps(message).encode(), stranger.headers(message))
        assert refused.status == 401
        assert b"skill://" not in refused.body


@pytest.mark.rule("S13")
def test_get_returns_the_listed_entry_of_every_skill(peer: Peer) -> None:
    for uri, entry in list(peer.skills().items())[:20]:
        assert peer.result("skills/get", {"uri": uri})["skill"] == entry


@pytest.mark.rule("S13")
def test_get_of_no_skill_names_the_uri(peer: Peer) -> None:
    for uri in (
        "skill://nobody/SKILL.md",
        REFUNDS,
        f"{REFUNDS}/references/policy.md",
        "",
        "file:///etc/passwd",
    ):
        error = peer.error("skills/get", {"uri": uri})
        assert (error["code"], uri in error["message"]) == (INVALID_PARAMS, True)


@pytest.mark.rule("S13")
def test_a_served_skill_answers_though_it_is_unlisted(tmp_path: Path, person: Person) -> None:
    write_skill(tmp_path / "tree", "good")
    document = skill_md("unlisted", "license: [MIT]\n")  # strict clients would refuse the whole list
    write(tmp_path / "tree", {"unlisted/SKILL.md": document})
    with StdioPeer(MODERN, person, "serve", tmp_path / "tree", NO_CONFIG) as peer:
        assert list(peer.skills()) == ["skill://good/SKILL.md"]
        entry = peer.result("skills/get", {"uri": "skill://unlisted/SKILL.md"})["skill"]
        assert entry["uri"] == "skill://unlisted/SKILL.md"
        assert entry["frontmatter"]["license"] == ["MIT"]
        assert {each["path"] for each in problems(peer)} == {"unlisted/SKILL.md"}
        assert read(peer, "skill://unlisted/SKILL.md")[0] == document


NOT_SERVED = (
    f"{REFUNDS}/nothing.md",
    f"{REFUNDS}/references/",
    f"{REFUNDS}/references",
    f"{REFUNDS}/../../../../../../etc/passwd",
    f"{REFUNDS}/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    f"{REFUNDS}/references/../SKILL.md",
    f"{REFUNDS}/references%2Fpolicy.md",
    f"{REFUNDS}/SKILL.md?x",
    f"{REFUNDS}/SKILL.md#x",
    f"{REFUNDS}/SKILL.md%00",
    "skill://localhost/etc/passwd",
    "skill:///etc/passwd",
    "skill://broken/SKILL.md",
    "SKILL://acme/billing/refunds/SKILL.md",
    "file:///etc/passwd",
    "/etc/passwd",
    "",
    "\0",
)


@pytest.mark.rule("S14")
def test_what_is_not_served_cannot_be_read(peer: Peer) -> None:
    for uri in NOT_SERVED:
        assert (uri, peer.error("resources/read", {"uri": uri})["code"]) == (uri, INVALID_PARAMS)
    assert read(peer, f"{REFUNDS}/references/policy.md")[0] == b"# Policy\n"


@pytest.mark.rule("S14")
def test_trouble_with_a_file_is_an_internal_error(tmp_path: Path, person: Person) -> None:
    """The folder is gone, and the list is static: the file is still served, and cannot be had."""
    tree = tmp_path / "tree"
    write_skill(tree, "gone", {"a.md": "a"})
    with StdioPeer(MODERN, person, "serve", tree, NO_CONFIG, "--static") as peer:
        assert read(peer, "skill://gone/a.md")[0] == b"a"
        tree.rename(tmp_path / "elsewhere")
        error = peer.error("resources/read", {"uri": "skill://gone/a.md"})
        assert error["code"] == -32603
        assert str(tmp_path) not in json.dumps(error)
        (tmp_path / "elsewhere").rename(tree)
        assert read(peer, "skill://gone/a.md")[0] == b"a"


@pytest.mark.rule("S15")
def test_a_directory_lists_its_direct_children(peer: Peer) -> None:
    result = peer.result("resources/directory/read", {"uri": REFUNDS})
    children = {child["name"]: (child["uri"], child["mimeType"]) for child in result["resources"]}
    assert children == {
        "refunds": (f"{REFUNDS}/SKILL.md", "text/markdown"),
        "references": (f"{REFUNDS}/references", "inode/directory"),
    }
    empty = peer.result("resources/directory/read", {"uri": f"{REFUNDS}/references/empty"})
    assert empty["resources"] == []


@pytest.mark.rule("S15")
def test_every_level_of_every_skill_is_a_directory(peer: Peer) -> None:
    found: set[str] = set()
    waiting = ["skill://acme", "skill://bytes", "skill://outer", "skill://twins", "skill://verbatim"]
    while waiting:
        folder = waiting.pop()
        for child in peer.items("resources/directory/read", "resources", {"uri": folder}):
            assert child["uri"].startswith(f"{folder}/")
            assert "/" not in child["uri"].removeprefix(f"{folder}/")
            directory = child["mimeType"] == "inode/directory"
            if directory:
                assert child["name"] == unquote(child["uri"].rpartition("/")[2])
            (waiting.append if directory else found.add)(child["uri"])
    owned = ("skill://acme", "skill://bytes", "skill://outer", "skill://twins", "skill://verbatim")
    entries = [entry for uri, entry in peer.skills().items() if uri.startswith(owned)]
    assert found == {each["uri"] for entry in entries for each in entry["resources"]}


@pytest.mark.rule("S15")
def test_what_is_no_directory_is_refused(peer: Peer) -> None:
    for uri in (
        f"{REFUNDS}/SKILL.md",
        f"{REFUNDS}/nothing",
        "skill://",
        f"{REFUNDS}/",
        "file:///etc",
        "x",
        "",
    ):
        error = peer.error("resources/directory/read", {"uri": uri})
        assert (uri, error["code"]) == (uri, INVALID_PARAMS)


@pytest.mark.rule("S8", "S16")
def test_nested_skills_are_listed_twice(peer: Peer) -> None:
    entries = peer.skills()
    outer = {each["uri"] for each in entries["skill://outer/SKILL.md"]["resources"]}
    inner = {each["uri"] for each in entries["skill://outer/inner/SKILL.md"]["resources"]}
    assert inner == {"skill://outer/inner/SKILL.md", "skill://outer/inner/help.md"}
    assert outer == {"skill://outer/SKILL.md", "skill://outer/notes.md"} | inner


@pytest.mark.rule("S17")
def test_skills_that_share_a_name_are_both_served(peer: Peer) -> None:
    twins = ["skill://twins/one/twin/SKILL.md", "skill://twins/two/twin/SKILL.md"]
    assert [uri for uri in peer.skills() if uri.startswith("skill://twins/")] == twins
    told = {each["path"]: each["severity"] for each in problems(peer) if each["path"].startswith("twins/")}
    assert told == {"twins/one/twin/SKILL.md": "warning", "twins/two/twin/SKILL.md": "warning"}


@pytest.mark.rule("S18")
def test_reserved_method_names_are_not_taken_over(peer: Peer) -> None:
    for method in ("skills/read", "skills/", "skills/list/all"):
        assert peer.error(method, {})["code"] == -32601


@pytest.mark.rule("S20")
def test_instructions_point_at_skill_uris(peer: Peer) -> None:
    assert f"{REFUNDS}/SKILL.md" in peer.handshake["instructions"]


@pytest.mark.rule("S10")
def test_a_skill_at_the_limits_is_served_one_above_not(tmp_path: Path, person: Person) -> None:
    document = len(skill_md("full-bytes"))
    for number in range(511):
        write(tmp_path, {f"tree/full-files/{number}": b""})
    write_skill(tmp_path / "tree", "full-files")
    write_skill(tmp_path / "tree", "over-files", {f"{number}": b"" for number in range(512)})
    write_skill(tmp_path / "tree", "full-bytes", {"rest": bytes(16_777_216 - document)})
    write_skill(tmp_path / "tree", "over-bytes", {"rest": bytes(16_777_217 - document)})
    done = person.run("check", tmp_path / "tree", "--json")
    assert done.code == 1
    errors = {each["path"].split("/")[0]: each for each in done.json if each["severity"] == "error"}
    assert set(errors) == {"over-files", "over-bytes"}
    assert "512" in errors["over-files"]["message"]
    assert any(limit in errors["over-bytes"]["message"] for limit in ("16 MiB", "16,777,216"))
    listed = person.run("list", tmp_path / "tree", "--json").json
    assert {each["name"] for each in listed} == {"full-files", "full-bytes"}


@pytest.mark.rule("S10")
def test_an_operator_may_move_the_limits(tmp_path: Path, person: Person) -> None:
    write_skill(tmp_path / "tree", "one", {"a.md": "a", "b.md": "b"})

    def names(**variables: str) -> list[str]:
        done = person.run("list", tmp_path / "tree", "--json", variables=variables)
        return [each["name"] for each in done.json]

    assert names(**{LIMITS["files"]: "3"}) == ["one"]
    assert names(**{LIMITS["files"]: "2"}) == []
    assert names(**{LIMITS["bytes"]: "50"}) == []


@pytest.mark.rule("S19")
@pytest.mark.parametrize("version", VERSIONS[:2])
def test_an_edit_is_never_served_under_an_old_digest(tmp_path: Path, person: Person, version: str) -> None:
    folder = write_skill(tmp_path / "tree", "one", {"a.md": "first"})
    uri = "skill://one/a.md"
    with (
        HttpService(person, tmp_path / "tree", NO_CONFIG, "--http", "0") as service,
        HttpPeer(version, service.url) as web,
        StdioPeer(version, person, "serve", tmp_path / "tree", NO_CONFIG) as pipes,
    ):
        for content in (b"first", b"second", b"third", b"3rd", b""):
            (folder / "a.md").write_bytes(content)
            for peer in (web, pipes):
                assert read(peer, uri)[0] == content
                entry = peer.result("skills/get", {"uri": "skill://one/SKILL.md"})["skill"]
                listed = {each["uri"]: each for each in entry["resources"]}[uri]
                assert (listed["digest"], listed["size"]) == (digest(content), len(content))
                assert peer.skills()["skill://one/SKILL.md"] == entry


@pytest.mark.rule("S19")
def test_reads_agree_with_lists_while_files_change(tmp_path: Path, person: Person) -> None:
    """Each read has a digest that was listed right before or right after it, however the file moves."""
    folder = write_skill(tmp_path / "tree", "one", {"a.md": "0"})
    uri, skill = "skill://one/a.md", "skill://one/SKILL.md"
    with StdioPeer(MODERN, person, "serve", tmp_path / "tree", NO_CONFIG) as peer:

        def listed() -> str:
            entry = peer.result("skills/get", {"uri": skill})["skill"]
            return {each["uri"]: each["digest"] for each in entry["resources"]}[uri]

        for number in range(40):
            before = listed()
            (folder / "a.md").write_bytes(b"x" * (number % 3) + str(number).encode())
            content = read(peer, uri)[0]
            assert digest(content) in {before, listed()}


@pytest.mark.rule("S13", "S19")
def test_added_and_removed_skills_are_announced(tmp_path: Path, person: Person) -> None:
    write_skill(tmp_path / "tree", "one")
    with StdioPeer("2025-11-25", person, "serve", tmp_path / "tree", NO_CONFIG) as peer:
        assert list(peer.skills()) == ["skill://one/SKILL.md"]
        (tmp_path / "two").mkdir()
        (write_skill(tmp_path, "two")).rename(tmp_path / "tree/two")
        peer.await_notification("notifications/resources/list_changed")
        assert list(peer.skills()) == ["skill://one/SKILL.md", "skill://two/SKILL.md"]
        (tmp_path / "tree/one").rename(tmp_path / "one")
        eventually(lambda: list(peer.skills()) == ["skill://two/SKILL.md"])
        assert peer.error("resources/read", {"uri": "skill://one/SKILL.md"})["code"] == INVALID_PARAMS
        assert peer.error("skills/get", {"uri": "skill://one/SKILL.md"})["code"] == INVALID_PARAMS


@pytest.mark.rule("S2")
def test_early_drafts_can_be_left_out(tree: Path, somebody: Person) -> None:
    with StdioPeer(MODERN, somebody, "serve", tree, NO_CONFIG, NO_DRAFTS) as peer:
        assert peer.error("resources/read", {"uri": "skill://index.json"})["code"] == INVALID_PARAMS
        assert peer.result("skills/list")["skills"]
