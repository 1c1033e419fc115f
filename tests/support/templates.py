"""Servers and libraries with templates: one name for many skills."""

from collections.abc import Mapping, Sequence

from skillwire import Library, LiveSkill, ServeOptions, Skill, Skills, SkillServer
from skillwire.authoring.source import CodeSource

GUIDE = "docs/{product}/guide"
GUIDE_URI = "skill://docs/{product}/guide/SKILL.md"
USERS = "app/users/{user_id}"
NOTES = "notes/{year}/{topic}"


def near(typed: str) -> list[str]:
    return [f"{typed}{number}" for number in range(3)]


def template_skills(*more: LiveSkill) -> Skills:
    """Return a template of each kind: known values, suggested values, any value."""
    return Skills().add(
        LiveSkill(
            GUIDE,
            lambda request: f"# {request.params['product']}\n",
            description="How to use {product}.",
            values={"product": ["anvil", "rocket"]},
        ),
        LiveSkill(
            USERS,
            lambda request: None if request.params["user_id"] == "nobody" else "# A user\n",
            description="About a user.",
            values={"user_id": near},
        ),
        LiveSkill(
            NOTES,
            lambda request: f"# {request.params['topic']}\n",
            description="A note.",
            values={"year": ["2025"]},
        ),
        *more,
    )


def template_server(*more: LiveSkill, options: ServeOptions | None = None) -> SkillServer:
    """Return a server of these templates."""
    return SkillServer("code", options=options).add(template_skills(*more))


def code_source(
    label: str, paths: Sequence[str], templates: Mapping[str, Mapping[str, Sequence[str]]] | None = None
) -> CodeSource:
    """Return skills at these paths, each with a file, and templates with the known values of parameters."""
    skills = Skills()
    for path in paths:
        name = path.rpartition("/")[2]
        body = f"---\nname: {name}\ndescription: Does {path}.\n---\n\n# {label}: {path}\n"
        skills = skills.add(Skill(name, body).with_path(path).with_reference("a.md", "text/markdown", path))
    for path, values in (templates or {}).items():
        live = LiveSkill(
            path, lambda request: f"# {request.uri}\n", description="One of many.", values=values
        )
        skills = skills.add(live)
    return CodeSource(skills, label=label)


async def catalog_library(*sources: CodeSource) -> Library:
    """Return a loaded library of these sources."""
    library = Library(list(sources))
    await library.load()
    return library
