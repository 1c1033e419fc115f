"""The library that `skillwire serve` serves: open it, load it, and report its skills and problems."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from skillwire.app.admin import AdminService
from skillwire.app.live_report import live_lines, report_changes
from skillwire.area import AddedSource, ServePart, ServerContext
from skillwire.config.faults import faults_of_empty_sources
from skillwire.config.file import ConfigFile, SourceSettings, read_overrides
from skillwire.config.library import check_command, load
from skillwire.config.source_config import LibraryOptions, open_sources
from skillwire.core.patterns import Selection
from skillwire.core.problem import Rule, Severity
from skillwire.errors import UsageError
from skillwire.features.addition import AddedFeatures
from skillwire.features.catalog_text import is_pinned
from skillwire.features.resources import catalog_problems
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.safe_text import escape_invisible, quoted
from skillwire.server.admin import Admin
from skillwire.sources.base import Source
from skillwire.sources.placeholder import UnavailableSource
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice

_OF_A_SOURCE = {Rule.SOURCE_FAILED, Rule.SOURCE_STALE}
"""Rules about a whole source. At startup, the message of each such problem is printed."""

_REPORTED = {*_OF_A_SOURCE, Rule.SOURCE_WAITING}


@dataclass(frozen=True, slots=True)
class ServedLibrary:
    """The served library, its `Admin`, and what product areas add to it."""

    context: ServerContext
    parts: Sequence[ServePart] = ()
    additions: Sequence[AddedFeatures] = ()

    @property
    def library(self) -> Library:
        return self.context.library

    @property
    def admin(self) -> Admin:
        return self.context.admin


def open_served_library(
    arguments: Sequence[str],
    options: LibraryOptions,
    file: ConfigFile | None,
    *,
    parts: Sequence[ServePart] = (),
    editable: bool = False,
    selection: Selection | None = None,
) -> ServedLibrary:
    """Open all sources and return the served library, which is not loaded yet. Raises `UsageError`."""
    added = [each for part in parts for each in part.sources]
    opened = open_sources(arguments, replace(options, allow_empty=options.allow_empty or bool(added)), file)
    sources = [each.source for each in opened]
    more: list[tuple[Source, AddedSource]] = []
    for each in added:
        sources.append(each.open(_free(each.kind, {source.label for source in sources})))
        more.append((sources[-1], each))
    configured = SourceSettings() if file is None else SourceSettings.read(file)
    library = Library(
        sources,
        frozen=options.frozen or (configured.static and not more),
        visibility=None if file is None else VisibilityPolicy(read_overrides(file)),
        selection=selection,
    )
    admin = AdminService(
        library,
        opened,
        arguments=arguments,
        options=replace(options, allow_empty=True),
        file=file,
        editable=editable,
        more=more,
        static_by_flag=options.frozen,
    )
    context = ServerContext(library, admin, catalog_problems, print_line=live_lines(), config=file)
    return _with_features(context, parts)


def _with_features(context: ServerContext, parts: Sequence[ServePart]) -> ServedLibrary:
    """Return the served library with the features of each part.

    A part sees the problems that earlier parts report.
    """
    additions: list[AddedFeatures] = []
    for part in parts:
        if (added := part.features(context)) is not None:
            additions.append(added)
            context = replace(context, problems=added.problems or context.problems)
    return ServedLibrary(context, parts, additions)


def _free(label: str, taken: Collection[str]) -> str:
    """Return the label, with a number appended if it is taken."""
    labels = chain([label], (f"{label}-{number}" for number in count(2)))
    return next(each for each in labels if each not in taken)


async def start(gateway: ServedLibrary, pinned: Sequence[str] = ()) -> None:
    """Load the library, let areas inspect it, and print the state of sources and the number of skills.

    Also prints how many problems there are and, from then on, each problem that appears or is solved. Raises
    `UsageError` if `--static` is set and a source cannot be read, and the errors of areas.
    """
    library = gateway.library
    catalog = await load(library)
    for part in gateway.parts:
        part.loaded(gateway.context)
    print_notice(pluralize(len(catalog.entries), "skill"))
    report_selection(library)
    _report_pinned(library, pinned)
    _report_sources(gateway)
    for problem in catalog.problems:
        if problem.rule in _OF_A_SOURCE:
            print_notice(escape_invisible(problem.message))
    # Checked only for `--static`. If static mode was set on a page, the server must start, because it also
    # serves that page.
    by_flag = bool(gateway.admin.settings().static_fixed)
    if by_flag and any(problem.rule is Rule.SOURCE_FAILED for problem in catalog.problems):
        hint = "with `--static` it would never be tried again; fix the source, or omit `--static`"
        raise UsageError("a source cannot be read, so its skills cannot be frozen", hint=hint)
    faults = faults_of_empty_sources(library)
    for problem in faults:
        if problem.rule not in _REPORTED:
            hint = f"; {problem.hint}" if problem.hint else ""
            print_notice(escape_invisible(f"{problem.severity}: {problem}{hint}"))
    problems = [problem for problem in catalog.problems if problem.rule is not Rule.SOURCE_WAITING]
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    warnings = len(problems) - errors
    if errors or warnings:
        counts = f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}"
        # Not where to look for problems that were all printed.
        where = f"; {check_command(library)} them" if len(problems) > len(faults) else ""
        print_notice(f"{counts}{where}")
    elif (
        not catalog.entries
        and not library.left_out
        and not library.pending_sources
        and not any(part.sources for part in gateway.parts)
    ):
        print_notice(NO_SKILLS if library.sources else "no source is configured; add one in the page")
    report_changes(library, gateway.context.problems, gateway.context.print_line)


def _report_pinned(library: Library, pinned: Sequence[str]) -> None:
    """Print which patterns of pinned skills match no skill that models may load."""
    skills = VisibleSkills.of(library).for_models()
    for pattern in pinned:
        if not any(is_pinned(pattern, handle, entry) for handle, entry in skills.items()):
            print_notice(f"warning: no skill for models matches the pinned name {quoted(pattern)}")


def report_selection(library: Library) -> None:
    """Print how many skills `--only` and `--exclude` leave out, and which of them match nothing."""
    if not library.selection:
        return
    print_notice(f"{pluralize(library.left_out, 'skill')} left out by `--only` and `--exclude`")
    for selector in library.selection.unused():
        print_notice(f"warning: {quoted(selector)} matches no skill now")


def _report_waiting(library: Library) -> None:
    """Print the folders and archives that do not exist yet."""
    for source in library.pending_sources:
        from skillwire.config.meant_address import github_spelling  # noqa: PLC0415 - rarely needed

        repository = github_spelling(source.place)
        also = f"; a repository on GitHub is written {quoted(repository)}" if repository else ""
        print_notice(f"waiting for {quoted(source.place)}, which does not exist{also}")


def _report_sources(gateway: ServedLibrary) -> None:
    library = gateway.library
    _report_waiting(library)
    for source in library.sources:
        if isinstance(source, UnavailableSource):
            print_notice(f"{quoted(source.place)} is not served: {escape_invisible(source.reason)}")
    for facts in gateway.admin.sources():
        if facts.kind == "server":  # users may not know that `skillwire bridge` behaves differently (H30)
            note = "its skills go to models and people without approval; `skillwire bridge` asks you first"
            print_notice(f"{quoted(facts.label)} is a server that you trust: {note}")
