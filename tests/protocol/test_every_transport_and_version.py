"""The same answers over stdio and HTTP, on every protocol version: the rules of the server side."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.conftest import MANY
from tests.support.peers import HttpPeer, Peer
from tests.support.skills import skill_md

EXTENSION = "io.modelcontextprotocol/skills"
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
REFUNDS = "skill://acme/billing/refunds"
RESERVED_META = {"io.modelcontextprotocol.skills/io.modelcontextprotocol/future": "kept"}
"""What an author's reserved key becomes: his own words, where they mean nothing to anybody."""


def all_pages(peer: Peer, method: str, key: str, params: dict[str, Any] | None = None) -> Iterator[list[Any]]:
    cursor: dict[str, str] = {}
    for _ in range(50):
        result = peer.result(method, {**(params or {}), **cursor})
        yield result[key]
        if "nextCursor" not in result:
            return
        cursor = {"cursor": result["nextCursor"]}
    pytest.fail("the list does not end")


def all_items(peer: Peer, method: str, key: str, params: dict[str, Any] | None = None) -> list[Any]:
    return [item for page in all_pages(peer, method, key, params) for item in page]


def skills(peer: Peer) -> dict[str, Any]:
    return {entry["uri"]: entry for entry in all_items(peer, "skills/list", "skills")}


def documents(peer: Peer) -> list[str]:
    uris = [each["uri"] for each in all_items(peer, "resources/list", "resources")]
    return [uri for uri in uris if uri.endswith("/SKILL.md")]


def read(peer: Peer, uri: str) -> tuple[bytes, dict[str, Any]]:
    (content,) = peer.result("resources/read", {"uri": uri})["contents"]
    assert content["uri"] == uri
    assert ("text" in content) != ("blob" in content)
    raw = content["text"].encode() if "text" in content else base64.b64decode(content["blob"], validate=True)
    return raw, content


@pytest.mark.rule("S1")
def test_the_extension_is_declared_beside_the_resources_capability(peer: Peer) -> None:
    capabilities = peer.capabilities()
    assert capabilities["extensions"] == {EXTENSION: {"directoryRead": True}, "dev.skillwire/search": {}}
    assert "resources" in capabilities


@pytest.mark.rule("S2", "S3")
def test_every_declared_method_answers_a_client_that_declared_nothing(peer: Peer) -> None:
    assert peer.result("skills/list")["skills"]
    assert peer.result("skills/get", {"uri": f"{REFUNDS}/SKILL.md"})["skill"]
    assert peer.result("resources/directory/read", {"uri": REFUNDS})["resources"]
    assert peer.result("resources/list")["resources"]
    assert peer.result("resources/templates/list")["resourceTemplates"]
    assert peer.result("tools/list")["tools"]
    assert peer.result("tools/call", {"name": "load-skill", "arguments": {"name": ""}})["content"]
    assert peer.result("prompts/list")["prompts"]
    assert peer.result("prompts/get", {"name": "refunds"})["messages"]
    reference = {"ref": {"type": "ref/prompt", "name": "skill"}, "argument": {"name": "name", "value": ""}}
    assert peer.result("completion/complete", reference)["completion"]["values"]
    assert peer.result("ping") is not None if not peer.modern else True


@pytest.mark.rule("S4", "S5", "S7")
def test_uri_is_percent_encoded_path_ending_in_name(peer: Peer) -> None:
    for uri, entry in skills(peer).items():
        path = uri.removeprefix("skill://").removesuffix("/SKILL.md")
        assert path.split("/")[-1] == entry["frontmatter"]["name"]
        assert not path.endswith("/")
        for resource in entry["resources"]:
            assert resource["uri"] == quote(unquote(resource["uri"]), safe=":/!$&'()*+,;=@")
    listed = {resource["uri"] for resource in skills(peer)["skill://bytes/SKILL.md"]["resources"]}
    assert "skill://bytes/with%20space%20&%20100%25.md" in listed
    assert "skill://bytes/%C3%BCn%C3%AFcode/na%C3%AFve.md" in listed


