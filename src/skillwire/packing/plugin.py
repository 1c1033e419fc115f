"""Plugin folders for Claude Code and Codex, which are also marketplaces with this one plugin.

Both kinds have the skills in `skills/NAME` and differ only in their manifests. So one folder can be a plugin
for both clients.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skillwire.config.source_kinds import is_folder
from skillwire.core.json_text import json_bytes
from skillwire.core.output_folder import SiteFolder
from skillwire.core.record import SkillRecord
from skillwire.errors import SourceError, UsageError
from skillwire.packing.identity import Identity, Naming
from skillwire.packing.selection import FOLDER, PackedSkill
from skillwire.safe_text import quoted
from skillwire.sources.base import Source


class PluginKind(StrEnum):
    """The client that installs the plugin."""

    CLAUDE = "claude"
    CODEX = "codex"


CLAUDE_PLUGIN, CLAUDE_MARKETPLACE = ".claude-plugin/plugin.json", ".claude-plugin/marketplace.json"
CODEX_PLUGIN, CODEX_MARKETPLACE = ".codex-plugin/plugin.json", ".agents/plugins/marketplace.json"
_MANIFESTS = {
    PluginKind.CLAUDE: (CLAUDE_PLUGIN, CLAUDE_MARKETPLACE),
    PluginKind.CODEX: (CODEX_PLUGIN, CODEX_MARKETPLACE),
}
_CODEX_CATEGORY = "Productivity"
_RESERVED = frozenset(
    {
        "agent-skills",
        "anthropic-agent-skills",
        "anthropic-marketplace",
        "anthropic-plugin-directory",
        "anthropic-plugins",
        "claude-code-marketplace",
        "claude-code-plugins",
        "claude-community",
        "claude-for-financial-services",
        "claude-for-legal",
        "claude-plugin-directory",
        "claude-plugins-community",
        "claude-plugins-official",
        "claude-tag-plugins",
        "financial-services-plugins",
        "first-party-plugins",
        "healthcare",
        "knowledge-work-plugins",
        "life-sciences",
    }
)
"""Names of marketplaces that Claude Code accepts only from Anthropic."""


@dataclass(frozen=True, slots=True)
class WrittenPlugin:
    """A plugin that was written."""

    identity: Identity
    records: Sequence[SkillRecord]


def check_plugin_name(kind: PluginKind, name: str) -> None:
    """Raise `UsageError` if the client rejects the name."""
    if kind is PluginKind.CLAUDE and name in _RESERVED:
        raise UsageError(
            f"Claude Code accepts the name {quoted(name)} only from Anthropic", "choose another with `--name`"
        )


def check_plugin_folder(out: Path, sources: Sequence[Source], skills: Mapping[str, SkillRecord]) -> None:
    """Raise `UsageError` if the plugin would be mixed with the skills that are packed.

    The output folder may contain the source if every skill is already where the plugin has it.
    """
    target = os.path.realpath(out)
    for source in sources:
        if not is_folder(source.place):
            continue
        root = os.path.realpath(source.place)
        if os.path.commonpath([root, target]) not in {root, target}:
            continue
        moved = next((each for name, each in skills.items() if not _is_in_place(out, name, each)), None)
        if moved is not None:
            raise UsageError(
                f"{quoted(str(out))} and {quoted(source.place)} overlap, and the skill {quoted(moved.path)} "
                f"is not in {quoted(f'{FOLDER}/{moved.name}')}",
                hint="choose a folder beside the skills",
            )


async def write_plugin(
    kind: PluginKind, site: SiteFolder, skills: AsyncIterator[PackedSkill], naming: Naming
) -> WrittenPlugin:
    """Write the skills, then the manifests. Then remove the remaining files of earlier runs.

    Raises `UsageError` if a file cannot be written, and `SourceError` if there is no skill.
    """
    try:
        written = await _write_files(kind, site, skills, naming)
    except BaseException:
        site.save_manifest()
        raise
    site.finish()
    return written


async def _write_files(
    kind: PluginKind, site: SiteFolder, skills: AsyncIterator[PackedSkill], naming: Naming
) -> WrittenPlugin:
    records: list[SkillRecord] = []
    async for skill in skills:
        site.plan(f"{skill.folder}/{path}" for path in skill.files)
        for path, content in skill.files.items():
            site.write(f"{skill.folder}/{path}", content, executable=path in skill.executable)
        records.append(skill.record)
    if not records:
        raise SourceError("nothing was packed: no skill can be")
    identity = naming.identify(records)
    files = manifests(kind, identity)
    site.plan(files)
    for path, content in files.items():
        site.write(path, content)
    _keep_other_manifests(kind, site)
    return WrittenPlugin(identity, records)


def manifests(kind: PluginKind, identity: Identity) -> dict[str, bytes]:
    """Return the files that make a folder a plugin and a marketplace, by path."""
    contents = _claude(identity) if kind is PluginKind.CLAUDE else _codex(identity)
    return {path: json_bytes(content, indented=True) for path, content in contents.items()}


def _claude(identity: Identity) -> dict[str, dict[str, object]]:
    return {
        CLAUDE_PLUGIN: {
            "name": identity.name,
            "version": identity.version,
            "description": identity.description,
            "author": {"name": identity.author},
        },
        CLAUDE_MARKETPLACE: {
            "name": identity.name,
            "description": identity.description,
            "owner": {"name": identity.author},
            # Without a version: Claude Code takes it from the plugin.
            "plugins": [{"name": identity.name, "source": "./", "description": identity.description}],
        },
    }


def _codex(identity: Identity) -> dict[str, dict[str, object]]:
    return {
        CODEX_PLUGIN: {
            "name": identity.name,
            "version": identity.version,
            "description": identity.description,
            "author": {"name": identity.author},
            "skills": f"./{FOLDER}/",
            "interface": {
                "displayName": identity.title,
                "shortDescription": identity.description,
                "developerName": identity.author,
                "category": _CODEX_CATEGORY,
            },
        },
        CODEX_MARKETPLACE: {
            "name": identity.name,
            "interface": {"displayName": identity.title},
            "plugins": [
                {
                    "name": identity.name,
                    "source": {"source": "local", "path": "./"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": _CODEX_CATEGORY,
                }
            ],
        },
    }


def _keep_other_manifests(kind: PluginKind, site: SiteFolder) -> None:
    """Keep the manifests that an earlier run wrote for the other client."""
    for path in (path for other in PluginKind if other is not kind for path in _MANIFESTS[other]):
        if path in site.ours and (content := site.content(path)) is not None:
            site.write(path, content)


def _is_in_place(out: Path, name: str, entry: SkillRecord) -> bool:
    """Return whether a skill of a folder is already in its folder in the plugin."""
    return os.path.realpath(entry.origin.location) == os.path.join(  # noqa: PTH118 - compared as text
        os.path.realpath(out), FOLDER, name
    )
