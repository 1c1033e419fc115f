"""Skills, sources and problems of a server as JSON, for the pages and their tools."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from skillwire import __version__
from skillwire.config.source_kinds import KINDS
from skillwire.core.mime import is_text
from skillwire.core.problem import Rule, Severity
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import BadParamsError, ConflictError
from skillwire.features.base import bad_cursor_error
from skillwire.features.resources import Problems, catalog_problems
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.memo import CatalogMemo
from skillwire.library.names import Names
from skillwire.library.search import MAX_LIMIT, SearchIndex, SearchResult
from skillwire.library.visibility import Override
from skillwire.pages.problem_report import ProblemReport
from skillwire.pages.skill_list import MAX_WORDS, SkillList, find_words, query_words
from skillwire.safe_text import collapse_lines, escape_invisible
from skillwire.server.admin import Admin, SourceFacts
from skillwire.sources.base import Scan

_STATES = {
    Rule.SOURCE_FAILED: "failed",
    Rule.SOURCE_WAITING: "waiting",
    Rule.SOURCE_STALE: "stale",
}
"""The states of a source by the rules of its problems, the most severe first."""

UNLOCK_SERVER = "start the server with `--allow-config`"
UNLOCK_BRIDGE = "use `skillwire approve` and `skillwire revoke`; the bridge notices within a second"
"""Tell what to do if the pages cannot change a server."""
_PUBLIC = frozenset(kind.name for kind in KINDS if kind.public)
"""Kinds of sources whose location anyone may see."""


UNLOCK_OVER_MCP = (
    "over HTTP, changes need a token: start the server with `--token-env VARIABLE`, "
    "or use its page in a browser"
)
"""Tells how to let an MCP client over HTTP change the server."""


class ShowPlaces(StrEnum):
    """Who may see local paths: those of skills, of sources, and of the configuration file."""

    TO_ALL = "to all"
    TO_EDITORS = "to those who may change the server"
    NEVER = "never"


class Overview:
    """The current skills, sources and problems of a server. Notifies listeners of changes."""

    def __init__(
        self,
        library: Library,
        control: Admin,
        *,
        show_places: ShowPlaces = ShowPlaces.TO_ALL,
        unlock: str = UNLOCK_OVER_MCP,
        problems: Problems = catalog_problems,
        bridge: bool = False,
        locked: str = UNLOCK_SERVER,
    ) -> None:
        """Create an overview of `library`.

        `unlock` tells clients how to get permission to change an editable server, and `locked` what to do if
        the server is not editable. `bridge` tells whether the sources are servers behind a bridge.
        """
        self._found = problems
        self._reports = CatalogMemo(self._report)
        self.library = library
        self.control = control
        self.unlock = unlock
        self._bridge = bridge
        self._locked = locked
        self._show_places = show_places
        self._names = CatalogMemo(Names)
        self._lists = CatalogMemo(SkillList)
        self._revision = 0
        self._listeners: list[Callable[[], None]] = []
        library.listen(lambda _: self._notify())
        control.listen(self._notify)

    @property
    def revision(self) -> int:
        """A number that increases with every change."""
        return self._revision

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def config(self, problems: int, *, can_change: bool = True) -> dict[str, Json]:
        """Return sources, settings, numbers of skills and problems, and at most `problems` problems.

        A withheld skill counts as a warning. Each problem counts for one source, so the numbers of the
        sources add up to those of the server. `can_change` tells whether the caller may change the server.
        """
        catalog, settings = self.library.catalog, self.control.settings()
        editable, places = self.control.editable, self._places_for(can_change=can_change)
        report, skills = self._reports.of(catalog), self._lists.of(catalog)
        return {
            "revision": self._revision,
            "version": __version__,
            "editable": editable and can_change,
            "unlock": "" if editable and can_change else self.unlock if editable else self._locked,
            "bridge": self._bridge,
            "skills": len(catalog.entries),
            "withheld": len(catalog.withheld),
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "sources": [
                {
                    **self._source(each, report, places=places),
                    "skills": skills.served[each.label],
                    "withheld": skills.withheld[each.label],
                }
                for each in self.control.sources()
            ],
            "static": settings.static,
            "staticFixed": settings.static_fixed,
            "allowedOrigins": list(settings.allowed_origins),
            "configFile": settings.config_file if places else "",
            "problemGroups": [*report.groups()],
            "problems": [*report.first(problems)],
        }

    def skills(self, offset: int, limit: int, *, around: str | None = None) -> dict[str, Json]:
        """Return at most `limit` skills, from `offset` on.

        If there is a skill with the URI `around`, return the part with this skill instead. Its offset is a
        multiple of `limit`.
        """
        catalog = self.library.catalog
        skills = self._lists.of(catalog)
        at = None if around is None else skills.offset_of(around, limit)
        offset = offset if at is None else at
        return self._part(catalog, skills.part(offset, limit), offset, len(catalog.entries))

    async def _filter(self, query: str, offset: int, limit: int) -> dict[str, Json]:
        """Return at most `limit` of the skills that contain every word of `query`, from `offset` on."""
        catalog = self.library.catalog
        found = await self._lists.of(catalog).find(query_words(query))
        return self._part(catalog, found[offset : offset + limit], offset, len(found))

    def _part(
        self, catalog: Catalog, entries: Sequence[SkillRecord], offset: int, total: int
    ) -> dict[str, Json]:
        origins = self._origins()
        return {
            "revision": self._revision,
            "total": total,
            "offset": offset,
            "skills": [self._summary(catalog, each, origins) for each in entries],
        }

    async def search(
        self, query: str, limit: int, *, offset: int = 0, cursor: str | None = None
    ) -> dict[str, Json]:
        """Return the skills that fit `query`, the best first, as the tool `search-skills` orders them.

        `matches` tells why each of them fits. Withheld skills are not indexed: the first page has those that
        contain every word, in `withheld`. Without the search area, the skills that contain every word of
        `query` in their path, name, description or source label are returned, from `offset` on.

        Raises `BadParamsError` for wrong arguments.
        """
        try:
            index = self.library.index
        except ConflictError:
            if cursor is not None:
                raise bad_cursor_error(cursor) from None
            return await self._filter(query, offset, limit)
        if offset:
            raise BadParamsError("with a `query`, pass the `nextCursor` of the last answer, not an `offset`")
        found = await index.search(query, limit=min(limit, MAX_LIMIT), cursor=cursor)
        catalog = self.library.catalog
        origins = self._origins()
        shown = [each for each in found.results if each.uri in catalog.entries]
        others = len(found.results) - len(shown)
        if cursor is not None or found.next_cursor is not None:
            others = await self._count_others(index, query, catalog)
        withheld = [] if cursor is not None else await _find_withheld(catalog, query)
        result: dict[str, Json] = {
            "revision": self._revision,
            "total": found.total - others,
            "skills": [self._summary(catalog, catalog.entries[each.uri], origins) for each in shown],
            "matches": [_match(each) for each in shown],
            "weak": found.weak,
            "corrections": dict(found.corrections),
            "incomplete": found.incomplete,
            "withheld": [self._summary(catalog, each, origins) for each in withheld[:MAX_LIMIT]],
            "withheldTotal": len(withheld),
        }
        if found.next_cursor is not None:
            result["nextCursor"] = found.next_cursor
        return result

    def skill(self, name: str, *, can_change: bool = True) -> dict[str, Json]:
        """Return the details of one skill, without the content of its files.

        Raises `RequestError` if `name` does not refer to exactly one skill.
        """
        catalog = self.library.catalog
        # Names are indexed only for those who write one: pages send URIs.
        entry = catalog.entries.get(name) or self._names.of(catalog).find(name)
        return {
            **self._summary(catalog, entry, self._origins()),
            "revision": self._revision,
            "frontmatter": dict(entry.frontmatter),
            "fileList": [_file(entry, each) for each in entry.files],
            "problemList": [*self._reports.of(catalog).of_skill(entry)],
            "location": escape_invisible(entry.origin.location)
            if self._places_for(can_change=can_change)
            else "",
        }

    async def text(self, uri: str, limit: int) -> dict[str, Json]:
        """Return a file's type, size and text. Raises `SkillwireError`.

        If the file is not text, or has more than `limit` bytes, `text` is None, and `why` is the reason.
        """
        reading = await self.library.read(uri)
        size, readable = len(reading.content), is_text(reading.content)
        shown = readable and size <= limit
        why = "" if shown else f"it has {size:,} bytes" if readable else "it is not text"
        return {
            "uri": uri,
            "mimeType": reading.served.file.mime_type,
            "size": size,
            "text": reading.content.decode() if shown else None,
            "why": why,
        }

    def _origins(self) -> dict[str, str]:
        return {each.label: each.origin for each in self.control.sources()}

    async def _count_others(self, index: SearchIndex, query: str, catalog: Catalog) -> int:
        """Return how many results are not shown: templates, and skills that have gone since a freeze."""
        if not catalog.templates and not self.library.frozen:
            return 0
        others, cursor = 0, None
        while True:
            try:
                found = await index.search(query, limit=MAX_LIMIT, cursor=cursor)
            except BadParamsError:  # the results have changed meanwhile, and pages will search again
                return others
            others += sum(each.uri not in catalog.entries for each in found.results)
            cursor = found.next_cursor
            if cursor is None:
                return others

    def _places_for(self, *, can_change: bool) -> bool:
        allowed = self._show_places
        return allowed is ShowPlaces.TO_ALL or (can_change and allowed is ShowPlaces.TO_EDITORS)

    def _report(self, catalog: Catalog) -> ProblemReport:
        return ProblemReport(catalog, self._found(catalog), [*self.library.scans])

    def _source(self, facts: SourceFacts, report: ProblemReport, *, places: bool) -> dict[str, Json]:
        scan = self.library.scans.get(facts.label, Scan())
        by_rule = {problem.rule: problem for problem in reversed(scan.problems)}
        state = next((rule for rule in _STATES if rule in by_rule), None)
        return {
            "label": facts.label,
            "kind": facts.kind,
            "place": facts.place if places or _is_public(facts) else "",
            "origin": facts.origin,
            "givenBy": facts.given_by,
            "removable": facts.removable,
            "fetched": None if facts.fetched is None else facts.fetched.isoformat(timespec="seconds"),
            "errors": report.count(Severity.ERROR, facts.label),
            "warnings": report.count(Severity.WARNING, facts.label),
            "state": "ready" if state is None else _STATES[state],
            "reason": "" if state is None else escape_invisible(by_rule[state].message),
            "hint": "" if state is None else escape_invisible(by_rule[state].hint),
        }

    def _summary(self, catalog: Catalog, entry: SkillRecord, origins: dict[str, str]) -> dict[str, Json]:
        decided = catalog.visibility.overrides.get(entry.uri, Override())
        now = catalog.visibility.of(entry)
        return {
            **_static_summary(entry),
            "origin": origins.get(entry.origin.source, entry.origin.source),
            "problems": self._reports.of(catalog).number_of_skill(entry),
            "withheld": entry.withheld is not None,
            "trust": entry.trust.value,
            "assistant": now.assistant,
            "user": now.user,
            "customized": decided != Override(),
            "repeated": self._lists.of(catalog).is_repeated(entry),
        }

    def _notify(self) -> None:
        self._revision += 1
        for listener in self._listeners:
            listener()


def _static_summary(entry: SkillRecord) -> dict[str, Json]:
    """Return the fields of a summary that depend only on the skill's record."""
    sizes = [file.size for file in entry.files if isinstance(file, SkillFile)]
    return {
        "uri": entry.uri,
        "name": entry.name,
        "description": collapse_lines(entry.shown_description),
        "source": entry.origin.source,
        "path": escape_invisible(entry.origin.path),
        "files": len(entry.files),
        "bytes": sum(sizes) if len(sizes) == len(entry.files) else None,
    }


def _is_public(facts: SourceFacts) -> bool:
    """Return whether a source's location reveals neither a secret nor anything about this machine."""
    return facts.kind in _PUBLIC and not facts.place.startswith("git+file:")


def _match(result: SearchResult) -> dict[str, Json]:
    return {
        "uri": result.uri,
        "rank": result.rank,
        "fields": list(result.fields),
        "snippet": escape_invisible(result.snippet),
    }


async def _find_withheld(catalog: Catalog, query: str) -> list[SkillRecord]:
    """Return the withheld skills that contain every word of a query, up to the maximum of words."""
    return await find_words(catalog.withheld, list(dict.fromkeys(query.casefold().split()))[:MAX_WORDS])


def _file(entry: SkillRecord, file: SkillFile | LiveFile) -> dict[str, Json]:
    size = file.size if isinstance(file, SkillFile) else None
    return {"uri": entry.uri_of(file.path), "path": file.path, "mimeType": file.mime_type, "size": size}