@pytest.mark.rule("S6")
@pytest.mark.parametrize(
    ("path", "mime_type", "is_text"),
    [
        ("SKILL.md", "text/markdown", True),
        ("scripts/run.ts", "text/typescript", True),
        ("data/text", "text/plain", True),
        ("data/empty.txt", "text/plain", True),
        ("data/latin1.txt", "text/plain", False),
        ("data/zero.txt", "text/plain", False),
        ("data/blob.bin", "application/octet-stream", False),
    ],
)
def test_files_have_a_type_and_are_text_or_blob(
    peer: Peer, path: str, mime_type: str, *, is_text: bool
) -> None:
    _, content = read(peer, f"skill://bytes/{path}")
    assert content["mimeType"] == mime_type
    assert ("text" in content) is is_text


@pytest.mark.rule("S6")
def test_listed_skill_has_frontmatter_name_and_prefixed_meta(peer: Peer) -> None:
    resources = {resource["uri"]: resource for resource in all_items(peer, "resources/list", "resources")}
    refunds = resources[f"{REFUNDS}/SKILL.md"]
    assert (refunds["name"], refunds["mimeType"]) == ("refunds", "text/markdown")
    assert refunds["description"] == "Does one thing. Use when it is needed."
    metas = {uri: resource["_meta"] for uri, resource in resources.items() if "_meta" in resource}
    assert metas == {"skill://reserved/SKILL.md": RESERVED_META}


@pytest.mark.rule("S7")
def test_the_frontmatter_is_verbatim_and_read_as_yaml_1_2(peer: Peer) -> None:
    assert skills(peer)["skill://verbatim/SKILL.md"]["frontmatter"] == {
        "name": "verbatim",
        "description": "All fields.",
        "version": 755,
        "when": "12:30:45",
        "flag": "yes",
        "day": "2026-01-02",
        "nested": {"a": [1, 2.5, None], "b": {"c": True}},
    }


@pytest.mark.rule("S8")
def test_bytes_match_listed_digest_and_size(peer: Peer) -> None:
    for uri, entry in skills(peer).items():
        if uri.startswith("skill://many/"):
            continue
        listed = [resource["uri"] for resource in entry["resources"]]
        assert len(listed) == len(set(listed))
        assert uri in listed
        for resource in entry["resources"]:
            raw, _ = read(peer, resource["uri"])
            assert resource["size"] == len(raw)
            assert resource["digest"] == "sha256:" + hashlib.sha256(raw).hexdigest()


@pytest.mark.rule("S8")
def test_bom_and_line_ends_come_back_as_they_are(peer: Peer) -> None:
    raw, _ = read(peer, "skill://bytes/SKILL.md")
    assert raw.startswith(b"\xef\xbb\xbf---\r\nname: bytes\r\n")
    assert read(peer, "skill://bytes/data/blob.bin")[0] == bytes(range(256))
    assert read(peer, "skill://bytes/data/empty.txt")[0] == b""


@pytest.mark.rule("S11")
def test_pages_have_100_entries_and_every_skill_once(peer: Peer) -> None:
    pages = list(all_pages(peer, "skills/list", "skills"))
    uris = [entry["uri"] for page in pages for entry in page]
    assert [len(page) for page in pages[:-1]] == [100] * (len(pages) - 1)
    assert len(uris) == len(set(uris))
    assert sum(uri.startswith("skill://many/") for uri in uris) == MANY
    assert all(entry["resources"] and entry["frontmatter"] for page in pages for entry in page)


