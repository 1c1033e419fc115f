"""`skillwire show`: show the fields, files and problems of one skill or template."""

from typing import Annotated

from rich.text import Text

from skillwire.cli.find import FoundSkill, TemplateFoundError, find_local_or_servers
from skillwire.config.choice import ConfigOptions
from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.core.json_text import json_bytes
from skillwire.core.record import Json, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.core.template_mismatch import describe_parameter, known_values, unique_parameters
from skillwire.protocol.translate import skill_entry
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize
from skillwire.terminal.options import FollowLinks, FromAnywhere, SkillArgument, json_of
from skillwire.terminal.output import print_json, print_problems, stdout_console


def show(
    skill: SkillArgument,
    /,
    *,
    sources: FromAnywhere = None,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    json: Annotated[
        bool,
        json_of(
            "{uri, frontmatter, resources, origin, problems, extension?, dialect?, approval?}"
            " or {uriTemplate, frontmatter, resources, parameters, origin, problems}"
        ),
    ] = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
) -> int:
    """Show a skill: its frontmatter, its files with their digests, and its problems.

    A template stands for many skills, and its name has parameters. For a template, shows the values that each
    parameter can have.

    For a skill on a server, also shows whether the server declares the Skills extension.
    The files of that skill are not read. If they are in an archive, the archive is fetched to list them.

    For example:

    ```
    skillwire show ./skills/refunds
    skillwire show refunds --from ./skills
    skillwire show skill://acme/billing/refunds/SKILL.md --from ./skills --json
    skillwire show github:review
    ```
    """
    try:
        found = find_local_or_servers(
            skill, sources, follow_links=follow_links, config=config, with_token=token_env is not None
        )
    except TemplateFoundError as error:
        print_template(error.template, as_json=json)
        return 0
    if not isinstance(found, FoundSkill):
        from skillwire.cli.remote import show_remote  # noqa: PLC0415 - it loads the SDK

        return show_remote(skill, resolve_targets(found, allow, token_env), as_json=json)
    found = found.whole(skill)
    entry, problems = found.entry, found.library.catalog.problems_of(found.entry)
    if json:
        listed = [problem.to_json() for problem in problems]
        print_json(
            {**skill_entry(entry), "origin": escape_invisible(entry.origin.location), "problems": listed}
        )
        return 0
    console = stdout_console()
    console.print(Text(entry.name, style="bold cyan"))
    console.print(Text(escape_invisible(entry.description)))
    console.print()
    for label, value in (("uri", entry.uri), ("from", entry.origin.location), *_other_fields(entry)):
        console.print(Text.assemble((f"{label}: ", "bold"), escape_invisible(value)))
    console.print()
    _print_files(entry)
    if problems:
        console.print()
        print_problems(console, problems)
    return 0


def print_template(template: SkillTemplate, *, as_json: bool) -> None:
    """Print a template: its fields, and its parameters with their possible values."""
    if as_json:
        print_json(
            {
                "uriTemplate": template.uri,
                "frontmatter": {"description": template.description, **template.fields},
                "resources": "dynamic",
                "parameters": known_values(template),
                "origin": escape_invisible(template.location),
                "problems": [],
            }
        )
        return
    console = stdout_console()
    console.print(Text(escape_invisible(template.path), style="bold cyan"))
    console.print(Text(escape_invisible(template.description)))
    console.print()
    fields = ((escape_invisible(key), _plain(value)) for key, value in template.fields.items())
    for label, value in (("uri", template.uri), ("from", template.location), *fields):
        console.print(Text.assemble((f"{label}: ", "bold"), escape_invisible(value)))
    console.print()
    for name in unique_parameters(template):
        values = describe_parameter(template, name)
        console.print(Text.assemble((f"{{{name}}}: ", "bold"), escape_invisible(values)))


def _other_fields(entry: SkillRecord) -> list[tuple[str, str]]:
    shown = {"name", "description"}
    fields = ((key, value) for key, value in entry.frontmatter.items() if key not in shown)
    return [(escape_invisible(key), _plain(value)) for key, value in fields]


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_bytes(value).decode()


def _print_files(entry: SkillRecord) -> None:
    console = stdout_console()
    if entry.dynamic:
        console.print("files: generated when they are read, without digests")
        return
    files = [file for file in entry.files if isinstance(file, SkillFile)]
    total = sum(file.size for file in files)
    console.print(Text.assemble((f"{pluralize(len(files), 'file')}, {total:,} bytes", "bold")))
    width = max(len(f"{file.size:,}") for file in files)
    for file in files:
        facts = f"{file.size:>{width},}  {file.digest.text[:19]}…  {file.mime_type:<24}"
        console.print(Text(f"  {facts} {escape_invisible(file.path)}"))
