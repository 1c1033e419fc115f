"""Skills as another server lists them, made from their files."""

from collections.abc import Mapping

from skillwire import SkillRecord
from skillwire.host import Trust
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.servers.records import hosted_record
from skillwire.protocol.remote import RemoteFile, RemoteSkill
from skillwire.sources import Digest, LiveFile, Origin

URI = "skill://refunds/SKILL.md"
FILES = {"SKILL.md": b"# Refunds\n", "references/policy.md": b"30 days\n", "logo.png": b"\x89PNG\x00"}


def remote_file(uri: str, content: bytes) -> RemoteFile:
    return RemoteFile(uri, Digest.of(content), len(content))


def remote_skill(files: Mapping[str, bytes] | None = None, name: str = "refunds") -> RemoteSkill:
    """Return an honest skill; `FILES` are its files unless others are given."""
    listed = tuple(
        remote_file(f"skill://{name}/{path}", content)
        for path, content in (FILES if files is None else files).items()
    )
    frontmatter = {"name": name, "description": f"Does {name}.", "allowed-tools": "Bash(git:*) Read"}
    return RemoteSkill(f"skill://{name}/SKILL.md", frontmatter, listed)


def dynamic_skill(name: str = "refunds") -> RemoteSkill:
    """Return a skill whose content is made when it is read."""
    return RemoteSkill(f"skill://{name}/SKILL.md", {"name": name, "description": "Live."}, None)


def hosted_skill(label: str, skill: RemoteSkill, *, local: bool = False) -> HostedSkill:
    """Return a skill of the server `label`; or an own one of the same name and description."""
    if not local:
        return HostedSkill(hosted_record(label, skill), skill)
    origin = Origin(label, skill.root, f"{skill.name}/SKILL.md")
    files = (LiveFile("SKILL.md", "text/markdown"),)
    return HostedSkill(SkillRecord(skill.uri, skill.frontmatter, files, (), origin, trust=Trust.OWN))
