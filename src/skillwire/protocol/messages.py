"""Names and values in MCP messages: methods, metadata keys, cache lifetimes and declared settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

EXTENSION = "io.modelcontextprotocol/skills"
META_PREFIX = "io.modelcontextprotocol.skills/"

OWN_META_PREFIX = "dev.skillwire/"
"""The prefix of Skillwire's own metadata keys, which no specification defines."""
SEARCH_EXTENSION = f"{OWN_META_PREFIX}search"
"""The extension that a server declares if `skills/list` accepts a query."""
QUERY_META = f"{OWN_META_PREFIX}query"
"""The key in `_meta` of `skills/list` for a query, and of its result for the number of results."""
SKILL_META = f"{OWN_META_PREFIX}skill"
"""On a prompt, and on a text made from files of a skill: the URI of the skill."""
RESOURCES_META = f"{OWN_META_PREFIX}resources"
"""On a prompt: the URIs of the files in its text, in order."""
URI_META = f"{OWN_META_PREFIX}uri"
"""On a content block: the URI of the file whose text it contains."""
SERVER_META = f"{OWN_META_PREFIX}server"
"""The label of the server from which the content comes, for the person or program that receives it (H9)."""

SKILLS_LIST = "skills/list"
SKILLS_GET = "skills/get"
DIRECTORY_READ = "resources/directory/read"
RESOURCES_LIST = "resources/list"
RESOURCES_TEMPLATES = "resources/templates/list"
RESOURCES_READ = "resources/read"

TOOLS_LIST = "tools/list"
TOOLS_CALL = "tools/call"
PROMPTS_LIST = "prompts/list"
PROMPTS_GET = "prompts/get"
COMPLETE = "completion/complete"
LISTEN = "subscriptions/listen"

MANIFEST = "_manifest"
"""The last segment of the URI of a skill's FastMCP manifest, a format from before the extension."""
FILE_TEMPLATE = "skill://{+skill}/{+file}"
"""The URI template of all files of all skills."""

PAGE_SIZE = 100

CACHEABLE = frozenset(
    {
        SKILLS_LIST,
        SKILLS_GET,
        DIRECTORY_READ,
        RESOURCES_LIST,
        RESOURCES_TEMPLATES,
        RESOURCES_READ,
        TOOLS_LIST,
        PROMPTS_LIST,
    }
)
"""Methods whose results declare how long they stay fresh (S12)."""

LIVE_TTL_MS = 5_000
STATIC_TTL_MS = 3_600_000
_SETTING = "directoryRead"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long a client may cache a response, and whether the cached response may be shared (S12)."""

    ttl_ms: int = LIVE_TTL_MS
    private: bool = False

    @property
    def scope(self) -> str:
        return "private" if self.private else "public"


def find_declared_settings(
    extensions: Mapping[str, Any] | None, experimental: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """Return the declared settings of the extension, or None if no settings object is declared (H1).

    Early drafts declared the extension in `experimental`. `experimental` is used only if `extensions` does
    not declare the extension.
    """
    for place in (extensions, experimental):
        settings: object = (place or {}).get(EXTENSION)
        if isinstance(settings, dict):
            return cast("Mapping[str, Any]", settings)
    return None


def reads_directories(settings: Mapping[str, Any] | None, *, legacy_flags: bool = False) -> bool:
    """Return whether the server supports directory reads: its setting `directoryRead` is exactly `true`.

    With `legacy_flags`, the setting may also be inside a `config` object.
    """
    if settings is None:
        return False
    nested: object = settings.get("config")
    if legacy_flags and isinstance(nested, dict):
        return settings.get(_SETTING, cast("Mapping[str, Any]", nested).get(_SETTING)) is True
    return settings.get(_SETTING) is True
