"""Servers that tell of skills in the words of earlier drafts, honest unless a test makes them lie."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack
from skillwire.sources import Digest
from tests.support.scripted import ScriptedServer, entry_of, files_of

INDEX = "skill://index.json"
ZIP = ArchiveFormat.ZIP
SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
FILES = files_of("good", {"references/a%20b.md": b"a", "logo.png": b"\x89PNG\x00"})
MAIN = "skill://good/SKILL.md"
ROOT = "skill://good"


def packed(form: ArchiveFormat, files: Mapping[str, bytes] = FILES) -> bytes:
    """Return the files of a skill, by their URIs, as an archive."""
    return pack({path_of(uri): content for uri, content in files.items()}, form)


def path_of(uri: str) -> str:
    return unquote(uri.removeprefix(f"{ROOT}/"))


def digest(content: bytes) -> str:
    return Digest.of(content).text


def draft_c(*more: Any) -> ScriptedServer:
    """Return a server of August 2026: no sizes."""
    entry = entry_of("good", FILES)
    for file in entry["resources"]:
        del file["size"]
    return ScriptedServer([entry, *more], FILES)


def entry_b(**changed: Any) -> dict[str, Any]:
    entry = {
        "url": MAIN,
        "digest": digest(FILES[MAIN]),
        "frontmatter": {"name": "good", "description": "Does good."},
    }
    return {key: value for key, value in {**entry, **changed}.items() if value is not None}


def archive_b(form: ArchiveFormat, content: bytes | None = None, **changed: Any) -> dict[str, Any]:
    made = packed(form) if content is None else content
    return {
        "url": f"{ROOT}{form.suffix}",
        "mimeType": form.mime_type,
        "digest": digest(made),
        **changed,
    }


def entry_a(**changed: Any) -> dict[str, Any]:
    entry = {"name": "good", "type": "skill-md", "description": "Does good.", "url": MAIN}
    return {key: value for key, value in {**entry, **changed}.items() if value is not None}


def archive_a(form: ArchiveFormat, content: bytes | None = None, **changed: Any) -> dict[str, Any]:
    made = packed(form) if content is None else content
    return entry_a(type="archive", url=f"{ROOT}{form.suffix}", digest=digest(made), **changed)


def index_of(*entries: Any) -> bytes:
    return json.dumps({"$schema": SCHEMA, "skills": list(entries)}).encode()


def indexed(*entries: Any, files: Mapping[str, bytes] = FILES) -> ScriptedServer:
    """Return a server of the spring of 2026: an index, and no method of its own."""
    archives = {f"{ROOT}{form.suffix}": packed(form) for form in ArchiveFormat}
    return ScriptedServer(files={INDEX: index_of(*entries), **archives, **files}, declared=None)


def manifest(skill: str = "good", files: Mapping[str, bytes] = FILES, **changed: Any) -> bytes:
    listed = [
        {"path": path_of(uri), "size": len(content), "hash": digest(content)}
        for uri, content in files.items()
    ]
    return json.dumps({"skill": skill, "files": listed, **changed}).encode()


def with_manifests(content: bytes | None = None, *more: str) -> ScriptedServer:
    """Return a server as FastMCP makes it without the extension."""
    uri = f"{ROOT}/_manifest"
    return ScriptedServer(
        files={**FILES, uri: manifest() if content is None else content},
        resources=[resource(MAIN, "Does good."), resource(uri), *(resource(each) for each in more)],
        declared=None,
    )


def scanned(resources: Sequence[Any] | None = None) -> ScriptedServer:
    """Return a server that lists documents, and nothing about them."""
    listed = [resource(MAIN, "Does good."), resource("docs://readme")]
    return ScriptedServer(files=FILES, resources=listed if resources is None else resources, declared=None)


def resource(uri: str, description: str | None = None) -> dict[str, Any]:
    told = {} if description is None else {"description": description}
    return {"uri": uri, "name": uri.rpartition("/")[2] or uri, **told}
