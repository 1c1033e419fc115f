"""What there is and what is wrong with it, as JSON for pages and for whoever asks to see it."""

from collections.abc import Callable
from enum import StrEnum
from itertools import chain

from skillwire import __version__
from skillwire.core.mime import is_text
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import BadParamsError
from skillwire.features.resources import Problems, catalog_problems
from skillwire.library.catalog import Catalog, CatalogMemo
from skillwire.library.library import Library
from skillwire.library.names import Names
from skillwire.library.visibility import Override
from skillwire.safe_text import collapse_lines, escape_invisible
from skillwire.server.admin import Admin, SourceFacts
from skillwire.sources.base import Scan

_STATES = {
    Rule.SOURCE_FAILED: "failed",
    Rule.SOURCE_WAITING: "waiting",
    Rule.SOURCE_STALE: "stale",
}
"""What a problem of a whole source says of its state; the gravest first."""

_MAX_WORDS = 32
"""Different words of one search: each is looked for in every skill."""

_UNLOCK_SERVER = "start the server with `--allow-config`"
_PUBLIC = frozenset({"repository", "publisher"})
"""Kinds whose places anybody may know. Others may be a path or a key, also what cannot be opened."""


UNLOCK_OVER_MCP = (
    "over HTTP, changes need a token: start the server with `--token-env VAR`, or use its page in a browser"
)
"""How an MCP client gets to change the server."""


class ShowPlaces(StrEnum):
    """Who may know where on this machine the skills are."""

    TO_ALL = "to all"
    TO_EDITORS = "to those who may change the server"
    NEVER = "never"