@pytest.mark.rule("S11")
@pytest.mark.parametrize(
    "method", ["skills/list", "resources/list", "resources/templates/list", "tools/list", "prompts/list"]
)
@pytest.mark.parametrize(
    "cursor", ["", "nonsense", "ÿ", "c2tpbGxzL2xpc3QAc2tpbGw6Ly9nb25lL1NLSUxMLm1k", "A" * 5000]
)
def test_a_cursor_that_was_never_given_out_is_refused(peer: Peer, method: str, cursor: str) -> None:
    assert peer.error(method, {"cursor": cursor})["code"] == INVALID_PARAMS


@pytest.mark.rule("S11")
def test_a_cursor_of_another_list_is_refused(peer: Peer) -> None:
    cursor = peer.result("skills/list")["nextCursor"]
    assert peer.error("resources/list", {"cursor": cursor})["code"] == INVALID_PARAMS
    assert (
        peer.error("resources/directory/read", {"uri": "skill://many", "cursor": cursor})["code"]
        == INVALID_PARAMS
    )


@pytest.mark.rule("S12")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("skills/list", {}),
        ("skills/get", {"uri": f"{REFUNDS}/SKILL.md"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": f"{REFUNDS}/SKILL.md"}),
        ("tools/list", {}),
        ("prompts/list", {}),
    ],
)
def test_results_have_cache_fields_only_where_required(
    peer: Peer, method: str, params: dict[str, Any]
) -> None:
    result = peer.result(method, params)
    envelope = {key: result.get(key) for key in ("resultType", "ttlMs", "cacheScope")}
    if peer.modern:
        assert envelope == {"resultType": "complete", "ttlMs": 5000, "cacheScope": "public"}
    else:
        assert envelope == {"resultType": None, "ttlMs": None, "cacheScope": None}


@pytest.mark.rule("S13")
def test_get_returns_the_entry_of_the_list_for_every_skill(peer: Peer) -> None:
    for uri, entry in skills(peer).items():
        if uri.startswith("skill://many/") and not uri.endswith("00/SKILL.md"):
            continue
        result = peer.result("skills/get", {"uri": uri})
        assert result["skill"] == entry
        assert "nextCursor" not in result


@pytest.mark.rule("S13")
@pytest.mark.parametrize(
    "uri",
    [
        "skill://no-such-skill/SKILL.md",
        REFUNDS,
        f"{REFUNDS}/references/policy.md",
        "skill://broken/SKILL.md",
        "",
        "not a uri",
    ],
)
def test_get_of_what_is_no_skill_names_the_uri(peer: Peer, uri: str) -> None:
    error = peer.error("skills/get", {"uri": uri})
    assert error["code"] == INVALID_PARAMS
    assert f"`{uri}`" in error["message"]


@pytest.mark.rule("S14")
@pytest.mark.parametrize(
    "uri",
    [
        "skill://acme/billing/refunds/nothing.md",
        "skill://acme/billing/refunds/../refunds/SKILL.md",
        "skill://acme/billing/refunds/%2e%2e/refunds/SKILL.md",
        "skill://acme/billing/refunds/SKILL.md%00",
        "SKILL://acme/billing/refunds/SKILL.md",
        "Skill://acme/billing/refunds/SKILL.md",
        "skill://acme/billing/refunds/SKILL.md/",
        "skill://acme/billing/refunds/skill.md",
        "skill:///etc/passwd",
        "file:///etc/passwd",
        "skill://" + "a" * 1_000_000,
    ],
    ids=lambda uri: uri[:60],
)
def test_reading_unknown_uri_fails_and_next_request_works(peer: Peer, uri: str) -> None:
    error = peer.error("resources/read", {"uri": uri})
    assert error["code"] == INVALID_PARAMS
    assert len(error["message"]) < 400
    assert read(peer, f"{REFUNDS}/SKILL.md")[0] == skill_md("refunds")


