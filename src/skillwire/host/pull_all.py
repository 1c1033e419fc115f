"""Write every skill of a server to a folder, each whole or not at all (H11)."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import anyio.to_thread
from mcp.shared.exceptions import MCPError

from skillwire.core.names import collision_key, portable_fault
from skillwire.core.problem import Problem, Severity
from skillwire.errors import SkillwireError, UsageError
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.places import Places
from skillwire.host.pull import (
    Destination,
    Existing,
    existing,
    prepared_folder,
    read_contents,
    write_folder,
)
from skillwire.protocol.claims import DeliveryClaim, Dialect, verifiable_archive
from skillwire.protocol.draft_index import read_draft_index
from skillwire.protocol.drafts import INDEX_URI
from skillwire.safe_text import quoted

MAX_PULLED_BYTES = 4 * 1024 * 1024 * 1024
"""Default maximum number of bytes to write in one call, for all skills of the server together."""


class PullOutcome(StrEnum):
    """The outcome for one skill."""

    PULLED = "pulled"
    UNCHANGED = "unchanged"
    """The folder has exactly the files that the server lists. Nothing was written."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PulledSkill:
    """One skill of a server, and the outcome for it."""

    skill: HostedSkill
    outcome: PullOutcome
    folder: Path | None = None
    """The folder of the skill. None if the skill was refused."""
    size: int = 0
    """The number of bytes that were written."""
    reason: str = ""
    """Why the skill was refused; empty if it was not."""


