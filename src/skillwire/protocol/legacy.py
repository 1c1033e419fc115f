"""Parse skills from servers without an index, using `resources/list` and FastMCP manifests."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import quote, unquote

import orjson

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.core.names import SCHEME, SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Json, Limits
from skillwire.frontmatter.document import read_document
from skillwire.protocol.claims import (
    DeliveryClaim,
    Dialect,
    FileClaim,
    SkillClaim,
    check_files,
    frontmatter_faults,
    is_object,
    is_uri_text,
    name_faults,
    parse_file,
    path_fault,
    uri_faults,
)
from skillwire.protocol.drafts import INDEX_URI
from skillwire.protocol.findings import server_problem
from skillwire.protocol.messages import MANIFEST
from skillwire.safe_text import quoted

_MAX_VALUES = 20_000
"""Maximum number of JSON values in one manifest."""
_OLD_URI = re.compile(r"skill://([^/?#]+)")


def read_manifest(
    uri: str, content: bytes, known: Mapping[str, Json], limits: Limits
) -> SkillClaim | list[Problem]:
    """Return the skill whose manifest is at `uri`, or all its problems. Never raises.

    `known` contains the frontmatter fields that are known without the manifest.
    """
    root = uri.removesuffix(f"/{MANIFEST}")
    main = f"{root}/{SKILL_FILE}"
    try:
        document = load_bounded_json(content, max_values=_MAX_VALUES)
    except JsonTooLargeError as error:
        return [server_problem(uri, Rule.ENTRY_LIMITS, str(error))]
    except orjson.JSONDecodeError as error:
        return [server_problem(uri, Rule.ENTRY_SHAPE, f"it is not JSON: {error}")]
    listed: object = document.get("files") if is_object(document) else None
    if not is_object(document) or not isinstance(listed, list):
        return [server_problem(uri, Rule.ENTRY_SHAPE, "it has no list `files`")]
    items = cast("list[object]", listed)
    found = [*uri_faults(main), *name_faults(main, document.get("skill"))]
    files = check_files(main, (_file(root, item) for item in items), len(items), limits)
    if found or isinstance(files, list):
        return [*found, *(files if isinstance(files, list) else ())]
    return SkillClaim(main, {**known, "name": str(document["skill"])}, files, Dialect.MANIFEST)


def read_unlisted(uri: str, content: bytes, dialect: Dialect) -> SkillClaim | list[Problem]:
    """Return the skill whose `SKILL.md` was read from `uri`, or all its problems. Never raises.

    Only the frontmatter is known. No digest covers the skill's files, so an approval lasts for one session.
    """
    read = read_document(content, uri, None)
    if read.frontmatter is None:
        message = f"its frontmatter cannot be read: {read.problems[0].message}"
        return [server_problem(uri, Rule.FRONTMATTER, message)]
    found = [*uri_faults(uri), *frontmatter_faults(uri, read.frontmatter)]
    return found or SkillClaim(uri, read.frontmatter, None, dialect, (DeliveryClaim(uri),))


def _file(root: str, item: object) -> FileClaim | Problem:
    main = f"{root}/{SKILL_FILE}"
    path = item.get("path") if is_object(item) else None
    if not is_object(item) or not isinstance(path, str):
        return server_problem(main, Rule.ENTRY_RESOURCES, "a file of its manifest has no `path`")
    if fault := path_fault(path):  # checked again after it is encoded
        return server_problem(main, Rule.ENTRY_RESOURCES, f"the file {quoted(path)} {fault}")
    try:
        address = f"{root}/{quote(path)}"  # encoded as in FastMCP, which accepts no other form
    except UnicodeEncodeError:
        return server_problem(
            main, Rule.ENTRY_RESOURCES, f"the file {quoted(path)} contains a lone surrogate"
        )
    return parse_file(main, address, item.get("hash"), item.get("size"))


@dataclass(slots=True)
class ListedResources:
    """The URIs of listed resources that may belong to skills, and the descriptions of all but manifests."""

    manifests: list[str] = field(default_factory=list[str])
    documents: dict[str, str | None] = field(default_factory=dict[str, str | None])
    old_uris: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def add(self, resource: object) -> None:
        """Store a resource if it may belong to a skill."""
        if not is_object(resource) or not is_uri_text(uri := resource.get("uri")):
            return
        description = resource.get("description")
        text = description if isinstance(description, str) else None
        if uri.endswith(f"/{MANIFEST}"):
            self.manifests.append(uri)
        elif uri.startswith(SCHEME) and uri.endswith(f"/{SKILL_FILE}"):
            self.documents.setdefault(uri, text)
        elif _OLD_URI.fullmatch(uri) and uri != INDEX_URI:
            self.old_uris.setdefault(uri, text)

    def known_frontmatter(self, document: str) -> dict[str, Json]:
        """Return the listed description of the `SKILL.md` at this URI as frontmatter; empty without one."""
        description = self.documents.get(document)
        return {} if description is None else {"description": description}

    def iter_scanned_skills(self) -> "Iterator[SkillClaim | list[Problem]]":
        """Yield a skill, or its problems, for each listed `SKILL.md`. Its name is taken from the URI."""
        for uri in self.documents:
            name = unquote(uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2])
            found = [*uri_faults(uri), *name_faults(uri, name)]
            frontmatter = {**self.known_frontmatter(uri), "name": name}
            yield found or SkillClaim(uri, frontmatter, None, Dialect.SCAN, (DeliveryClaim(uri),))

    def iter_old_uri_skills(self) -> "Iterator[SkillClaim | list[Problem]]":
        """Yield a skill, or its problems, for each `skill://name`, which is the URI of its `SKILL.md`."""
        for uri, description in self.old_uris.items():
            name, main = unquote(uri.removeprefix(SCHEME)), f"{uri}/{SKILL_FILE}"
            known: dict[str, Json] = {} if description is None else {"description": description}
            yield list(name_faults(main, name)) or SkillClaim(
                main, {**known, "name": name}, None, Dialect.OLD_URIS, (DeliveryClaim(uri),)
            )