@pytest.mark.rule("S14")
@pytest.mark.parametrize("method", ["resources/read", "skills/get", "resources/directory/read"])
@pytest.mark.parametrize("params", [{}, {"uri": 5}, {"uri": None}, {"uri": ["a"]}, {"uri": {"a": 1}}])
def test_parameters_of_the_wrong_shape_are_refused(peer: Peer, method: str, params: dict[str, Any]) -> None:
    codes = {INVALID_PARAMS}
    if isinstance(peer, HttpPeer) and peer.modern and method == "resources/read":
        codes.add(HEADER_MISMATCH)  # the SDK compares the URI with a header before anybody looks at it
    assert peer.error(method, params)["code"] in codes


@pytest.mark.rule("S15")
def test_a_directory_lists_its_direct_children_and_no_more(peer: Peer) -> None:
    children = {
        c["uri"]: c for c in all_items(peer, "resources/directory/read", "resources", {"uri": REFUNDS})
    }
    assert set(children) == {f"{REFUNDS}/SKILL.md", f"{REFUNDS}/references"}
    assert children[f"{REFUNDS}/references"] == {
        "uri": f"{REFUNDS}/references",
        "name": "references",
        "mimeType": "inode/directory",
    }
    assert children[f"{REFUNDS}/SKILL.md"]["mimeType"] == "text/markdown"


@pytest.mark.rule("S15")
def test_every_level_of_the_namespace_is_a_directory(peer: Peer) -> None:
    assert peer.result("resources/directory/read", {"uri": "skill://acme"})["resources"] == [
        {"uri": "skill://acme/billing", "name": "billing", "mimeType": "inode/directory"}
    ]
    assert peer.result("resources/directory/read", {"uri": f"{REFUNDS}/references/empty"})["resources"] == []
    names = [
        c["name"] for c in peer.result("resources/directory/read", {"uri": "skill://bytes"})["resources"]
    ]
    assert "ünïcode" in names
    pages = list(all_pages(peer, "resources/directory/read", "resources", {"uri": "skill://many"}))
    assert [len(page) for page in pages] == [100, 100, MANY - 200]


@pytest.mark.rule("S15")
@pytest.mark.parametrize(
    "uri", ["skill://", "skill://gone", f"{REFUNDS}/SKILL.md", f"{REFUNDS}/", "skill://acme/", "file:///"]
)
def test_what_is_no_directory_cannot_be_listed(peer: Peer, uri: str) -> None:
    assert peer.error("resources/directory/read", {"uri": uri})["code"] == INVALID_PARAMS


@pytest.mark.rule("S12", "S15")
def test_a_directory_read_says_how_long_it_stays_fresh(peer: Peer) -> None:
    result = peer.result("resources/directory/read", {"uri": REFUNDS})
    envelope = {key: result.get(key) for key in ("resultType", "ttlMs", "cacheScope")}
    fresh = {"resultType": "complete", "ttlMs": 5000, "cacheScope": "public"}
    assert envelope == (fresh if peer.modern else dict.fromkeys(fresh))


@pytest.mark.rule("S16", "S8")
def test_nested_skill_is_listed_and_part_of_outer_skill(peer: Peer) -> None:
    listed = skills(peer)
    inner = {resource["uri"]: resource for resource in listed["skill://outer/inner/SKILL.md"]["resources"]}
    outer = {resource["uri"]: resource for resource in listed["skill://outer/SKILL.md"]["resources"]}
    assert set(inner) == {"skill://outer/inner/SKILL.md", "skill://outer/inner/help.md"}
    assert inner.items() <= outer.items()
    children = peer.result("resources/directory/read", {"uri": "skill://outer/inner"})["resources"]
    assert {child["name"] for child in children} == {"inner", "help.md"}


@pytest.mark.rule("S17")
def test_two_skills_of_one_name_are_both_served(peer: Peer) -> None:
    listed = skills(peer)
    assert {"skill://twins/one/twin/SKILL.md", "skill://twins/two/twin/SKILL.md"} <= set(listed)


