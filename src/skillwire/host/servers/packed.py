"""Read a file from the archive that a skill is delivered in."""

from typing import Protocol
from urllib.parse import unquote

from skillwire.core.problem import Rule
from skillwire.errors import VerificationError
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, FileClaim, SkillClaim
from skillwire.protocol.findings import server_problem
from skillwire.protocol.verify import file_faults


class Unpacker(Protocol):
    """A server from which archives can be fetched."""

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        """Return all files in an archive of a skill, verified against its digest."""
        ...


async def read_packed(server: Unpacker, skill: SkillClaim, file: FileClaim) -> bytes:
    """Return a file of a skill from the archive that its files were derived from, verified (H15).

    A `SKILL.md` listed beside the archive, and archives of other skills, are never used. Raises
    `VerificationError`, and what `unpack` raises.
    """
    assert skill.archive is not None, "the files of this skill do not come from an archive"
    unpacked = await server.unpack(skill, skill.archive)
    content = unpacked.files.get(unquote(file.uri.removeprefix(f"{skill.root}/")))
    if content is None:
        message = "the archive does not contain it"
        raise VerificationError("", server_problem(file.uri, Rule.READ_FAILED, message))
    for fault in file_faults(file, content):
        raise VerificationError("", fault)
    return content
