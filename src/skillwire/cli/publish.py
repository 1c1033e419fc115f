"""`skillwire publish`: write a website from which others install skills."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter

from skillwire.app.gateway import report_selection
from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.library import load_library
from skillwire.config.report import located
from skillwire.config.source_kinds import is_folder
from skillwire.core.output_folder import SiteFolder
from skillwire.core.patterns import Selection
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import SourceError, UsageError
from skillwire.features.site_page import PAGE_FILE, PublishedSkill, render_site_page
from skillwire.features.website import (
    PublishableSkills,
    SkippedSkill,
    build_page,
    choose_skills,
    render_site_index,
)
from skillwire.library.library import Library
from skillwire.protocol.discovery import INDEX_FILE, WELL_KNOWN_FOLDER, Artifact
from skillwire.safe_text import quoted
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import Exclude, FollowLinks, Only, json_of
from skillwire.terminal.output import print_error, print_json, print_problems, stderr_console


def publish(
    sources: Annotated[
        list[str] | None,
        Parameter(name="SOURCE", help="Source to publish. Default: `SKILLS_DIR` and the configuration file."),
    ] = None,
    /,
    *,
    out: Annotated[
        Path, Parameter(metavar="FOLDER", help="Folder that your web server serves as the root of the site.")
    ],
    json: Annotated[
        bool,
        json_of("{folder, skills: [{name, type, url, digest}], page, written, removed, left_out, problems}"),
    ] = False,
    follow_links: FollowLinks = False,
    only: Only = None,
    exclude: Exclude = None,
    config: ConfigOptions = None,
) -> int:
    """Write a website that publishes the skills below `/.well-known/agent-skills/`.

    Writes an index, a download for each skill, and each file separately. The download is the `SKILL.md`, or a
    `.tar.gz` if the skill has more files. If you publish again, changed files are updated, and the files of
    deleted skills are removed. Files that this command did not write are never touched. The index is replaced
    after the downloads are written, so it never names a missing download.

    Also writes `index.html`, a page on which people read and search the skills. It needs no server.

    A skill that cannot be published is reported. The other skills are still published. If a source cannot be
    read or no skill can be published, nothing is written.

    Exit code 1: a skill or source could not be published.

    For example:

    ```
    skillwire publish ./skills --out ./site
    ```
    """
    chosen = choose_config(config, named=bool(sources))
    selection = Selection(only or (), exclude or ())
    library = load_library(sources or [], follow_links=follow_links, config=chosen, selection=selection)
    _refuse_served(library, out)
    report_selection(library)
    errors = [problem for problem in library.catalog.problems if _matters(problem)]
    choice = choose_skills(library.catalog)
    _require_complete(errors, choice, library)
    site = SiteFolder(out, "publish", WELL_KNOWN_FOLDER)
    page = SiteFolder(out, "publish")
    foreign = page.is_foreign(PAGE_FILE)
    artifacts, left_out = anyio.run(_write, library, choice, site, None if foreign else page)
    if json:
        print_json(_result_to_json(site, None if foreign else page, artifacts, left_out, errors))
    print_problems(stderr_console(), located(errors, library))
    for each in left_out:
        print_error(f"{quoted(each.path)} is not published: {each.message}", hint=each.hint)
    if foreign:
        print_notice(f"{quoted(str(out / PAGE_FILE))} was not written by this command, so it is unchanged")
    where = "serve this folder at the root of your website"
    removed = f", {pluralize(len(site.removed), 'old file')} removed" if site.removed else ""
    stderr_console().print(
        f"{pluralize(len(artifacts), 'skill')} published to {quoted(str(out))}{removed}; {where}"
    )
    return 1 if errors or left_out else 0


def _refuse_served(library: Library, out: Path) -> None:
    """Raise `UsageError` if `out` is a folder of this library, or is inside one of its skills."""
    target = out.resolve()
    for source in library.sources:
        if not is_folder(source.place):
            continue
        folder = Path(source.place).resolve()
        within = [each for each in (target, *target.parents) if each.is_relative_to(folder)]
        if target == folder or any((each / "SKILL.md").exists() for each in within):
            raise UsageError(
                f"the site {quoted(str(out))} would be among the skills of {quoted(source.place)}",
                hint="choose another folder, such as `--out ./site`",
            )


def _matters(problem: Problem) -> bool:
    """Return whether this problem makes the site incomplete or outdated."""
    incomplete = {Rule.SOURCE_STALE, Rule.SOURCE_PARTIAL}
    return problem.severity is Severity.ERROR or problem.rule in incomplete


def _require_complete(errors: list[Problem], choice: PublishableSkills, library: Library) -> None:
    """Raise `SourceError` if a source failed or no skill can be published.

    Otherwise, publishing would remove skills from the site that still exist.
    """
    failed = next((problem for problem in errors if problem.rule is Rule.SOURCE_FAILED), None)
    if failed is not None:
        raise SourceError(f"nothing was published: {failed.message}", failed.hint)
    if not choice.entries:
        print_problems(stderr_console(), located(errors, library))
        raise SourceError(
            "nothing was published: " + ("no skill can be" if errors or choice.left_out else NO_SKILLS)
        )


async def _write(
    library: Library, choice: PublishableSkills, site: SiteFolder, page: SiteFolder | None
) -> tuple[list[Artifact], list[SkippedSkill]]:
    """Write the files of the skills, then the index. Then remove the remaining files of earlier runs.

    Also write the page for people into the folder `page`, unless it is None.
    """
    skills: list[PublishedSkill] = []
    try:
        artifacts, left_out = await _write_skills(library, choice, site, skills)
        site.write(INDEX_FILE, render_site_index(artifacts))
        if page is not None:
            page.plan([PAGE_FILE])
            page.write(PAGE_FILE, render_site_page(skills))
            page.save_manifest()
    except BaseException:
        site.save_manifest()
        raise
    site.finish()
    return artifacts, left_out


async def _write_skills(
    library: Library, choice: PublishableSkills, site: SiteFolder, skills: list[PublishedSkill]
) -> tuple[list[Artifact], list[SkippedSkill]]:
    """Write the files of each skill. Append what the page for people says about it to `skills`."""
    artifacts: list[Artifact] = []
    left_out = list(choice.left_out)
    for entry in choice.entries:
        page = await build_page(library, entry)
        if isinstance(page, SkippedSkill):
            left_out.append(page)
            continue
        site.plan(page.files)
        for path, content in page.files.items():
            site.write(path, content)
        artifacts.append(page.artifact)
        skills.append(PublishedSkill.of(entry, page.artifact, page.files))
    if not artifacts:
        raise SourceError(f"nothing was published: {left_out[-1].message}")
    return artifacts, left_out


def _result_to_json(
    site: SiteFolder,
    page: SiteFolder | None,
    artifacts: list[Artifact],
    left_out: list[SkippedSkill],
    errors: list[Problem],
) -> dict[str, object]:
    return {
        "folder": str(site.folder),
        "skills": [
            {"name": each.name, "type": each.type, "url": each.url, "digest": each.digest.text}
            for each in artifacts
        ],
        "page": None if page is None else str(page.folder / PAGE_FILE),
        "written": site.written,
        "removed": site.removed,
        "left_out": [asdict(each) for each in left_out],
        "problems": [problem.to_json() for problem in errors],
    }