@pytest.mark.rule("S18")
def test_reserved_metadata_passes_through(peer: Peer) -> None:
    metadata = skills(peer)["skill://reserved/SKILL.md"]["frontmatter"]["metadata"]
    assert metadata == {"io.modelcontextprotocol/future": "kept"}


@pytest.mark.rule("S6", "S18")
def test_metadata_rides_along_on_listings_reads_tool_results_and_prompts(peer: Peer) -> None:
    uri = "skill://reserved/SKILL.md"
    (content,) = peer.result("resources/read", {"uri": uri})["contents"]
    called = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "reserved"}})
    (message,) = peer.result("prompts/get", {"name": "reserved"})["messages"]
    prompts = {prompt["name"]: prompt for prompt in all_items(peer, "prompts/list", "prompts")}
    resources = peer.result("resources/directory/read", {"uri": "skill://reserved"})["resources"]
    for carrier in (content, message["content"]["resource"], prompts["reserved"], resources[0]):
        assert carrier["_meta"] == RESERVED_META
    assert called["_meta"].items() >= RESERVED_META.items()  # beside what the SDK says of the server
    assert "io.modelcontextprotocol/future" not in called["_meta"]


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
def test_arguments_that_are_no_object_are_a_protocol_error(peer: Peer, method: str) -> None:
    name = {"tools/call": "load-skill", "prompts/get": "skill"}[method]
    for arguments in ("refunds", ["refunds"], 5):
        assert peer.error(method, {"name": name, "arguments": arguments})["code"] == INVALID_PARAMS


def test_prompt_and_tool_send_same_document(peer: Peer) -> None:
    for_the_model = {"audience": ["assistant"], "priority": 1.0}
    text = skill_md("refunds").decode()
    prompt = peer.result("prompts/get", {"name": "refunds"})
    assert prompt["messages"] == [
        {
            "role": "user",
            "content": {
                "type": "resource",
                "resource": {"uri": f"{REFUNDS}/SKILL.md", "mimeType": "text/markdown", "text": text},
                "annotations": for_the_model,
            },
        }
    ]
    called = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "refunds"}})
    meta = {"dev.skillwire/uri": f"{REFUNDS}/SKILL.md"}
    assert called["content"] == [{"type": "text", "text": text, "annotations": for_the_model, "_meta": meta}]
    assert called["isError"] is False


def test_handshake_has_catalog_within_its_budget(peer: Peer) -> None:
    text = peer.handshake["instructions"]
    assert f"<location>{REFUNDS}/SKILL.md</location>" in text
    assert "more skills are not shown here" in text
    assert len(text) < 4 * 4000 + 1500


def test_unknown_tool_is_protocol_error_unknown_skill_is_tool_error(peer: Peer) -> None:
    assert peer.error("tools/call", {"name": "no-such-tool", "arguments": {}})["code"] == INVALID_PARAMS
    result = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "refnuds"}})
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("there is no skill `refnuds`; did you mean `refunds`")


def test_prompt_pages_have_100_entries_and_every_skill_once(peer: Peer) -> None:
    pages = list(all_pages(peer, "prompts/list", "prompts"))
    names = [prompt["name"] for page in pages for prompt in page]
    assert [len(page) for page in pages[:-1]] == [100] * (len(pages) - 1)
    assert names[0] == "skill"
    assert len(names) == len(set(names)) == 1 + len(documents(peer))
    assert {"twins/one/twin", "twins/two/twin"} <= set(names)


def test_broken_skills_are_shown_in_a_resource_of_their_own(peer: Peer) -> None:
    resources = all_items(peer, "resources/list", "resources")
    assert [each["uri"] for each in resources[-2:]] == ["skillwire://problems", "skill://index.json"]
    raw, _ = read(peer, "skillwire://problems")
    assert b'"path": "broken/SKILL.md"' in raw
    assert b'"rule": "name-format"' in raw
    assert b'"rule": "name-shared"' in raw
    assert b'"rule": "metadata-reserved"' in raw