class Overview:
    """Skills, sources and problems as they are now. Knows when that is not what it was."""

    def __init__(
        self,
        library: Library,
        control: Admin,
        *,
        show_places: ShowPlaces = ShowPlaces.TO_ALL,
        unlock: str = UNLOCK_OVER_MCP,
        problems: Problems = catalog_problems,
    ) -> None:
        """`unlock` says what to do to somebody who may not change the server, though others may."""
        self._problems = CatalogMemo(problems)
        self.library = library
        self.control = control
        self.unlock = unlock
        self._show_places = show_places
        self._names = CatalogMemo(Names)
        self._summaries: dict[str, tuple[SkillRecord, dict[str, Json]]] = {}
        self._revision = 0
        self._listeners: list[Callable[[], None]] = []
        library.listen(lambda _: self._notify())
        control.listen(self._notify)

    @property
    def revision(self) -> int:
        """Another number whenever something else would be shown."""
        return self._revision

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called when something else is to be shown, until what this returns is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def config(self, problems: int, *, can_change: bool = True) -> dict[str, Json]:
        """Return sources and settings, and so many `problems`, to a caller who `can_change` them or not."""
        catalog, settings = self.library.catalog, self.control.settings()
        editable, places = self.control.editable, self._places_for(can_change=can_change)
        found = self._problems.of(catalog)
        errors = sum(problem.severity is Severity.ERROR for problem in found)
        shown = [_problem(each) for each in found[:problems]]
        withheld = catalog.withheld[: problems - len(shown)]
        return {
            "revision": self._revision,
            "version": __version__,
            "editable": editable and can_change,
            "unlock": "" if editable and can_change else self.unlock if editable else _UNLOCK_SERVER,
            "skills": len(catalog.entries),
            "errors": errors,
            "warnings": len(found) - errors + len(catalog.withheld),
            "sources": [self._source(each, places=places) for each in self.control.sources()],
            "static": settings.static,
            "staticFixed": settings.static_fixed,
            "allowedOrigins": list(settings.allowed_origins),
            "configFile": settings.config_file if places else "",
            "problems": [*shown, *(_redacted(catalog, each) for each in withheld)],
        }

    def skills(self, query: str, offset: int, limit: int) -> dict[str, Json]:
        """Return those skills that hold every word of `query`, from `offset` on. Raises `BadParamsError`."""
        catalog = self.library.catalog
        entries = list(catalog.entries.values())
        if words := list(dict.fromkeys(query.casefold().split())):
            if len(words) > _MAX_WORDS:
                raise BadParamsError(f"a query may have {_MAX_WORDS} different words; search for fewer")
            entries = [entry for entry in entries if _matches(entry, words)]
        self._prune_summaries(catalog)
        origins = {each.label: each.origin for each in self.control.sources()}
        return {
            "revision": self._revision,
            "total": len(entries),
            "offset": offset,
            "skills": [self._summary(catalog, each, origins) for each in entries[offset : offset + limit]],
        }

    def skill(self, name: str, *, can_change: bool = True) -> dict[str, Json]:
        """Return all that there is to see of one skill but the bytes of its files. Raises `RequestError`."""
        catalog = self.library.catalog
        entry = self._names.of(catalog).find(name)
        origins = {each.label: each.origin for each in self.control.sources()}
        return {
            **self._summary(catalog, entry, origins),
            "revision": self._revision,
            "frontmatter": dict(entry.frontmatter),
            "fileList": [_file(entry, each) for each in entry.files],
            "problemList": [
                *map(_problem, catalog.problems_of(entry)),
                *([] if entry.withheld is None else [_redacted(catalog, entry)]),
            ],
            "location": escape_invisible(entry.origin.location)
            if self._places_for(can_change=can_change)
            else "",
        }

    async def text(self, uri: str, limit: int) -> dict[str, Json]:
        """Return a file, if it is a text of at most `limit` bytes. Raises `SkillwireError`."""
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

    def _places_for(self, *, can_change: bool) -> bool:
        allowed = self._show_places
        return allowed is ShowPlaces.TO_ALL or (can_change and allowed is ShowPlaces.TO_EDITORS)

    def _source(self, facts: SourceFacts, *, places: bool) -> dict[str, Json]:
        scan = self.library.scans.get(facts.label, Scan())
        told = {problem.rule: problem for problem in reversed(scan.problems)}
        state = next((rule for rule in _STATES if rule in told), None)
        problems = list(chain(scan.problems, *(entry.problems for entry in scan.entries)))
        errors = sum(problem.severity is Severity.ERROR for problem in problems)
        return {
            "label": facts.label,
            "kind": facts.kind,
            "place": facts.place if places or _is_public(facts) else "",
            "origin": facts.origin,
            "givenBy": facts.given_by,
            "removable": facts.removable,
            "fetched": None if facts.fetched is None else facts.fetched.isoformat(timespec="seconds"),
            "skills": len(scan.entries),
            "errors": errors,
            "warnings": len(problems) - errors + sum(entry.withheld is not None for entry in scan.entries),
            "state": "ready" if state is None else _STATES[state],
            "reason": "" if state is None else escape_invisible(told[state].message),
            "hint": "" if state is None else escape_invisible(told[state].hint),
        }

    def _summary(self, catalog: Catalog, entry: SkillRecord, origins: dict[str, str]) -> dict[str, Json]:
        known = self._summaries.get(entry.uri)
        if known is None or known[0] is not entry:
            known = self._summaries[entry.uri] = entry, _static_summary(entry)
        decided = catalog.visibility.overrides.get(entry.uri, Override())
        now = catalog.visibility.of(entry)
        problems = catalog.problems_of(entry)
        return {
            **known[1],
            "origin": origins.get(entry.origin.source, entry.origin.source),
            "problems": len(problems) + (entry.withheld is not None),
            "assistant": now.assistant,
            "user": now.user,
            "customized": decided != Override(),
        }

    def _prune_summaries(self, catalog: Catalog) -> None:
        if len(self._summaries) > 2 * len(catalog.entries):
            known = self._summaries
            self._summaries = {uri: known[uri] for uri in catalog.entries if uri in known}

    def _notify(self) -> None:
        self._revision += 1
        for listener in self._listeners:
            listener()


def _static_summary(entry: SkillRecord) -> dict[str, Json]:
    """Return what is shown of a skill for as long as it is the same."""
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
    """Whether a place says nothing of this machine, nor of what only its operator should know."""
    return facts.kind in _PUBLIC and not facts.place.startswith("git+file:")


def _matches(entry: SkillRecord, words: list[str]) -> bool:
    text = f"{entry.path} {entry.name} {entry.shown_description} {entry.origin.source}".casefold()
    return all(word in text for word in words)


def _file(entry: SkillRecord, file: SkillFile | LiveFile) -> dict[str, Json]:
    size = file.size if isinstance(file, SkillFile) else None
    return {"uri": entry.uri_of(file.path), "path": file.path, "mimeType": file.mime_type, "size": size}


def _problem(problem: Problem) -> dict[str, Json]:
    return _row(problem.to_json())


def _redacted(catalog: Catalog, entry: SkillRecord) -> dict[str, Json]:
    return _row(catalog.withheld_report(entry))


def _row(told: dict[str, str | int | None]) -> dict[str, Json]:
    return {
        **told,
        "message": escape_invisible(str(told["message"])),
        "hint": escape_invisible(str(told["hint"])),
    }
