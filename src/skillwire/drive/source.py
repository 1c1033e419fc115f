"""Live skills as a source. Paths with parameters become skill templates."""

import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import anyio

from skillwire.core.mime import MARKDOWN
from skillwire.core.names import SKILL_FILE, is_skill_name
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import LiveFile, Origin, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.drive.documents import DescriptionFetcher, document, minimal_frontmatter
from skillwire.drive.errors import NoSuchPathError, call_error
from skillwire.drive.hub import Hub, OnlineClient
from skillwire.drive.messages import ErrorCode
from skillwire.drive.paths import SegmentKind
from skillwire.drive.policy import PathRequest
from skillwire.drive.registration import GET, ClientInfo, Descriptor, PathType
from skillwire.errors import CallFailedError, NotServedError, SourceError
from skillwire.frontmatter.document import read_document
from skillwire.safe_text import collapse_lines, escape_invisible, quoted
from skillwire.sources.assemble import assemble
from skillwire.sources.base import EVERYWHERE, Locations, Progress, Scan, Source, WatchFilter, ignore_progress

_MAX_PAUSE = 2.0


def skill_template(client: ClientInfo, descriptor: Descriptor, label: str) -> SkillTemplate:
    """Return the template for a path with parameters."""
    path = descriptor.path
    parts = [
        f"{{{_name(segment, at)}}}" if kind is SegmentKind.PARAMETER else segment
        for at, (segment, kind) in enumerate(zip(path.segments, path.kinds, strict=True))
    ]
    located = "/".join([client.id, *parts])
    description = (descriptor.description or "").strip()
    return SkillTemplate(
        path="/".join([client.id, *parts[:-1]]),
        description=description or f"What {collapse_lines(client.name)} returns at {quoted(path.text)}.",
        label=label,
        location=located,
    )


def _name(segment: str, at: int) -> str:
    """Return the name of a parameter in a template, where names have no hyphen and begin with a letter.

    Any other name becomes `p`, its position, `_` and the name with underscores in place of hyphens.
    """
    name = segment[1:].replace("-", "_")
    return name if name == segment[1:] and name[0].isalpha() else f"p{at}_{name}"


@dataclass(frozen=True, slots=True)
class _ClientScan:
    """The skills, problems and templates of one client."""

    online: OnlineClient
    complete: bool
    """Whether all descriptions are known."""
    entries: tuple[SkillRecord, ...]
    problems: tuple[Problem, ...]
    templates: tuple[SkillTemplate, ...]


class DriveSource(Source):
    """The skills that the clients of a hub have registered."""

    def __init__(self, hub: Hub, label: str = "drive") -> None:
        self.label = label
        self._hub = hub
        self._descriptions = DescriptionFetcher(hub, self._notify)
        self._scans: dict[str, _ClientScan] = {}
        self._changed: set[anyio.Event] = set()
        hub.listen(self._notify)

    @property
    def place(self) -> str:
        return ""  # it cannot be named on a command line

    async def run(self) -> None:
        """Fetch missing descriptions, until cancelled."""
        await self._descriptions.run()

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        scans: dict[str, _ClientScan] = {}
        for online in self._hub.clients:
            known = self._scans.get(online.info.id)
            if known is None or known.online is not online or not known.complete:
                known = self._scan_client(online)
            scans[online.info.id] = known
        self._scans = scans
        every = scans.values()
        progress(len(every))
        return Scan(
            tuple(entry for each in every for entry in each.entries),
            tuple(problem for each in every for problem in each.problems),
            tuple(template for each in every for template in each.templates),
        )

    def _scan_client(self, online: OnlineClient) -> _ClientScan:
        """Return the skills, problems and templates of one client."""
        skills = [each for each in online.info.paths if each.type is PathType.SKILL]
        plain = [each for each in skills if not each.path.parameters]
        described = [(each, self._descriptions.description(online, each)) for each in plain]
        found = [
            self._found(online, each, description)
            for each, description in described
            if description is not None
        ]
        return _ClientScan(
            online,
            all(description is not None for _, description in described),
            tuple(each for each in found if isinstance(each, SkillRecord)),
            tuple(problem for each in found if isinstance(each, tuple) for problem in each),
            tuple(skill_template(online.info, each, self.label) for each in skills if each.path.parameters),
        )

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        while True:
            changed = anyio.Event()
            self._changed.add(changed)
            begin = time.monotonic()
            yield EVERYWHERE
            # Pause three times as long as the last scan took, at most `_MAX_PAUSE` seconds, so that frequent
            # changes do not cause constant scans.
            await anyio.sleep(min(3 * (time.monotonic() - begin), _MAX_PAUSE))
            await changed.wait()

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        client_id, slash, path = entry.origin.location.partition("/")
        if file.path != SKILL_FILE:
            raise SourceError(f"{entry.origin.location}: a live skill has no file but `{SKILL_FILE}`")
        try:
            data = await self._hub.call(client_id, PathRequest(GET, slash + path), [PathType.SKILL])
        except NoSuchPathError as error:
            raise NotServedError(entry.uri, "file", str(error)) from error
        except CallFailedError as error:
            if call_error(error).code == ErrorCode.NOT_FOUND:
                raise NotServedError(entry.uri, "file", escape_invisible(str(error))) from error
            raise SourceError(str(error)) from error
        return document(entry.name, entry.description, data)

    def _found(
        self, online: OnlineClient, descriptor: Descriptor, description: str
    ) -> SkillRecord | tuple[Problem, ...]:
        """Return the skill at a path, or the problems that prevent it from being served."""
        folder = [online.info.id, *descriptor.path.folder]
        where = "/".join([*folder, SKILL_FILE])
        if len(folder) == 1 or not is_skill_name(folder[-1]):
            return (_no_name(where, descriptor),)
        if not description:
            return (_no_description(where),)
        listed = read_document(minimal_frontmatter(folder[-1], description), where, folder[-1])
        if not listed.is_servable:  # a description may contain characters that YAML does not allow
            return listed.problems
        origin = Origin(self.label, f"{online.info.id}{descriptor.path.text}", where)
        return assemble(
            listed,
            skill_path=folder,
            files=[LiveFile(SKILL_FILE, MARKDOWN, online.revision)],
            directories=(),
            origin=origin,
        )

    def _notify(self) -> None:
        for changed in self._changed:
            changed.set()
        self._changed.clear()


def _no_name(where: str, descriptor: Descriptor) -> Problem:
    fault = descriptor.path.name_fault
    return Problem(
        where,
        Rule.LIVE_NAME,
        Severity.WARNING,
        f"the path {quoted(descriptor.path.text)} contains no valid skill name: {fault}",
        hint="it can be read over HTTP and with `callPath`; to list it, expose it under a valid name",
    )


def _no_description(where: str) -> Problem:
    return Problem(
        where,
        Rule.DESCRIPTION_MISSING,
        Severity.ERROR,
        "the program registered it without a description, and its text has none",
        hint="send a `description` with the path, or return text with a paragraph that is not a heading",
        field="description",
    )
