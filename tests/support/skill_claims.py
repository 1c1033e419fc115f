"""Skills as another server lists them, made from their files."""

from collections.abc import Mapping

from skillwire import SkillRecord
from skillwire.host import Trust
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.servers.records import hosted_record
from skillwire.protocol.claims import FileClaim, SkillClaim
from skillwire.sources import Digest, LiveFile, Origin

URI = "skill://refunds/SKILL.md"
FILES = {"SKILL.md": b"# Refunds\n", "references/policy.md": b"30 days\n", "logo.png": b"\x89PNG\x00"}


def file_claim(uri: str, content: bytes) -> FileClaim:
    return FileClaim(uri, Digest.of(content), len(content))


def skill_claim(files: Mapping[str, bytes] | None = None, name: str = "refunds") -> SkillClaim:
    """Return an honest skill; `FILES` are its files unless others are given."""
    listed = tuple(
        file_claim(f"skill://{name}/{path}", content)
        for path, content in (FILES if files is None else files).items()
    )
    frontmatter = {"name": name, "description": f"Does {name}.", "allowed-tools": "Bash(git:*) Read"}
    return SkillClaim(f"skill://{name}/SKILL.md", frontmatter, listed)


def dynamic_skill(name: str = "refunds") -> SkillClaim:
    """Return a skill whose content is made when it is read."""
    return SkillClaim(f"skill://{name}/SKILL.md", {"name": name, "description": "Live."}, None)


def hosted_skill(label: str, skill: SkillClaim, *, local: bool = False) -> HostedSkill:
    """Return a skill of the server `label`; or an own one of the same name and description."""
    if not local:
        return HostedSkill(hosted_record(label, skill), skill)
    origin = Origin(label, skill.root, f"{skill.name}/SKILL.md")
    files = (LiveFile("SKILL.md", "text/markdown"),)
    return HostedSkill(SkillRecord(skill.uri, skill.frontmatter, files, (), origin, trust=Trust.OWN))
