"""What `resources/list` shows of skills where there is no index: addresses, and descriptions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from skillwire.model.entry import Json
from skillwire.model.uri import SCHEME, SKILL_FILE
from skillwire.wire.dialect import Dialect
from skillwire.wire.drafts import INDEX_URI
from skillwire.wire.entry_rules import is_object, is_uri_text, name_faults, uri_faults
from skillwire.wire.findings import Finding
from skillwire.wire.messages import MANIFEST
from skillwire.wire.remote import RemoteDelivery, RemoteSkill

_OLD_URI = re.compile(r"skill://([^/?#]+)")


@dataclass(slots=True)
class ListedResources:
    """The resources that may be about skills, by URI, with their descriptions."""

    manifests: list[str] = field(default_factory=list[str])
    documents: dict[str, str | None] = field(default_factory=dict[str, str | None])
    old_uris: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def add(self, resource: object) -> None:
        """Keep a resource if it may be about a skill."""
        if not is_object(resource) or not is_uri_text(uri := resource.get("uri")):
            return
        description = resource.get("description")
        told = description if isinstance(description, str) else None
        if uri.endswith(f"/{MANIFEST}"):
            self.manifests.append(uri)
        elif uri.startswith(SCHEME) and uri.endswith(f"/{SKILL_FILE}"):
            self.documents.setdefault(uri, told)
        elif _OLD_URI.fullmatch(uri) and uri != INDEX_URI:
            self.old_uris.setdefault(uri, told)

    def told_of(self, document: str) -> dict[str, Json]:
        """Return what is told of the frontmatter of the skill whose document this is."""
        description = self.documents.get(document)
        return {} if description is None else {"description": description}

    def scanned(self) -> "Iterator[RemoteSkill | list[Finding]]":
        """Yield the skill of each document: only its address is known."""
        for uri in self.documents:
            name = unquote(uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2])
            found = [*uri_faults(uri), *name_faults(uri, name)]
            told = {**self.told_of(uri), "name": name}
            yield found or RemoteSkill(uri, told, None, Dialect.SCAN, (RemoteDelivery(uri),))

    def at_old_uris(self) -> "Iterator[RemoteSkill | list[Finding]]":
        """Yield the skill behind each address of the form `skill://name`, which is its document."""
        for uri, description in self.old_uris.items():
            name, main = unquote(uri.removeprefix(SCHEME)), f"{uri}/{SKILL_FILE}"
            told: dict[str, Json] = {} if description is None else {"description": description}
            yield list(name_faults(main, name)) or RemoteSkill(
                main, {**told, "name": name}, None, Dialect.OLD_URIS, (RemoteDelivery(uri),)
            )