@dataclass(frozen=True, slots=True)
class PullResult:
    """The outcome for each skill of a server, and the problems with the server's list."""

    skills: tuple[PulledSkill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why the server, or an entry of its list, could not be used."""

    def of(self, outcome: PullOutcome) -> list[PulledSkill]:
        """Return the skills with this outcome, in the order in which they were pulled."""
        return [each for each in self.skills if each.outcome is outcome]

    @property
    def complete(self) -> bool:
        """Whether every skill was pulled or is unchanged, and the list has no problems."""
        return not self.problems and not self.of(PullOutcome.REFUSED)


OnPulled: TypeAlias = Callable[[PulledSkill, int, int], object]
"""A function that is called after each skill, with its outcome, its number and the number of skills."""


async def pull_server(
    places: Places,
    label: str,
    destination: Destination,
    *,
    only: str = "",
    force: bool = False,
    max_bytes: int = MAX_PULLED_BYTES,
    on_pulled: OnPulled | None = None,
) -> PullResult:
    """Write every known skill of a server whose path or name matches `only`, outer before nested skills.

    The skills are those in the registry. If `only` is empty, every skill matches. Raises `UsageError` if
    there are skills but none matches, and `BadParamsError` if there is no such label.
    """
    skills = [each for each in places.registry if each.label == label]
    problems = [
        each for each in places.registry.problems if each.label == label and each.severity is Severity.ERROR
    ]
    chosen = [each for each in skills if _matches(each, only)]
    if only and skills and not chosen:
        hint = "`skillwire list` with the same server lists its skills; `*` stands for any text"
        raise UsageError(f"no skill of {quoted(label)} matches {quoted(only)}", hint=hint)
    pulling = _Pulling(places, label, destination, skills, force=force, max_bytes=max_bytes)
    return PullResult(tuple([each async for each in pulling.run(chosen, on_pulled)]), tuple(problems))


def _matches(skill: HostedSkill, only: str) -> bool:
    return not only or fnmatchcase(skill.path, only) or fnmatchcase(skill.name, only)


class _Pulling:
    """One call of `pull_server`."""

    def __init__(
        self,
        places: Places,
        label: str,
        destination: Destination,
        skills: list[HostedSkill],
        *,
        force: bool,
        max_bytes: int,
    ) -> None:
        self._places, self._place, self._destination = places, places.place(label), destination
        self._roots = [each.root for each in skills]
        self._force, self._max_bytes, self._left = force, max_bytes, max_bytes
        self._archives: Mapping[str, DeliveryClaim] | None = None
        self._taken: dict[str, HostedSkill] = {}

    async def run(self, skills: list[HostedSkill], on_pulled: OnPulled | None) -> AsyncGenerator[PulledSkill]:
        """Yield the outcome for each skill."""
        ordered = sorted(skills, key=lambda each: each.root.count("/"))  # outer skills first
        for number, skill in enumerate(ordered, 1):
            self._place.refill()  # each skill may use a server's whole budget
            try:
                pulled = await self._pull(skill)
            except (SkillwireError, MCPError) as error:
                pulled = PulledSkill(skill, PullOutcome.REFUSED, reason=_reason(skill, error))
            if on_pulled is not None:
                on_pulled(pulled, number, len(ordered))
            yield pulled

    async def _pull(self, skill: HostedSkill) -> PulledSkill:
        skill = await self._places.with_files(skill)
        folder = await anyio.to_thread.run_sync(prepared_folder, skill, self._destination)
        self._claim(folder, skill)
        nested = tuple(self._nested(skill, folder))
        match await anyio.to_thread.run_sync(existing, skill, folder, nested):
            case Existing.THE_SKILL:
                return PulledSkill(skill, PullOutcome.UNCHANGED, folder)
            case Existing.OTHER_FILES:
                self._check_may_replace(skill, folder)
            case Existing.NOTHING:
                pass
        self._check_size(skill, sum(file.size or 0 for file in skill.files or ()))
        packed = await self._listed_archive(skill)
        contents = await read_contents(self._places, skill, packed, store=False)
        self._check_size(skill, contents.size)  # draft C lists no sizes
        await anyio.to_thread.run_sync(write_folder, folder, self._destination.folder, contents, nested)
        self._left -= contents.size
        return PulledSkill(skill, PullOutcome.PULLED, folder, contents.size)

    def _claim(self, folder: Path, skill: HostedSkill) -> None:
        """Record that `folder` is the folder of `skill`.

        Raises `UsageError` if some file systems cannot distinguish `folder` from the folder of another skill.
        """
        other = self._taken.setdefault(collision_key(str(folder)), skill)
        if other is not skill:
            raise UsageError(f"some systems cannot distinguish its folder from that of {other.quoted}")

    def _nested(self, skill: HostedSkill, folder: Path) -> Iterator[Path]:
        """Yield the folders of other skills in this folder, except those in which this skill lists files."""
        for root in self._roots:
            below = f"{root}/"
            is_listed = any(file.uri.startswith(below) for file in skill.files or ())
            path = unquote(root.removeprefix(f"{skill.root}/"))
            if root.startswith(f"{skill.root}/") and not is_listed and portable_fault(path) is None:
                yield folder / path

    def _check_may_replace(self, skill: HostedSkill, folder: Path) -> None:
        outer = next((each for each in self._taken.values() if _contains(each, skill)), None)
        if outer is not None:
            raise UsageError(f"the skill {outer.quoted} has other files in its folder, {quoted(str(folder))}")
        if not self._force:
            raise UsageError(
                f"{quoted(str(folder))} exists, with other files than the server lists",
                hint="compare the two, then replace it with `--force`",
            )

    def _check_size(self, skill: HostedSkill, size: int) -> None:
        if size > self._left:
            message = f"{skill.quoted} has {size:,} bytes, and {max(self._left, 0):,} are left"
            raise UsageError(f"{message} of the limit of {self._max_bytes:,}", hint="raise `--max-bytes`")

    async def _listed_archive(self, skill: HostedSkill) -> DeliveryClaim | None:
        """Return the archive of a skill that a server of the final extension offers to clients of drafts.

        Returns None if there is none, if the skill's files already come from an archive, and in other
        dialects.
        """
        if skill.archive is not None or skill.claimed.dialect is not Dialect.FINAL:
            return None
        if self._archives is None:
            self._archives = await self._read_archives()
        return self._archives.get(skill.uri)

    async def _read_archives(self) -> dict[str, DeliveryClaim]:
        try:
            index = read_draft_index(await self._place.read(INDEX_URI))
        except (SkillwireError, MCPError):  # most servers have none
            return {}
        found = {uri: verifiable_archive(skill) for uri, skill in index.skills.items()}
        return {uri: archive for uri, archive in found.items() if archive is not None}


def _contains(outer: HostedSkill, skill: HostedSkill) -> bool:
    """Return whether `outer` is another skill than `skill`, and lists files in the folder of `skill`."""
    below = f"{skill.root}/"
    return outer is not skill and any(file.uri.startswith(below) for file in outer.files or ())


def _reason(skill: HostedSkill, error: SkillwireError | MCPError) -> str:
    """Return the message and hint of an error, without the name of the skill's server."""
    message = str(error).removeprefix(f"{skill.origin}: ")
    hint = getattr(error, "hint", "")
    return f"{message}; {hint}" if hint else message
