"""`skillwire pack`: pack skills into a bundle or plugin that clients install."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

import anyio
from cyclopts import Parameter

from skillwire.config.choice import ConfigChoice, ConfigOptions, choose_config
from skillwire.config.file import read_overrides
from skillwire.config.library import check_command, load_library
from skillwire.config.report import located
from skillwire.config.source_kinds import is_folder
from skillwire.core.output_folder import SiteFolder
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.errors import SourceError, UsageError
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.packing.bundle import check_bundle_path, is_foreign_file, write_bundle
from skillwire.packing.identity import Identity, Naming, Options
from skillwire.packing.plugin import (
    PluginKind,
    check_plugin_folder,
    check_plugin_name,
    write_plugin,
)
from skillwire.packing.runtime import read_runtime
from skillwire.packing.selection import (
    LeftOutSkill,
    PackSelection,
    read_skills,
    select_for_bundle,
    select_for_plugin,
)
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NO_SKILLS, pluralize
from skillwire.terminal.options import RESULT, Yes, json_of
from skillwire.terminal.output import confirm, print_error, print_json, print_problems, stderr_console

_SHOWN_NAMES = 3
_INCOMPLETE = {Rule.SOURCE_STALE, Rule.SOURCE_PARTIAL}


def pack(
    sources: Annotated[
        list[str] | None,
        Parameter(name="SOURCE", help="Source to pack. Default: `SKILLS_DIR` and the configuration file."),
    ] = None,
    /,
    *,
    mcpb: Annotated[
        Path | None,
        Parameter(
            group=RESULT,
            metavar="FILE",
            help="Write a bundle that Claude Desktop installs with a double click.",
        ),
    ] = None,
    plugin: Annotated[
        tuple[Literal["claude", "codex"], Path] | None,
        Parameter(
            group=RESULT,
            metavar="CLIENT FOLDER",
            help="Write a plugin for `claude` (Claude Code) or `codex`.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        Parameter(group=RESULT, metavar="NAME", help="Name of the result. Default: from the first source."),
    ] = None,
    version: Annotated[
        str | None,
        Parameter(
            group=RESULT,
            metavar="VERSION",
            help="Semantic version. Default: one that changes with the skills.",
        ),
    ] = None,
    description: Annotated[
        str | None,
        Parameter(group=RESULT, metavar="TEXT", help="Description. Default: the names of the skills."),
    ] = None,
    author: Annotated[
        str | None,
        Parameter(group=RESULT, metavar="NAME", help="Author. Default: the one that all skills name."),
    ] = None,
    json: Annotated[
        bool,
        json_of("{path, kind, name, version, skills: [{name, uri}], written, removed, left_out, problems}"),
    ] = False,
    yes: Yes = False,
    config: ConfigOptions = None,
) -> int:
    """Pack skills into a bundle for Claude Desktop, or into a plugin folder for Claude Code or Codex.

    A bundle contains the skills and Skillwire, which serves them on the other machine. A plugin folder
    contains the skills, and is also a marketplace from which people install the plugin. Files are copied with
    their exact bytes and executable bits. If you pack again, only files that this command wrote are updated
    or removed.

    A skill that cannot be packed is reported. The other skills are still packed.

    Exit code 1: a skill could not be packed, or a source could not be read.

    For example:

    ```
    skillwire pack ./skills --mcpb acme.mcpb
    skillwire pack ./skills --plugin claude ./plugin --name acme
    ```
    """
    if (mcpb is None) == (plugin is None):
        raise UsageError(
            "name one result to write",
            hint="write `--mcpb FILE`, `--plugin claude FOLDER` or `--plugin codex FOLDER`",
        )
    options = Options(name, version, description, author)
    chosen = choose_config(config, named=bool(sources))
    if mcpb is not None:
        check_bundle_path(mcpb)
        _require_parent(mcpb, "--mcpb")
        _require_consent(mcpb, yes=yes)
        packing = _Packing.of(sources or [], options, chosen)
        result = _pack_bundle(packing, mcpb)
    else:
        assert plugin is not None, "one of the two is given"
        kind = PluginKind(plugin[0])
        _require_parent(plugin[1], "--plugin")
        packing = _Packing.of(sources or [], options, chosen)
        result = _pack_plugin(packing, kind, plugin[1])
    return _report(result, packing.library, as_json=json)


@dataclass(frozen=True, slots=True)
class _Packing:
    """Loaded skills, and how to name the result."""

    library: Library
    visibility: VisibilityPolicy
    naming: Naming
    problems: Sequence[Problem]
    """Problems because of which the result is incomplete."""

    @property
    def notice(self) -> str:
        """How many warnings there are, for example about files that are left out; empty if there are none."""
        catalog = self.library.catalog
        own = sum(len(entry.problems) for entry in catalog.entries.values())
        others = sum(problem.severity is Severity.WARNING for problem in catalog.problems)
        return (
            f"{pluralize(own + others, 'warning')}; {check_command(self.library)} details"
            if own + others
            else ""
        )

    @classmethod
    def of(cls, sources: Sequence[str], options: Options, config: ConfigChoice) -> Self:
        """Load the sources. Raises `UsageError`, and `SourceError` if a source cannot be read."""
        library = load_library(sources, config=config)
        problems = [
            problem
            for problem in library.catalog.problems
            if problem.severity is Severity.ERROR or problem.rule in _INCOMPLETE
        ]
        failed = next((problem for problem in problems if problem.rule is Rule.SOURCE_FAILED), None)
        if failed is not None:
            raise SourceError(f"nothing was packed: {failed.message}", failed.hint)
        visibility = VisibilityPolicy({} if config.file is None else read_overrides(config.file))
        return cls(library, visibility, Naming(options, library.sources), problems)

    def require(self, selection: PackSelection) -> None:
        """Raise `SourceError` if there is nothing to pack. Prints why."""
        if selection.skills:
            return
        print_problems(stderr_console(), located(self.problems, self.library))
        _print_left_out(selection.left_out)
        reason = "no skill can be" if self.problems or selection.left_out else NO_SKILLS
        raise SourceError(f"nothing was packed: {reason}")


@dataclass(frozen=True, slots=True)
class _Result:
    """What was written, and what was left out."""

    kind: str
    path: Path
    identity: Identity
    records: Sequence[SkillRecord]
    written: Sequence[str]
    removed: Sequence[str]
    left_out: Sequence[LeftOutSkill]
    problems: Sequence[Problem]
    notice: str
    next_step: str
    """What to do with the result."""


def _require_parent(out: Path, option: str) -> None:
    """Raise `UsageError` if the folder of `out` does not exist. Its name may be misspelled."""
    if not out.parent.is_dir():
        create = f"mkdir -p {shlex.quote(str(out.parent))}"
        raise UsageError(
            f"the folder {quoted(str(out.parent))} of `{option}` does not exist",
            hint=f"correct its name, or create it: {quoted(create, None)}",
        )


def _require_consent(out: Path, *, yes: bool) -> None:
    """Ask before a file is replaced that this command did not write. Raises `UsageError` without consent."""
    if yes or not is_foreign_file(out):
        return
    shown = quoted(str(out))
    if not confirm(f"{shown} was not written by `skillwire pack`. Replace it?"):
        raise UsageError(
            f"{shown} already exists and was not written by `skillwire pack`",
            hint="choose another `--mcpb`, or replace it with `--yes`",
        )


def _pack_bundle(packing: _Packing, out: Path) -> _Result:
    runtime = read_runtime()
    selection = select_for_bundle(packing.library.catalog, packing.visibility)
    packing.require(selection)
    _require_outside(out, packing.library, selection)
    left_out = list(selection.left_out)
    skills = read_skills(packing.library, selection.skills, left_out)
    bundle = anyio.run(write_bundle, out, skills, packing.naming, runtime)
    step = "open it to install it in Claude Desktop"
    return _Result(
        "mcpb",
        out,
        bundle.identity,
        bundle.records,
        [out.name],
        [],
        left_out,
        packing.problems,
        packing.notice,
        step,
    )


def _require_outside(out: Path, library: Library, selection: PackSelection) -> None:
    """Raise `UsageError` if the bundle would become a file of a skill."""
    target = Path(os.path.realpath(out))
    folders = {source.label for source in library.sources if is_folder(source.place)}
    for entry in selection.skills.values():
        if entry.origin.source in folders and target.is_relative_to(os.path.realpath(entry.origin.location)):
            raise UsageError(
                f"{quoted(str(out))} would be a file of the skill {quoted(entry.path)}",
                hint="choose a place outside the skill",
            )


def _pack_plugin(packing: _Packing, kind: PluginKind, out: Path) -> _Result:
    check_plugin_name(kind, packing.naming.name)
    selection = select_for_plugin(packing.library.catalog, packing.visibility)
    packing.require(selection)
    check_plugin_folder(out, packing.library.sources, selection.skills)
    left_out = list(selection.left_out)
    site = SiteFolder(out, "pack", option="--plugin")
    skills = read_skills(packing.library, selection.skills, left_out)
    plugin = anyio.run(write_plugin, kind, site, skills, packing.naming)
    place = shlex.quote(str(out if out.is_absolute() else f"./{out}"))
    name = f"{plugin.identity.name}@{plugin.identity.name}"
    verb = "install" if kind is PluginKind.CLAUDE else "add"
    step = f"install it with `{kind} plugin marketplace add {place}` and `{kind} plugin {verb} {name}`"
    return _Result(
        kind,
        out,
        plugin.identity,
        plugin.records,
        site.written,
        site.removed,
        left_out,
        packing.problems,
        packing.notice,
        escape_invisible(step),
    )


def _report(result: _Result, library: Library, *, as_json: bool) -> int:
    """Print the result and everything that was left out. Return the exit code."""
    if as_json:
        print_json(_to_json(result))
    print_problems(stderr_console(), located(result.problems, library))
    _print_left_out(result.left_out)
    if result.notice:
        stderr_console().print(result.notice)
    removed = f", {pluralize(len(result.removed), 'old file')} removed" if result.removed else ""
    skills, missing = pluralize(len(result.records), "skill"), _missing(result)
    if missing:
        skills = f"{len(result.records):,} of {pluralize(len(result.records) + len(missing), 'skill')}"
    without = f"; {_names(missing)} not in it" if missing else ""
    place = quoted(str(result.path))
    stderr_console().print(f"{skills} packed into {place}{removed}{without}; {result.next_step}")
    return 1 if result.problems or not all(each.by_choice for each in result.left_out) else 0


def _missing(result: _Result) -> list[str]:
    """Return the skills that are not in the result, by path: left out, or broken."""
    broken = [
        PurePosixPath(problem.path).parent.as_posix()
        for problem in result.problems
        if problem.severity is Severity.ERROR and PurePosixPath(problem.path).name.upper() == "SKILL.MD"
    ]
    return list(dict.fromkeys([*broken, *(each.path for each in result.left_out)]))


def _names(paths: Sequence[str]) -> str:
    """Return `a`, `b` and how many more, with the verb."""
    shown = ", ".join(quoted(path) for path in paths[:_SHOWN_NAMES])
    more = f" and {len(paths) - _SHOWN_NAMES:,} more" if len(paths) > _SHOWN_NAMES else ""
    return f"{shown}{more} {'is' if len(paths) == 1 else 'are'}"


def _print_left_out(left_out: Sequence[LeftOutSkill]) -> None:
    for each in left_out:
        message = f"{quoted(each.path)} is not packed: {each.message}"
        if each.by_choice:
            stderr_console().print(escape_invisible(message))
        else:
            print_error(message, hint=each.hint)


def _to_json(result: _Result) -> dict[str, object]:
    return {
        "path": str(result.path),
        "kind": result.kind,
        "name": result.identity.name,
        "version": result.identity.version,
        "skills": [{"name": record.name, "uri": record.uri} for record in result.records],
        "written": list(result.written),
        "removed": list(result.removed),
        "left_out": [
            {"path": each.path, "message": each.message, "hint": each.hint} for each in result.left_out
        ],
        "problems": [problem.to_json() for problem in result.problems],
    }
