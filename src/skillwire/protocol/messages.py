"""Names of the Skills extension: identifier, methods, metadata keys and declared settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

EXTENSION = "io.modelcontextprotocol/skills"
META_PREFIX = "io.modelcontextprotocol.skills/"

OWN_META_PREFIX = "dev.skillwire/"
"""Ours: what stands behind it is no part of any specification."""
SKILL_META = f"{OWN_META_PREFIX}skill"
"""On a prompt: the URI of the skill that it is made of."""
RESOURCES_META = f"{OWN_META_PREFIX}resources"
"""On a prompt: the URIs of the files that its text is made of, in that order."""
URI_META = f"{OWN_META_PREFIX}uri"
"""The URI of the file whose text a block holds."""
SERVER_META = f"{OWN_META_PREFIX}server"
"""On what a server sent, where it is passed on to a person or a program: its label (H9)."""

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
"""The last segment of a skill's list of files, as clients from before the extension ask for it."""
FILE_TEMPLATE = "skill://{+skill}/{+file}"
"""Every file of every skill, for clients that fill in templates."""

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
"""Methods whose results say how long they stay fresh (S12)."""

LIVE_TTL_MS = 5_000
STATIC_TTL_MS = 3_600_000
_SETTING = "directoryRead"


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a client may do with an answer: how long to keep it, and whom to share it with (S12)."""

    ttl_ms: int = LIVE_TTL_MS
    private: bool = False

    @property
    def scope(self) -> str:
        return "private" if self.private else "public"


def find_declared_settings(
    extensions: Mapping[str, Any] | None, experimental: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """Return what is declared of the extension; None if it is not (H1).

    `experimental` is where it stood before servers had `extensions`; it counts where those do not have it.
    """
    for place in (extensions, experimental):
        settings: object = (place or {}).get(EXTENSION)
        if isinstance(settings, dict):
            return cast("Mapping[str, Any]", settings)
    return None


def reads_directories(settings: Mapping[str, Any] | None, *, legacy_flags: bool = False) -> bool:
    """Whether the setting is exactly `true`; with `legacy_flags`, also inside a `config` object."""
    if settings is None:
        return False
    nested: object = settings.get("config")
    if legacy_flags and isinstance(nested, dict):
        return settings.get(_SETTING, cast("Mapping[str, Any]", nested).get(_SETTING)) is True
    return settings.get(_SETTING) is True
